/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c: see guard.h.
 *
 * The bounds follow from the file's size, so that an honest file does not meet them however large
 * it is. Of all verbs on sessions of bash, python and Chromium (0.3, 3 and 51 MB) the hungriest
 * statement takes 1.1 steps a byte of its file and returns 0.9 bytes; some statements search all
 * threads for each process, so the bounds are 100 steps and 16 bytes for each byte of the file,
 * plus a constant for small files. A malicious file can still keep a reader busy for some seconds.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "blank.h"

enum {
	STEPS_AT_LEAST = 100000000, STEPS_A_BYTE = 100,
	OUT_AT_LEAST = 64 << 20, OUT_A_BYTE = 16,
	ROW_BYTES = 64,             /* cost of a row beside its text */
	MEMORY_AT_LEAST = 256 << 20, MEMORY_A_BYTE = 4,
	TICK = 5000,                /* steps between two checks of the account */
	/* larger than any cell: a block of events has 128 Ki of them */
	CELL_BYTES = 64 << 20,
	ID_BYTES = 4,               /* least bytes of a row */
	IDS_UNCOUNTED = 64 << 10,   /* so many ids may be sparse: a table of them is small */
};

/* ---- bounds ---- */

/* Called every TICK steps; nonzero ends the statement. */
static int on_tick(void *context)
{
	const struct store *store = context;
	struct guard_account *account = store->guard.running;

	if (!account)
		return 0;
	account->steps -= account->steps < TICK ? account->steps : TICK;
	return !account->steps;
}

bool guard_hand_out(const struct store *store, struct guard_account *account, uint64_t bytes)
{
	if (!store->guard.whole.steps)
		return true;
	account->bytes -= account->bytes < bytes + ROW_BYTES ? account->bytes : bytes + ROW_BYTES;
	return account->bytes != 0;
}

uint64_t store_bound(const struct store *store, uint64_t least, uint64_t a_byte)
{
	return store->guard.whole.steps ? least + store->guard.file * a_byte : UINT64_MAX;
}

struct shiny_err *store_too_much(const struct store *store)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: it asks for more work than "
					  "a session of its size has in it",
					  store->path),
				"the file is damaged, or was made to do harm");
}

/*
 * SQLite's rtrim(text, characters), but by bytes: our views cut a path to its directory with
 * rtrim(path, replace(path, '/', '')). SQLite's own takes time by the product of both lengths,
 * which is minutes for a path of a megabyte.
 */
static void trim_right(sqlite3_context *context, int count, sqlite3_value **values)
{
	const unsigned char *text = sqlite3_value_text(values[0]),
			    *set = sqlite3_value_text(values[1]);
	int bytes = sqlite3_value_bytes(values[0]);
	bool in_set[256] = { false };

	(void)count;
	if (!text || !set)
		return; /* NULL */
	for (; *set; set++)
		in_set[*set] = true;
	while (bytes && in_set[text[bytes - 1]])
		bytes--;
	sqlite3_result_text(context, (const char *)text, bytes, SQLITE_TRANSIENT);
}

struct shiny_err *guard_begin(struct store *store, uint64_t bytes)
{
	struct guard *g = &store->guard;

	g->file = bytes;
	g->whole = (struct guard_account){ STEPS_AT_LEAST + bytes * STEPS_A_BYTE,
					   OUT_AT_LEAST + bytes * OUT_A_BYTE };
	guard_memory(g, MEMORY_AT_LEAST + bytes * MEMORY_A_BYTE);
	sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, CELL_BYTES);
	sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(store->db, TICK, on_tick, store);
	sqlite3_create_function(store->db, "rtrim", 2,
				SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
				trim_right, NULL, NULL);
	/* the schema may call no function with side effects, and cells are checked */
	if (sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
	    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
	    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) != SQLITE_OK ||
	    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) != SQLITE_OK)
		return shiny_err(SHINY_ERR_OTHER,
				 "cannot read the session %s: this SQLite has no switch for views "
				 "and triggers",
				 store->path);
	return NULL;
}

/* ---- the schema ---- */

#define SCHEMA_ROWS                                                                            \
	"SELECT type, name, tbl_name, COALESCE(sql, ''), sql IS NULL FROM main.sqlite_schema " \
	"ORDER BY type, name"

