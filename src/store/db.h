/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db.h: what the files of this room share: the store itself and how SQLite's troubles become
 * errors. Not for other rooms.
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

/* Pages that a reader keeps: for joins, and for blobs that are read once, in order. */
#define STORE_KEEP_PAGES     "PRAGMA cache_size = -16384"
#define STORE_KEEP_NO_PAGES  "PRAGMA cache_size = -512"

struct store_writer; /* row_writer.h */

struct store {
	sqlite3 *db;
	char *path; /* as it was named */
	char *file; /* a reader's: without a symbolic link at its end */
	int fd; /* the file beside SQLite's connection, -1 not yet; a writer's holds an exclusive
		 * flock on it while it is being recorded */
	bool complete;
	bool live, log; /* a reader's: somebody writes the file; it has a log */
	struct guard guard;
	struct store_writer *writer; /* NULL in a reader */
	struct kept *kept;           /* of readers: store_keep */
};

extern const char schema_text[]; /* schema.c: schema.sql */

/* The error for SQLite's answer `code` to `what` ("write", "read", …) on the store's file. */
SHINY_MUST_CHECK struct shiny_err *db_error(const struct store *store, int code, const char *what);

/* Runs statements without results. */
SHINY_MUST_CHECK struct shiny_err *db_exec(const struct store *store, const char *sql,
					   const char *what);

/* The same, for changes of the journal mode: SQLite's busy handler, which waits for readers, isn't
 * called for those. Waits up to `ms`. */
SHINY_MUST_CHECK struct shiny_err *db_exec_patiently(const struct store *store, const char *sql,
						     const char *what, unsigned ms);

/* `fd`, of the store's file, becomes the store's; before SQLite opens the file (held_files.h). */
void db_hold(struct store *store, int fd);

void db_close(struct store *store); /* closes, unlocks and frees; accepts NULL */

/* schema.c. `kind` is function or module. */
SHINY_MUST_CHECK struct shiny_err *schema_put_boring(const struct store *store, const char *kind,
						     const char *pattern);

/* site_index.c: which site each stack belongs to. */
struct stack_sites {
	uint32_t *of_stack; /* indexed by stack id, below stack_limit; 0 none. NULL: not made yet.
	                     * The caller's to free, also on failure. */
	size_t stack_limit;
};
/* Fills table site and column stack.site. */
SHINY_MUST_CHECK struct shiny_err *sites_make(struct store *store,
					      const struct stack_tails *tails,
					      struct stack_sites *out);

#endif
