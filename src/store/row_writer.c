/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_writer.c: binds values to a prepared statement, and steps it.
 */
#include "row_writer.h"

#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

static const char *const statement_sql[] = {
#define X(name, sql) sql,
	STORE_STATEMENTS(X)
#undef X
};

static int begin_transaction(struct store *store)
{
	struct store_writer *w = store->writer;
	int code = w->in_transaction ? SQLITE_OK
				     : sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);

	w->in_transaction = code == SQLITE_OK;
	return code;
}

struct row_writer row_begin_in(struct store *store, sqlite3_stmt **slot, const char *sql)
{
	struct row_writer row = { .store = store, .next = 1, .code = begin_transaction(store) };

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

static void put_null(struct row_writer *row)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_null(row->statement, row->next++);
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
		else if (row_is_null(column, row_number(column, values)))
			put_null(&row);
		else
			row_put_number(&row, (uint64_t)row_number(column, values));
	}
	return row_end(&row);
}

struct shiny_err *row_put_all(struct store *store, enum store_row which, const void *rows,
			      size_t count)
{
	struct row_image *image = &store->writer->image;
	size_t bytes = row_bytes(which);
	int code = count ? row_image_look_up(image, store->db, which) : SQLITE_OK;
	bool late;

	if (code != SQLITE_OK)
		return db_error(store, code, "write");
	for (size_t i = 0; i < count; i++) {
		const void *row = (const char *)rows + i * bytes;

		SHINY_TRY(row_image_put(image, which, row, &late));
		if (late)
			SHINY_TRY(row_put(store, which, row));
	}
	return NULL;
}

struct shiny_err *row_put_image(struct store *store)
{
	struct store_writer *w = store->writer;
	bool has[STORE_ROWS], any = false;
	char name[32], sql[ROW_SQL];
	int code;

	for (enum store_row which = 0; which < STORE_ROWS; which++)
		any |= has[which] = row_image_has(&w->image, which);
	if (!any)
		return NULL;
	snprintf(name, sizeof(name), "image%u", w->images++);
	code = begin_transaction(store);
	if (code == SQLITE_OK)
		code = row_image_attach(&w->image, store->db, name);
	for (enum store_row which = 0; code == SQLITE_OK && which < STORE_ROWS; which++) {
		row_copy_sql(which, name, sql);
		if (has[which])
			code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
	}
	return code == SQLITE_OK ? NULL : db_error(store, code, "write");
}

struct shiny_err *row_drop_images(struct store *store)
{
	struct store_writer *w = store->writer;
	char sql[32];

	while (w->images) {
		snprintf(sql, sizeof(sql), "DETACH image%u", --w->images);
		SHINY_TRY(db_exec(store, sql, "write"));
	}
	return NULL;
}

void row_finalize(struct store_writer *w)
{
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(w->statements[i]);
	for (int i = 0; i < STORE_ROWS; i++)
		sqlite3_finalize(w->rows[i]);
	memset(w->statements, 0, sizeof(w->statements));
	memset(w->rows, 0, sizeof(w->rows));
}
