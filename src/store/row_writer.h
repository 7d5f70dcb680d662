/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_writer.h: the writer's state, and functions that put rows of any table.
 *
 * Runs: sidecar. Signals: no. Allocates: in SQLite; 36 bytes a stack. Threads: one a store.
 *
 * A statement is prepared at first use and kept. The first row after a commit begins a transaction.
 */
#ifndef SHINY_ROW_WRITER_H
#define SHINY_ROW_WRITER_H

#include "../base/mem.h"
#include "../base/texts.h"
#include "by_site.h"
#include "db.h"
#include "pack_behind.h"
#include "row_columns.h"
#include "row_image.h"

/* Statements beside those of store_rows.def: name, SQL. Prepared at first use. */
#define STORE_STATEMENTS(X)                                                                       \
	X(SESSION, "INSERT OR REPLACE INTO session VALUES (?, ?)")                                \
	X(FUNCTION, "INSERT INTO function VALUES (?, ?)")                                         \
	X(SOURCE, "INSERT INTO source VALUES (?, ?)")                                             \
	X(WRAPPER, "INSERT OR REPLACE INTO wrapper VALUES (?)")                                   \
	X(TAG, "INSERT INTO tag VALUES (?, ?)")                                                   \
	X(PAGES_GONE, "DELETE FROM page WHERE process = ?")                                       \
	X(SESSION_PEAK, "INSERT OR REPLACE INTO session_peak VALUES (?, ?, ?, ?, ?)")             \
	X(COUNTER, "INSERT OR REPLACE INTO counter VALUES (?, ?, ?, ?, ?)")                       \
	X(SNAPSHOT_PART, "INSERT INTO snapshot_part VALUES (?, ?, ?, ?, ?)")                      \
	X(NOTE, "INSERT INTO note VALUES (?, ?)")                                                 \
	X(BROWSER_NAME, "INSERT INTO browser_name VALUES (?, ?)")                                 \
	X(BROWSER_SAMPLE, "INSERT INTO browser_sample SELECT ?1, ?2, COALESCE((SELECT p.id FROM " \
			  "process p WHERE p.pid = ?3 AND p.start_ns <= t.ns "                    \
			  "ORDER BY p.start_ns DESC, p.id DESC LIMIT 1), 0), ?3, t.ns, ?5 FROM "  \
			  "(SELECT max(0, ?4 - (SELECT s.value FROM session s WHERE "             \
			  "s.key = 'started_boottime_ns')) AS ns) t")                             \
	X(BROWSER_ALLOCATOR, "INSERT OR REPLACE INTO browser_allocator VALUES (?, ?, ?, ?, ?)")   \
	X(BROWSER_OBJECT, "INSERT INTO browser_object VALUES (?, ?, ?, ?, ?) ON CONFLICT DO "     \
			  "UPDATE SET objects = objects + excluded.objects, "                     \
			  "bytes = bytes + excluded.bytes")                                       \
	X(EVENTS, "INSERT INTO events (first_ns, last_ns, count, checkpoint, data) "              \
		  "VALUES (?, ?, ?, ?, ?)")                                                       \
	X(KEPT, "INSERT INTO kept VALUES (?, ?, ?)")                                              \
	X(EVENTS_PROCESS, "INSERT INTO events_process VALUES (?, ?)")                             \
	X(STACK_WAITING, "INSERT INTO stack_waiting VALUES (?, ?)")                               \
	X(STACKS_WAIT_NOT, "DELETE FROM stack_waiting")

enum statement {
#define X(name, sql) STATEMENT_##name,
	STORE_STATEMENTS(X)
#undef X
	STATEMENT_COUNT
};

/* The function that a frame's call calls. */
struct frame_call {
	uint32_t frame, function;
};

struct store_writer {
	sqlite3_stmt *statements[STATEMENT_COUNT], *rows[STORE_ROWS];
	struct row_image image; /* rows of the tables with hundreds of thousands of them */
	unsigned images;        /* number attached in this transaction */
	bool in_transaction;
	struct pack_behind *behind; /* NULL: without events */
	uint64_t checkpoint;        /* of the events that are being put */
	uint64_t last_block;        /* id in table events */
	struct texts functions, sources;
	struct stack_tails tails;
	uint32_t tails_written;
	VEC(struct store_line) lines;   /* new since the last commit */
	VEC(struct store_stack) stacks; /* all, until they are written with their sites */
	size_t stacks_put;              /* those of them in table stack_waiting */
	VEC(struct frame_call) calls;   /* for the sites */
	struct stack_sites sites;       /* set at the first row of statistics */
	VEC(struct store_stat) stats;   /* pending rows of one process and stack */
	struct by_site by_site;
};

/* A row being put. Values are bound from left to right; row_end returns the first error. */
struct row_writer {
	struct store *store;
	sqlite3_stmt *statement;
	int next, code;
};

/* Begins a row; *slot: its statement, which is prepared from `sql` at first use. */
struct row_writer row_begin_in(struct store *store, sqlite3_stmt **slot, const char *sql);
struct row_writer row_begin(struct store *store, enum statement which);
void row_put_number(struct row_writer *row, uint64_t value);
/* Valid until row_end. NULL is NULL. */
void row_put_text(struct row_writer *row, const char *value);
void row_put_blob(struct row_writer *row, const void *data, size_t bytes);
SHINY_MUST_CHECK struct shiny_err *row_end(struct row_writer *row);

/* Puts a whole row of a table of store_rows.def; `values`: its struct. */
SHINY_MUST_CHECK struct shiny_err *row_put(struct store *store, enum store_row which,
					   const void *values);

/* Puts an array of rows; row_put_image writes them. They should be in the order of the table's key:
 * a row that is late is put by itself. */
SHINY_MUST_CHECK struct shiny_err *row_put_all(struct store *store, enum store_row which,
					       const void *rows, size_t count);
SHINY_MUST_CHECK struct shiny_err *row_put_image(struct store *store);
/* Call after the transaction: detaches the images. */
SHINY_MUST_CHECK struct shiny_err *row_drop_images(struct store *store);
/* In write_rows.c: puts the rows that wait for a commit. */
SHINY_MUST_CHECK struct shiny_err *row_put_waiting(struct store *store);
/* Puts the pending statistics and their sums by site; finds the sites, if that is not done yet. */
SHINY_MUST_CHECK struct shiny_err *row_put_statistics(struct store *store);

/* Ends every statement: an open one would keep the log alive. */
void row_finalize(struct store_writer *writer);

#endif
