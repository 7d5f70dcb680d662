/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_source.c: see row_source.h. A virtual table without arguments that SQLite knows by its
 * module's name; it is read from the first row to the last.
 */
#include "row_source.h"

#include <stdio.h>
#include <stdlib.h>

struct source_table {
	sqlite3_vtab base;
	const struct row_source *source;
};

struct source_cursor {
	sqlite3_vtab_cursor base;
	size_t at;
};

static const struct row_source *source_of(const sqlite3_vtab_cursor *cursor)
{
	return ((const struct source_table *)cursor->pVtab)->source;
}

static int source_connect(sqlite3 *db, void *source, int argc, const char *const *argv,
			  sqlite3_vtab **out, char **message)
{
	struct source_table *table;
	char sql[ROW_SQL];
	size_t used = (size_t)snprintf(sql, sizeof(sql), "CREATE TABLE x (c0");
	int code;

	(void)argc, (void)argv, (void)message;
	for (int i = 1; i < ROW_COLUMNS; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ", c%d", i);
	snprintf(sql + used, sizeof(sql) - used, ")");
	code = sqlite3_declare_vtab(db, sql);
	if (code != SQLITE_OK)
		return code;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->source = source;
	*out = &table->base;
	return SQLITE_OK;
}

static int source_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int source_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table, (void)info;
	return SQLITE_OK;
}

static int source_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct source_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)table;
	if (!cursor)
		return SQLITE_NOMEM;
	*out = &cursor->base;
	return SQLITE_OK;
}

static int source_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int source_rewind(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
			 sqlite3_value **argv)
{
	(void)plan, (void)text, (void)argc, (void)argv;
	((struct source_cursor *)cursor)->at = 0;
	return SQLITE_OK;
}

static int source_next(sqlite3_vtab_cursor *cursor)
{
	((struct source_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int source_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct source_cursor *)cursor)->at >= source_of(cursor)->count;
}

/* A result that is not set is NULL. */
static int source_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int number)
{
	const struct row_source *source = source_of(cursor);
	const char *row =
		(const char *)source->rows + ((struct source_cursor *)cursor)->at * source->bytes;
	const struct row_column *column = &source->columns[number];

	if (column->kind == COLUMN_TEXT)
		sqlite3_result_text(out, *(const char *const *)(row + column->at), -1,
				    SQLITE_STATIC);
	else if (!row_is_null(column, row))
		sqlite3_result_int64(out, row_number(column, row));
	return SQLITE_OK;
}

static int source_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((struct source_cursor *)cursor)->at;
	return SQLITE_OK;
}

static const sqlite3_module source_module = {
	.xConnect = source_connect,
	.xBestIndex = source_plan,
	.xDisconnect = source_disconnect,
	.xOpen = source_open,
	.xClose = source_close,
	.xFilter = source_rewind,
	.xNext = source_next,
	.xEof = source_eof,
	.xColumn = source_column,
	.xRowid = source_rowid,
};

int row_source_make(sqlite3 *db, const struct row_source *source)
{
	return sqlite3_create_module(db, "row_source", &source_module, (void *)source);
}

void row_source_sql(enum store_row which, char out[ROW_SQL])
{
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(which, columns), used = row_sql_target(which, out);

	used += (size_t)snprintf(out + used, ROW_SQL - used, " SELECT c0");
	for (size_t i = 1; i < count; i++)
		used += (size_t)snprintf(out + used, ROW_SQL - used, ", c%zu", i);
	snprintf(out + used, ROW_SQL - used, " FROM row_source");
}
