/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_image.h: turns structs into a small database in memory, from which SQLite copies whole
 * tables: INSERT INTO main.stack SELECT * FROM image.stack. Not for other rooms.
 *
 * Runs: sidecar. Signals: no. Allocates: the image, 16 KiB a page. Threads: one a store.
 *
 * Between two tables of one shape, SQLite copies whole records (its "xfer optimization"): a row of
 * stat_short takes 1,800 instructions, but 5,100 if its 12 columns are bound, or read from a
 * virtual table, one by one. The target must be empty or have a rowid; else SQLite unpacks the rows
 * again, which is correct, and slower.
 */
#ifndef SHINY_STORE_ROW_IMAGE_H
#define SHINY_STORE_ROW_IMAGE_H

#include <sqlite3.h>

#include "row_columns.h"

enum { IMAGE_LEVELS = 8 }; /* levels of a tree: enough for more rows than memory holds */

/* The page of a level that is being filled: cells grow down from its end. */
struct image_page {
	uint32_t number; /* from 1 */
	uint32_t cells, top;
	uint32_t last; /* bytes of the last cell */
};

struct image_table {
	char *sql;                               /* its CREATE TABLE; NULL: not looked up yet */
	struct row_column columns[ROW_COLUMNS];  /* in the order of a record: those of the key
	                                          * first */
	size_t count, keys, bytes;               /* numbers of columns and key columns; bytes of a
	                                          * row's struct */
	bool rowid;                              /* the key is the rowid, and NULL in the record */
	int64_t last[ROW_COLUMNS];               /* key of the last row */
	struct image_page levels[IMAGE_LEVELS];
	int depth;                               /* 0: no rows */
};

/* All zero is empty. */
struct row_image {
	unsigned char *pages; /* allocated by SQLite, which takes it over */
	size_t count, room;   /* in pages; the first page is the schema's */
	struct image_table tables[STORE_ROWS];
};

/* True if the table has rows. */
static inline bool row_image_has(const struct row_image *image, enum store_row which)
{
	return image->tables[which].depth != 0;
}

/* Adds a row to the table, which must have been looked up. *late: its key is not greater than the
 * last one, so it was not added. */
SHINY_MUST_CHECK struct shiny_err *row_image_put(struct row_image *image, enum store_row which,
						 const void *row, bool *late);
/* Looks up the definition of table `which` in `db`. Returns SQLite's result code. */
int row_image_look_up(struct row_image *image, sqlite3 *db, enum store_row which);
/* Attaches the rows as database `name` to `db`, and is empty again. Returns SQLite's result
 * code. */
int row_image_attach(struct row_image *image, sqlite3 *db, const char *name);
void row_image_deinit(struct row_image *image);

#endif
