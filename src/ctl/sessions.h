/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.h: session directories on disk: making one, finding those that exist, who uses them,
 * their rings' control words.
 *
 * Runs: CLI. Signals: no. Allocates: little. Threads: one.
 *
 * "Used" is asked as wire.h says: every process that maps a ring holds a shared lock on it. The
 * question is put only to rings that are ready: a library that is just making one must not find it
 * locked by us.
 */
#ifndef SHINY_SESSIONS_H
#define SHINY_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/err.h"

enum { SESSIONS_PATH = 4096 };

/* A new directory ROOT/shiny-UID/PID.TICKS, mode 0700; the first of /dev/shm, $TMPDIR, /tmp where
 * that works. */
SHINY_MUST_CHECK struct shiny_err *sessions_make(char out[SESSIONS_PATH]);
/* Removes it if it is empty or holds nothing but the sidecar's lock. */
void sessions_remove_empty(const char *directory);

struct session_directory {
	char path[SESSIONS_PATH];
	unsigned rings, used; /* used: rings that some process maps, or is making */
	bool collected;        /* a sidecar serves it */
	uint64_t bytes;        /* really allocated */
	uint64_t age;          /* ns since it was made */
};
/* False: no such directory, or not ours. */
bool sessions_look(const char *directory, struct session_directory *out);

typedef void sessions_fn(void *context, const struct session_directory *directory);
void sessions_each(sessions_fn *each, void *context);

/* `which`: a directory, or a process's id; `verb`: who asks. */
SHINY_MUST_CHECK struct shiny_err *sessions_named(const char *which, const char *verb,
						  char out[SESSIONS_PATH]);

/* Sets a mark now in the session of the directory. *taken: its sidecar has it already; else it
 * finds it there. */
SHINY_MUST_CHECK struct shiny_err *sessions_mark(const char *directory, const char *name,
						 bool *taken);

/* Switches the sources of accesses (access_ask.h) in the session of the directory; *taken as
 * above. */
SHINY_MUST_CHECK struct shiny_err *sessions_access(const char *directory, const char *sources,
						   bool *taken);

/* Switches recording in every ring of the directory; *count: how many. */
SHINY_MUST_CHECK struct shiny_err *sessions_switch(const char *directory, bool on, unsigned *count);

#endif
