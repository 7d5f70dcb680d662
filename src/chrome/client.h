/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h: asks a running Chromium, over its debugging pipe or port, for memory-infra dumps and V8
 * heap snapshots.
 *
 * Runs: CLI (the launcher of `shinyctl run`, and `shinyctl devtools`), on a thread of its own.
 * Signals: devtools_ask only. Allocates: the counts (counts.h). Threads: the thread works from
 * devtools_start to devtools_stop; in between its caller calls devtools_ask only.
 *
 *   launcher ── ask: pipe ──► thread ── to ──► descriptor 3 of the program   JSON messages,
 *                                ▲──── from ── descriptor 4 of the program   each ended by a NUL
 *
 * The thread dumps when the first page has been loaded, every `period`, on request (SIGUSR1), and
 * before it passes SIGTERM or SIGHUP on to the program: first all processes, then a heap snapshot
 * of each page.
 *
 * The program must not suffer. Chromium ends when its end of the pipe is closed, so the descriptors
 * stay open until it has ended, whatever goes wrong here, and the thread reads its output to the
 * end, so that it never waits for us. A call without an answer ends the dumps, not the program.
 */
#ifndef SHINY_CLIENT_H
#define SHINY_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/err.h"

enum { DEVTOOLS_KNOCK = 60 }; /* seconds */
enum { DEVTOOLS_READS = 3, DEVTOOLS_WRITES = 4 };     /* the program's descriptors */

struct devtools;

/* `period`: ns between dumps, 0 none. `port`: the port on which a running browser listens on this
 * machine; 0: the program is the browser, and gets pipes. */
SHINY_MUST_CHECK struct shiny_err *devtools_create(uint64_t period, uint16_t port,
						   struct devtools **out);
/* Call in the forked child, before exec: puts the pipe's ends where Chromium looks for them. *keep:
 * a descriptor that must survive; it is moved if it is in the way. */
void devtools_child(struct devtools *devtools, int *keep);
/* Call in the launcher, once `pid` is the program. 0: the browser ran before us; the thread ends
 * when that browser has ended, or has not answered within DEVTOOLS_KNOCK. */
SHINY_MUST_CHECK struct shiny_err *devtools_start(struct devtools *devtools, pid_t pid);
/* Requests a dump now; afterwards the thread sends signal `number`, if not 0, to the program.
 * False: the thread has ended. */
bool devtools_ask(struct devtools *devtools, int number);
/* Call when the program has ended. */
void devtools_stop(struct devtools *devtools);
/* True if the browser has answered its first call. Safe in signal handlers. */
bool devtools_answered(const struct devtools *devtools);
/*
 * For a browser that ran before us: requests a last dump, after which devtools_wait returns; the
 * second call makes it return at once. `number` is the signal that caused the call. A user waits
 * after SIGINT: then the thread gives up a browser that is silent for DEVTOOLS_SILENCE. Safe in
 * signal handlers.
 */
void devtools_leave(struct devtools *devtools, int number);
/* Returns when that browser has ended, or after devtools_leave. */
void devtools_wait(struct devtools *devtools);
/* The first trouble, in one line; NULL: none. */
const char *devtools_trouble(const struct devtools *devtools);
/* Writes the dumps into the finished session file and sets *dumps and *snapshots to their
 * numbers. */
SHINY_MUST_CHECK struct shiny_err *devtools_store(const struct devtools *devtools, const char *path,
						  size_t *dumps, size_t *snapshots);
void devtools_destroy(struct devtools *devtools); /* accepts NULL */

#endif
