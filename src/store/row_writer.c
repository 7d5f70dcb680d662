/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_writer.c: binds values to a prepared statement, and steps it.
 */
#include "row_writer.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"

static const char *const statement_sql[] = {
#define X(name, sql) sql,
	STORE_STATEMENTS(X)
#undef X
};

struct row_writer row_begin_in(struct store *store, sqlite3_stmt **slot, const char *sql)
{
	struct store_writer *w = store->writer;
	struct row_writer row = { .store = store, .next = 1, .code = SQLITE_OK };

	if (!w->in_transaction) {
		row.code = sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
		w->in_transaction = row.code == SQLITE_OK;
	}
	if (row.code == SQLITE_OK && !*slot)
		row.code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot,
					      NULL);
	row.statement = *slot;
	return row;
}

struct row_writer row_begin(struct store *store, enum statement which)
{
	return row_begin_in(store, &store->writer->statements[which], statement_sql[which]);
}

void row_put_number(struct row_writer *row, uint64_t value)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_int64(row->statement, row->next++, (sqlite3_int64)value);
}

void row_put_text(struct row_writer *row, const char *value)
{
	if (row->code == SQLITE_OK)
		row->code =
			sqlite3_bind_text(row->statement, row->next++, value, -1, SQLITE_STATIC);
}

void row_put_blob(struct row_writer *row, const void *data, size_t bytes)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_blob64(row->statement, row->next++, data, bytes,
						SQLITE_STATIC);
}

void row_put_null(struct row_writer *row)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_null(row->statement, row->next++);
}

void row_put_number_or_null(struct row_writer *row, uint64_t value)
{
	if (value)
		row_put_number(row, value);
	else
		row_put_null(row);
}

struct shiny_err *row_end(struct row_writer *row)
{
	if (row->code == SQLITE_OK) {
		row->code = sqlite3_step(row->statement);
		if (row->code == SQLITE_DONE || row->code == SQLITE_ROW)
			row->code = SQLITE_OK;
	}
	struct shiny_err *err =
		row->code == SQLITE_OK ? NULL : db_error(row->store, row->code, "write");

	if (row->statement)
		sqlite3_reset(row->statement);
	return err;
}

struct shiny_err *row_put(struct store *store, enum store_row which, const void *values)
{
	sqlite3_stmt **slot = &store->writer->rows[which];
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(which, columns);
	char sql[ROW_SQL];

	if (!*slot)
		row_sql(which, sql);
	struct row_writer row = row_begin_in(store, slot, sql);
	for (size_t i = 0; i < count; i++) {
		const struct row_column *column = &columns[i];

		if (column->kind == COLUMN_TEXT)
			row_put_text(&row,
				     *(const char *const *)((const char *)values + column->at));
		else if (row_is_null(column, values))
			row_put_null(&row);
		else
			row_put_number(&row, (uint64_t)row_number(column, values));
	}
	return row_end(&row);
}

struct shiny_err *row_put_all(struct store *store, enum store_row which, const void *rows,
			      size_t count)
{
	struct store_writer *w = store->writer;
	char sql[ROW_SQL];

	if (!count)
		return NULL;
	if (!w->source_made) {
		int code = row_source_make(store->db, &w->source);

		if (code != SQLITE_OK)
			return db_error(store, code, "write");
		w->source_made = true;
	}
	w->source.column_count = row_columns(which, w->source.columns);
	w->source.bytes = row_bytes(which);
	w->source.rows = rows;
	w->source.count = count;
	if (!w->all_rows[which])
		row_source_sql(which, sql);
	struct row_writer row = row_begin_in(store, &w->all_rows[which], sql);

	return row_end(&row);
}

static int by_line_key(const void *left, const void *right)
{
	const struct store_line *a = left, *b = right;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return (a->depth > b->depth) - (a->depth < b->depth);
}

/* Lines come by address (finish.c) and are put by frame, as the table is: its pages are full. */
struct shiny_err *row_put_waiting(struct store *store)
{
	struct store_writer *w = store->writer;

	SHINY_TRY(row_put_all(store, STORE_ROW_FRAME, w->frames.at, w->frames.count));
	w->frames.count = 0;
	if (w->lines.count)
		qsort(w->lines.at, w->lines.count, sizeof(*w->lines.at), by_line_key);
	SHINY_TRY(row_put_all(store, STORE_ROW_LINE, w->lines.at, w->lines.count));
	w->lines.count = 0;
	SHINY_TRY(row_put_all(store, STORE_ROW_STACK_TAIL, w->tail_rows.at, w->tail_rows.count));
	w->tail_rows.count = 0;
	SHINY_TRY(row_put_all(store, STORE_ROW_STACK, w->stacks.at + w->stacks_put,
			      w->stacks.count - w->stacks_put));
	w->stacks_put = w->stacks.count;
	return NULL;
}

void row_finalize(struct store_writer *w)
{
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(w->statements[i]);
	for (int i = 0; i < STORE_ROWS; i++) {
		sqlite3_finalize(w->rows[i]);
		sqlite3_finalize(w->all_rows[i]);
	}
	memset(w->statements, 0, sizeof(w->statements));
	memset(w->rows, 0, sizeof(w->rows));
	memset(w->all_rows, 0, sizeof(w->all_rows));
}
