/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_columns.h: store_rows.def as tables: the field of each column, and the statement that inserts
 * a row. Not for other rooms.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_STORE_ROW_COLUMNS_H
#define SHINY_STORE_ROW_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "store.h"

enum store_row {
#define ROW(name, NAME, how) STORE_ROW_##NAME,
#include "store_rows.def"
	STORE_ROW_SITE_STAT, /* struct store_stat, with a site in `stack` */
	STORE_ROWS
};

enum column_kind { COLUMN_NUMBER, COLUMN_SIGNED, COLUMN_STATUS, COLUMN_REFERENCE, COLUMN_TEXT };
struct row_column {
	const char *name;
	enum column_kind kind;
	uint16_t at; /* offset of the field in the struct */
	uint8_t bytes;
};
enum { ROW_COLUMNS = 48, ROW_SQL = 1024 };

const char *row_table(enum store_row which);
/* Lists the table's columns; returns how many, at most ROW_COLUMNS. */
size_t row_columns(enum store_row which, struct row_column columns[ROW_COLUMNS]);
/* Returns the bytes of the row's struct. */
size_t row_bytes(enum store_row which);
/* Writes an INSERT INTO all of the table's columns, with parameters for the values. */
void row_sql(enum store_row which, char out[ROW_SQL]);
/* Writes an INSERT of all rows of the same table in database `from`. */
void row_copy_sql(enum store_row which, const char *from, char out[ROW_SQL]);

/* Returns the value of a column that is no text, in SQLite's 64 bits. */
static inline int64_t row_number(const struct row_column *column, const void *row)
{
	const void *field = (const char *)row + column->at;

	switch (column->bytes) {
	case 1:
		return *(const uint8_t *)field;
	case 4:
		return column->kind == COLUMN_NUMBER || column->kind == COLUMN_REFERENCE
			       ? (int64_t) * (const uint32_t *)field
			       : *(const int32_t *)field;
	default:
		return *(const int64_t *)field;
	}
}

/* True if a column that is no text is NULL for this number. */
static inline bool row_is_null(const struct row_column *column, int64_t number)
{
	return (column->kind == COLUMN_STATUS && number == -1) ||
	       (column->kind == COLUMN_REFERENCE && !number);
}

#endif
