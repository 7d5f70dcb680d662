/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_source.h: structs in memory as a table of SQLite's, so that one statement puts thousands of
 * rows: INSERT INTO stat (...) SELECT ... FROM row_source. Not for other rooms.
 *
 * Runs: sidecar. Signals: no. Allocates: SQLite does. Threads: one a store.
 *
 * A statement that is bound, stepped and reset for each row spends more time on its own beginning
 * and end than on the row (bench/README.md has the figures).
 */
#ifndef SHINY_STORE_ROW_SOURCE_H
#define SHINY_STORE_ROW_SOURCE_H

#include <sqlite3.h>

#include "row_columns.h"

/* What the table holds at the moment. */
struct row_source {
	struct row_column columns[ROW_COLUMNS];
	size_t column_count;
	const void *rows;
	size_t count, bytes; /* bytes: of a row */
};

/* Makes table row_source of this connection, with columns c0, c1, …. `source` must outlive it.
 * SQLite's answer. */
int row_source_make(sqlite3 *db, const struct row_source *source);
/* The statement that puts all that the table holds. */
void row_source_sql(enum store_row which, char out[ROW_SQL]);

#endif