static struct shiny_err *not_ours(const struct store *store)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: its tables and views are "
					  "not those of format %d",
					  store->path, STORE_SCHEMA_VERSION),
				"it was changed after its recording, or recorded by another "
				"shinyctl: use that one, or record again");
}

static bool same_cell(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
	const void *left = sqlite3_column_blob(a, column), *right = sqlite3_column_blob(b, column);
	int bytes = sqlite3_column_bytes(a, column);

	return bytes == sqlite3_column_bytes(b, column) &&
	       (!bytes || (left && right && memcmp(left, right, (size_t)bytes) == 0));
}

static struct shiny_err *compare(struct store *store, sqlite3_stmt *ours, sqlite3_stmt *theirs)
{
	for (;;) {
		int code = sqlite3_step(theirs), own = sqlite3_step(ours);

		if (code != SQLITE_ROW && code != SQLITE_DONE)
			return db_error(store, code, "read");
		if (code != own)
			return not_ours(store);
		if (code == SQLITE_DONE)
			return NULL;
		for (int i = 0; i < 5; i++)
			if (!same_cell(ours, theirs, i))
				return not_ours(store);
	}
}

static struct shiny_err *compare_schema(struct store *store, sqlite3 *reference)
{
	sqlite3_stmt *ours = NULL, *theirs = NULL;
	struct shiny_err *err;
	int code = sqlite3_prepare_v2(reference, SCHEMA_ROWS, -1, &ours, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(store->db, SCHEMA_ROWS, -1, &theirs, NULL);
	err = code == SQLITE_OK ? compare(store, ours, theirs) : db_error(store, code, "read");
	sqlite3_finalize(ours);
	sqlite3_finalize(theirs);
	return err;
}

static struct shiny_err *make_view(struct store *store, sqlite3_stmt *row)
{
	static const char create[] = "CREATE VIEW ";
	const char *sql = (const char *)sqlite3_column_text(row, 0);
	AUTO_FREE char *temporary = NULL;

	if (!sql || strncmp(sql, create, sizeof(create) - 1) != 0 ||
	    asprintf(&temporary, "CREATE TEMP VIEW %s", sql + sizeof(create) - 1) < 0)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	return db_exec(store, temporary, "read");
}

/* ---- ids ---- */

/* Reads the first column of a statement's only row; 0 for NULL. */
static struct shiny_err *ask(struct store *store, const char *format, const char *table,
			     int64_t *out)
{
	char sql[160];
	sqlite3_stmt *row = NULL;
	int code;

	snprintf(sql, sizeof(sql), format, table);
	code = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW)
		*out = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return code == SQLITE_ROW		   ? NULL
	       : (code & 0xff) == SQLITE_INTERRUPT ? store_too_much(store)
						   : db_error(store, code, "read");
}

static struct shiny_err *not_so_many(const struct store *store, const char *table, int64_t id)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: table %s has the id %" PRId64
					  ", which its rows do not come to",
					  store->path, table, id),
				"the file is damaged, or was made to do harm");
}

/* Raises `limit` to include the stacks of an unfinished recording, packed in another table. */
static struct shiny_err *limit_stacks(struct store *store, size_t *limit)
{
	static const char table[] = "stack_waiting";
	int64_t behind = 0, rows = 0;

	SHINY_TRY(ask(store, "SELECT MAX(first + length(data) / 28) FROM main.%s", table, &behind));
	SHINY_TRY(ask(store, "SELECT SUM(length(data) / 28) FROM main.%s", table, &rows));
	if (behind < 0 || behind > rows + IDS_UNCOUNTED)
		return not_so_many(store, table, behind);
	*limit = (size_t)behind > *limit ? (size_t)behind : *limit;
	return NULL;
}

static struct shiny_err *limit_ids(struct store *store, const char *table, uint64_t bytes,
				   size_t *limit)
{
	int64_t least = 0, most = 0, rows = 0;

	SHINY_TRY(ask(store, "SELECT MIN(id) FROM main.%s", table, &least));
	SHINY_TRY(ask(store, "SELECT MAX(id) FROM main.%s", table, &most));
	/* COUNT(*) alone does not heed the account */
	if (least >= 0 && most > IDS_UNCOUNTED && (uint64_t)most <= bytes / ID_BYTES)
		SHINY_TRY(ask(store, "SELECT COUNT(id) FROM main.%s", table, &rows));
	if (least < 0 || most > rows + IDS_UNCOUNTED)
		return not_so_many(store, table, least < 0 ? least : most);
	*limit = (size_t)most + 1;
	return strcmp(table, "stack") == 0 ? limit_stacks(store, limit) : NULL;
}

