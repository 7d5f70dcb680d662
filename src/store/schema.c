/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c: the text of schema.sql, and rows that a recording adds to table boring. blank_make.c
 * creates the tables and views.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#include "db.h"

const char schema_text[] =
#include "schema_sql.h"
	;

struct shiny_err *schema_put_boring(const struct store *store, const char *kind,
				    const char *pattern)
{
	sqlite3_stmt *insert = NULL;
	int code = sqlite3_prepare_v2(store->db, "INSERT INTO boring VALUES (?, ?)", -1, &insert,
				      NULL);

	if (code == SQLITE_OK) {
		sqlite3_bind_text(insert, 1, kind, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 2, pattern, -1, SQLITE_STATIC);
		code = sqlite3_step(insert);
	}
	sqlite3_finalize(insert);
	return code == SQLITE_DONE ? NULL : db_error(store, code, "create");
}
