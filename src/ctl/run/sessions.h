/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.h: session directories on disk: makes and finds them, tells if they are in use, and sets
 * their rings' control words.
 *
 * Runs: CLI. Signals: no. Allocates: little. Threads: one.
 *
 * A ring is used if a process holds a shared lock on it, as every process that maps it does
 * (wire.h). Only rings that are ready are tested: a library that is making one must not find it
 * locked by us.
 */
#ifndef SHINY_SESSIONS_H
#define SHINY_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../base/err.h"

enum { SESSIONS_PATH = 4096 };

/* Makes a directory ROOT/shiny-UID/PID.TICKS, mode 0700; ROOT is the first of /dev/shm, $TMPDIR,
 * /tmp that works. */
SHINY_MUST_CHECK struct shiny_err *sessions_make(char out[SESSIONS_PATH]);
/* Removes a directory that is empty or has only the sidecar's lock. */
void sessions_remove_empty(const char *directory);

struct session_directory {
	char path[SESSIONS_PATH];
	unsigned rings, used; /* used: rings that a process maps, or is making */
	bool collected;        /* a sidecar serves it */
	uint64_t bytes;        /* allocated on disk */
	uint64_t age;          /* ns since its creation */
};
/* False: no such directory, or not ours. */
bool sessions_look(const char *directory, struct session_directory *out);

typedef void sessions_fn(void *context, const struct session_directory *directory);
void sessions_each(sessions_fn *each, void *context);

/* Finds a directory. `which`: a directory, or a process's id; `verb`: named in errors. */
SHINY_MUST_CHECK struct shiny_err *sessions_named(const char *which, const char *verb,
						  char out[SESSIONS_PATH]);

/* Sets a mark now in the directory's session. *taken: its sidecar has taken it; false: the sidecar
 * will find it later. */
SHINY_MUST_CHECK struct shiny_err *sessions_mark(const char *directory, const char *name,
						 bool *taken);

/* Switches the sources of accesses (access_ask.h) in the directory's session; *taken as above. */
SHINY_MUST_CHECK struct shiny_err *sessions_access(const char *directory, const char *sources,
						   bool *taken);

/* Switches recording in every ring of the directory; *count: number of rings. */
SHINY_MUST_CHECK struct shiny_err *sessions_switch(const char *directory, bool on, unsigned *count);

#endif
