/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_query.c: runs one SELECT, row by row; see store.h. It accounts for each row's values and
 * makes them harmless (guard.h): text becomes plain, and dangling references are read as 0. It also
 * counts a file's dangling references.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "db.h"
#include "guard.h"

enum { QUERY_TEXTS = 32 };
struct query_row { /* state of the current row */
	struct guard_account account;
	char *texts[QUERY_TEXTS]; /* by column: its plain text; NULL: the stored text is plain */
};

struct query {
	struct store *store;
	sqlite3_stmt *statement;
	struct query_row *row;
	int columns;
	size_t limits[]; /* by column: highest value of a reference + 1; 0: it is none */
};

/* The columns that refer to rows. */
static const struct foreign_key {
	const char *table, *column, *target;
} foreign_keys[] = {
#define REFERENCE(table, column, target) { #table, #column, #target },
#include "references.def"
};

/* Returns the limit of a statement's column; 0: any value. */
static size_t limit_of(const struct store *store, sqlite3_stmt *statement, int column)
{
	const char *table = sqlite3_column_table_name(statement, column),
		   *name = sqlite3_column_origin_name(statement, column);

	for (size_t i = 0; table && name && i < sizeof(foreign_keys) / sizeof(*foreign_keys); i++)
		if (!strcmp(foreign_keys[i].column, name) && !strcmp(foreign_keys[i].table, table))
			return store_ids(store, foreign_keys[i].target);
	return 0;
}

struct shiny_err *store_query(struct store *store, const char *sql, struct query **out)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), columns;
	struct query *query;

	if (code != SQLITE_OK)
		return db_error(store, code, "query");
	columns = sqlite3_column_count(statement);
	query = mem_zero(1, sizeof(*query) + (size_t)columns * sizeof(*query->limits));
	*query = (struct query){ .store = store,
				 .statement = statement,
				 .row = mem_zero(1, sizeof(*query->row)),
				 .columns = columns };
	query->row->account = store->guard.whole;
	/* sessions that this process writes have no bounds */
	for (int i = 0; store->guard.whole.steps && i < columns; i++)
		query->limits[i] = limit_of(store, statement, i);
	*out = query;
	return NULL;
}

void query_bind_number(struct query *query, int index, int64_t value)
{
	sqlite3_bind_int64(query->statement, index, value);
}

void query_bind_text(struct query *query, int index, const char *value)
{
	sqlite3_bind_text(query->statement, index, value, -1, SQLITE_TRANSIENT);
}

static void forget_texts(struct query_row *row)
{
	for (size_t i = 0; i < QUERY_TEXTS; i++) {
		free(row->texts[i]);
		row->texts[i] = NULL;
	}
}

struct shiny_err *query_step(struct query *query, bool *row)
{
	int code;

	forget_texts(query->row);
	query->store->guard.running = &query->row->account;
	code = sqlite3_step(query->statement);
	query->store->guard.running = NULL;
	if ((code & 0xff) == SQLITE_INTERRUPT ||
	    (code == SQLITE_ROW && !guard_hand_out(query->store, &query->row->account, 0)))
		return store_too_much(query->store);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return db_error(query->store, code, "read");
	*row = code == SQLITE_ROW;
	return NULL;
}

int64_t query_number(const struct query *query, int column)
{
	int64_t value = sqlite3_column_int64(query->statement, column);
	size_t limit = column >= 0 && column < query->columns ? query->limits[column] : 0;

	if (!limit || (uint64_t)value < limit)
		return value;
	query->store->guard.astray = true;
	return 0;
}

uint32_t query_id(const struct query *query, int column, size_t limit)
{
	int64_t id = query_number(query, column);

	return id > 0 && (uint64_t)id < limit ? (uint32_t)id : 0;
}

const char *query_verbatim(const struct query *query, int column)
{
	const char *text = (const char *)sqlite3_column_text(query->statement, column);

	if (!text)
		return "";
	/* what is too much is said by the next step */
	(void)guard_hand_out(query->store, &query->row->account,
			     (uint64_t)sqlite3_column_bytes(query->statement, column));
	return text;
}

const char *query_text(const struct query *query, int column)
{
	const char *text = query_verbatim(query, column);
	char **plain = column >= 0 && column < QUERY_TEXTS ? &query->row->texts[column] : NULL;

	if (text_is_plain(text))
		return text;
	if (!plain)
		return "?";
	if (!*plain)
		*plain = text_plain(text);
	return *plain;
}

const void *query_blob(const struct query *query, int column, size_t *bytes)
{
	const void *data = sqlite3_column_blob(query->statement, column);

	*bytes = (size_t)sqlite3_column_bytes(query->statement, column);
	/* what is too much is said by the next step */
	(void)guard_hand_out(query->store, &query->row->account, *bytes);
	return data;
}

bool query_is_null(const struct query *query, int column)
{
	return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

void query_end(struct query *query)
{
	if (!query)
		return;
	sqlite3_finalize(query->statement);
	forget_texts(query->row);
	free(query->row);
	free(query);
}

/* Adds the dangling references of one column to `count`, by the rule of query_number. */
static struct shiny_err *count_astray(struct store *store, const struct foreign_key *key,
				      uint64_t *count)
{
	AUTO_QUERY struct query *query = NULL;
	bool row = false;
	AUTO_FREE char *sql =
		mem_format("SELECT COUNT(*) FROM main.%s WHERE CAST(%s AS INTEGER) NOT BETWEEN "
			   "0 AND ?",
			   key->table, key->column);

	SHINY_TRY(store_query(store, sql, &query));
	query_bind_number(query, 1, (int64_t)store_ids(store, key->target) - 1);
	SHINY_TRY(query_step(query, &row));
	if (row)
		*count += (uint64_t)query_number(query, 0);
	return NULL;
}

struct shiny_err *store_astray(struct store *store, bool look, uint64_t *count)
{
	uint64_t found = store->guard.astray_events;

	*count = 0;
	if (store->live || !(look || store->guard.astray || found))
		return NULL;
	for (size_t i = 0; i < sizeof(foreign_keys) / sizeof(*foreign_keys); i++)
		SHINY_TRY(count_astray(store, &foreign_keys[i], &found));
	store->guard.astray = store->guard.astray || found;
	*count = found;
	return NULL;
}

struct shiny_err *store_hold(struct store *store)
{
	SHINY_TRY(db_exec(store, "BEGIN", "read"));
	return store->live ? guard_ids_again(store) : NULL;
}

struct shiny_err *store_release(struct store *store)
{
	return db_exec(store, "COMMIT", "read");
}

