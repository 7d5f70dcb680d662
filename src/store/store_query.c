/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_query.c: one SELECT, row by row, as store.h has it. What a row hands out is
 * accounted for and made harmless here (guard.h).
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#include <stdlib.h>

#include "../base/text.h"
#include "db.h"
#include "guard.h"

enum { QUERY_TEXTS = 32 };
struct query_row { /* what is said of the current one while it is read */
	struct guard_account account;
	char *texts[QUERY_TEXTS]; /* by column: made harmless; NULL: the column is as it is */
};

struct query {
	struct store *store;
	sqlite3_stmt *statement;
	struct query_row *row;
};

struct shiny_err *store_query(struct store *store, const char *sql, struct query **out)
{
	struct query *query = calloc(1, sizeof(*query));
	struct query_row *now = calloc(1, sizeof(*now));
	int code;

	if (!query || !now) {
		free(query);
		free(now);
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	code = sqlite3_prepare_v2(store->db, sql, -1, &query->statement, NULL);
	if (code != SQLITE_OK) {
		free(query);
		free(now);
		return db_error(store, code, "query");
	}
	query->store = store;
	query->row = now;
	now->account = store->guard.whole;
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
	return sqlite3_column_int64(query->statement, column);
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

