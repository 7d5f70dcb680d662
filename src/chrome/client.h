/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h: asks a running Chromium, over its debugging pipe or port, for memory-infra dumps and V8
 * heap snapshots.
 *
 * Runs: CLI (the launcher of `shinyctl run`, and `shinyctl devtools`), on a thread of its own.
 * Signals: devtools_ask only. Allocates: what counts.h keeps.
 * Threads: the thread works from devtools_start to devtools_stop; in between its caller calls
 * devtools_ask only.
 *
 *   launcher ── asked: eventfd-like pipe ──► thread ── to ──► descriptor 3 of the program    JSON messages, each ended by a NUL
 *                                               ▲────── from ── descriptor 4 of the program
 *
 * When: once, when the first page has been loaded; every `period`; when asked (SIGUSR1); and before
 * a SIGTERM or SIGHUP is passed on to the program. What: one dump of all processes, then a heap
 * snapshot of each page.
 *
 * The program must not suffer. Chromium ends when its end of the pipe is closed, so the descriptors
 * stay open until it has ended, whatever goes wrong here; what it says is read on to the end, so
 * that it never waits for us. A call that is not answered within DEVTOOLS_PATIENCE ends the asking,
 * not the program. A signal to be passed on waits for a dump no longer than DEVTOOLS_LAST.
 */
#ifndef SHINY_CLIENT_H
#define SHINY_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/err.h"

enum { DEVTOOLS_PATIENCE = 120, DEVTOOLS_LAST = 60, DEVTOOLS_KNOCK = 60 }; /* seconds */
enum { DEVTOOLS_READS = 3, DEVTOOLS_WRITES = 4 };     /* the program's descriptors */

struct devtools;

/* `period`: ns, 0 none. `port`: where the browser listens, on this machine; 0: it is the program,
 * and gets pipes. */
SHINY_MUST_CHECK struct shiny_err *devtools_create(uint64_t period, uint16_t port,
						   struct devtools **out);
/* In the forked child, before it becomes the program: puts its ends where Chromium looks for them.
 * *keep: a descriptor that must survive; moved if it is in the way. */
void devtools_child(struct devtools *devtools, int *keep);
/* In the launcher, when `pid` is the program. 0: the browser ran before us and is nobody's; the
 * thread ends when the browser has gone, or does not answer within DEVTOOLS_KNOCK. */
SHINY_MUST_CHECK struct shiny_err *devtools_start(struct devtools *devtools, pid_t pid);
/* Asks for a dump now; with `number`, this signal is sent to the program after it. False: too late,
 * nobody is there to do it. */
bool devtools_ask(struct devtools *devtools, int number);
/* The program has ended. */
void devtools_stop(struct devtools *devtools);
/* Of a browser that ran before us: asks for a last dump, then devtools_wait returns; asked twice,
 * at once. In signal handlers too. */
void devtools_leave(struct devtools *devtools);
/* Until that browser has gone, or devtools_leave. */
void devtools_wait(struct devtools *devtools);
/* What was wrong, in one line; NULL nothing. */
const char *devtools_trouble(const struct devtools *devtools);
/* Into the finished session file; *dumps and *snapshots: how many. */
SHINY_MUST_CHECK struct shiny_err *devtools_store(const struct devtools *devtools, const char *path,
						  size_t *dumps, size_t *snapshots);
void devtools_destroy(struct devtools *devtools); /* accepts NULL */

#endif
