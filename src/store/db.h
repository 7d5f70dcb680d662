/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db.h: the store itself, and the conversion of SQLite's errors, for the files of this room. Not
 * for other rooms.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_STORE_DB_H
#define SHINY_STORE_DB_H

#include <sqlite3.h>

#include "block.h"
#include "guard_bounds.h"
#include "stacks.h"
#include "store.h"

#define STORE_APPLICATION_ID 0x53686e79 /* "Shny", as in schema.sql */

/* A reader's page cache: for joins, and for blobs that are read once, in order. */
#define STORE_KEEP_PAGES     "PRAGMA cache_size = -16384"
#define STORE_KEEP_NO_PAGES  "PRAGMA cache_size = -512"

struct store_writer; /* row_writer.h */

struct store {
	sqlite3 *db;
	char *path; /* as it was named */
	char *file; /* a reader's: the path without a symbolic link at its end */
	int fd; /* descriptor of the file beside SQLite's, -1 none yet; a writer holds an exclusive
	         * flock on it during the recording */
	bool complete;
	bool live, log; /* a reader's: the file is being written; it has a log */
	struct guard guard;
	struct store_writer *writer; /* NULL in a reader */
	struct kept *kept;           /* a reader's: store_keep */
};

/* Returns the error for SQLite's result `code` of `what` ("write", "read", …) on the store's
 * file. */
SHINY_MUST_CHECK struct shiny_err *db_error(const struct store *store, int code, const char *what);

/* Runs statements without results. */
SHINY_MUST_CHECK struct shiny_err *db_exec(const struct store *store, const char *sql,
					   const char *what);

/* Does the same for changes of the journal mode, for which SQLite does not call its busy handler.
 * Waits up to `ms` for readers. */
SHINY_MUST_CHECK struct shiny_err *db_exec_patiently(const struct store *store, const char *sql,
						     const char *what, unsigned ms);

/* Passes `fd`, a descriptor of the store's file, to the store; call before SQLite opens the file
 * (held_files.h). */
void db_hold(struct store *store, int fd);

void db_close(struct store *store); /* closes, unlocks and frees; accepts NULL */

/* In site_index.c: the site of each stack. */
struct stack_sites {
	uint32_t *of_stack; /* by stack id, below stack_limit; 0 none. NULL: not computed yet. The
	                     * caller frees it, also on failure. */
	size_t stack_limit;
};
/* Fills table site and column stack.site. */
SHINY_MUST_CHECK struct shiny_err *sites_make(struct store *store,
					      const struct stack_tails *tails,
					      struct stack_sites *out);

#endif
