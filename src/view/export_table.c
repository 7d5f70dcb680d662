/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_table.c: a public view of the session (docs/sql.md) as comma-separated values (RFC 4180)
 * or as JSON lines. The columns are those that the session's schema documents.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "export.h"
#include "../answer/row_export.h"

struct table_columns {
	VEC(char *) names;
};

static void free_columns(struct table_columns *columns)
{
	for (size_t i = 0; i < columns->names.count; i++)
		free(columns->names.at[i]);
	free(columns->names.at);
}

static bool is_name(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")];
}

static struct shiny_err *unknown_table(struct store *store, const char *table)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;

	SHINY_TRY(store_query(store,
			      "SELECT group_concat(substr(object, 3), ', ') FROM "
			      "(SELECT object FROM documentation WHERE kind = 'view' AND "
			      "position = 0 AND object LIKE 'v\\_%' ESCAPE '\\' ORDER BY object)",
			      &q));
	SHINY_TRY(query_step(q, &row));
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "export: --table: there is no table %s",
					  table),
				"there are %s, %s", EXPORT_EVENTS, row ? query_text(q, 0) : "");
}

static struct shiny_err *read_columns(struct store *store, const char *table,
				      struct table_columns *out)
{
	AUTO_QUERY struct query *q = NULL;
	AUTO_FREE char *view = mem_format("v_%s", is_name(table) ? table : "");
	struct shiny_err *err = NULL;

	SHINY_TRY(store_query(store,
			      "SELECT name FROM documentation WHERE object = ?1 AND "
			      "kind = 'view' AND position > 0 ORDER BY position",
			      &q));
	query_bind_text(q, 1, view);
	/* skips names that no schema of ours has: they could be SQL */
	QUERY_EACH (q, err)
		if (is_name(query_text(q, 0)))
			*vec_push(&out->names) = mem_text(query_text(q, 0));
	return !err && !out->names.count ? unknown_table(store, table) : err;
}

/* Selects every column and its type: "SELECT a, typeof(a), b, typeof(b) FROM v_…". */
static struct shiny_err *open_rows(struct store *store, const char *table,
				   const struct table_columns *columns, struct query **out)
{
	AUTO_FREE char *sql = NULL;
	size_t size;
	FILE *text = mem_stream_open(&sql, &size);

	for (size_t i = 0; i < columns->names.count; i++) {
		const char *name = columns->names.at[i];

		fprintf(text, "%s \"%s\", typeof(\"%s\")", i ? "," : "SELECT", name, name);
	}
	fprintf(text, " FROM \"v_%s\"", table);
	mem_stream_close(text);
	return store_query(store, sql, out);
}

static void put_value(struct row_export *w, const struct query *q, int column)
{
	const char *type = query_text(q, 2 * column + 1);

	if (strcmp(type, "null") == 0)
		row_export_text(w, NULL);
	else if (strcmp(type, "integer") == 0)
		row_export_number(w, query_number(q, 2 * column));
	else if (strcmp(type, "real") == 0)
		row_export_real(w, query_text(q, 2 * column));
	else
		row_export_text(w, query_text(q, 2 * column));
}

static struct shiny_err *write_table(const struct export_job *job, bool csv)
{
	SHINY_CLEANUP(free_columns) struct table_columns columns = { 0 };
	struct row_export w;
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = NULL;

	if (strcmp(job->table, EXPORT_EVENTS) == 0)
		return export_events(job, csv);
	SHINY_TRY(read_columns(job->store, job->table, &columns));
	SHINY_TRY(open_rows(job->store, job->table, &columns, &q));
	row_export_init(&w, job->out, csv, (const char *const *)columns.names.at,
			columns.names.count);
	QUERY_EACH (q, err)
		for (int i = 0; i < (int)columns.names.count; i++)
			put_value(&w, q, i);
	return err;
}

struct shiny_err *export_csv(const struct export_job *job)
{
	return write_table(job, true);
}

struct shiny_err *export_jsonl(const struct export_job *job)
{
	return write_table(job, false);
}