static struct shiny_err *take_ids(struct store *store, const char *table, uint64_t bytes)
{
	struct guard *g = &store->guard;

	if (g->table_count == GUARD_TABLES)
		return shiny_err(SHINY_ERR_OTHER,
				 "schema.sql has more tables with ids than the guard has room for");
	snprintf(g->tables[g->table_count].name, GUARD_NAME, "%s", table);
	return limit_ids(store, table, bytes, &g->tables[g->table_count++].limit);
}

static struct shiny_err *more_ids(struct store *store)
{
	for (size_t i = 0; i < store->guard.table_count; i++) {
		struct guard_table *table = &store->guard.tables[i];
		int64_t most = 0;

		SHINY_TRY(ask(store, "SELECT MAX(id) FROM main.%s", table->name, &most));
		/* UINT64_MAX: always counts the rows, however large the file */
		if (most >= (int64_t)table->limit || strcmp(table->name, "stack") == 0)
			SHINY_TRY(limit_ids(store, table->name, UINT64_MAX, &table->limit));
	}
	return NULL;
}

struct shiny_err *guard_ids_again(struct store *store)
{
	struct guard_account account = store->guard.whole;
	struct shiny_err *err;

	store->guard.running = &account;
	err = more_ids(store);
	store->guard.running = NULL;
	return err;
}

/* Refuses negative counters. */
static struct shiny_err *check_counters(struct store *store)
{
	int64_t least = 0;

	SHINY_TRY(ask(store, "SELECT MIN(count) FROM main.%s", "counter", &least));
	if (least >= 0)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: it counts something %" PRId64
					  " times",
					  store->path, least),
				"the file is damaged, or was made to do harm");
}

/* ---- admission ---- */

typedef struct shiny_err *row_fn(struct store *store, sqlite3_stmt *row, uint64_t bytes);

static struct shiny_err *with_view(struct store *store, sqlite3_stmt *row, uint64_t bytes)
{
	(void)bytes;
	return make_view(store, row);
}

static struct shiny_err *with_ids(struct store *store, sqlite3_stmt *row, uint64_t bytes)
{
	return take_ids(store, (const char *)sqlite3_column_text(row, 0), bytes);
}

static struct shiny_err *each_of(struct store *store, sqlite3 *reference, const char *sql,
				 row_fn *each, uint64_t bytes)
{
	sqlite3_stmt *row = NULL;
	struct shiny_err *err = NULL;
	int code = sqlite3_prepare_v2(reference, sql, -1, &row, NULL);

	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		err = each(store, row, bytes);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return err || code == SQLITE_DONE
		       ? err
		       : shiny_err(SHINY_ERR_OTHER, "cannot open the schema to compare with: %s",
				   sqlite3_errstr(code));
}

static struct shiny_err *admit(struct store *store, sqlite3 *reference, uint64_t bytes)
{
	SHINY_TRY(compare_schema(store, reference));
	SHINY_TRY(check_counters(store));
	SHINY_TRY(each_of(store, reference,
			  "SELECT sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid",
			  with_view, bytes));
	return each_of(store, reference,
		       "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE "
		       "m.type = 'table' AND c.name = 'id' "
		       "AND c.pk = 1 AND c.type = 'INTEGER' ORDER BY 1",
		       with_ids, bytes);
}

struct shiny_err *guard_admit(struct store *store, uint64_t bytes)
{
	struct guard_account opening = store->guard.whole;
	sqlite3 *reference = NULL;
	struct shiny_err *err;
	int code = blank_open(&reference);

	store->guard.running = &opening;
	err = code == SQLITE_OK
		      ? admit(store, reference, bytes)
		      : shiny_err(SHINY_ERR_OTHER, "cannot open the schema to compare with: %s",
				  sqlite3_errstr(code));
	sqlite3_close(reference);
	store->guard.running = NULL;
	return err;
}

size_t store_ids(const struct store *store, const char *table)
{
	for (size_t i = 0; i < store->guard.table_count; i++)
		if (strcmp(store->guard.tables[i].name, table) == 0)
			return store->guard.tables[i].limit;
	return 1;
}
