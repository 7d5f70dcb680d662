/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c: makes the tables and views of schema.sql, and fills table documentation from that
 * file's own comments, so that there is one place where a column is explained; and table boring
 * from boring.rules.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a store.
 *
 * The rules of schema.sql that this relies on (test_store checks that every column of every object
 * got its text):
 *   -- lines directly in front of CREATE TABLE or CREATE VIEW explain the object;
 *   a line between them and the closing one that holds ", -- " or " -- " explains a column: in a
 *   table the line's first word, in a view the word after the last " AS " before the comment.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "db.h"

const char schema_text[] =
#include "schema_sql.h"
	;
static const char boring_text[] =
#include "boring_rules.h"
	;

enum { NAME_MAX_BYTES = 64, TEXT_MAX_BYTES = 2048 };

struct schema_reader {
	sqlite3_stmt *insert;
	char object[NAME_MAX_BYTES];
	const char *kind; /* NULL outside an object */
	int position;
	char about[TEXT_MAX_BYTES]; /* the comment lines seen since the last other line */
};

static int document(struct schema_reader *r, const char *name, const char *text)
{
	int code;

	sqlite3_bind_text(r->insert, 1, r->object, -1, SQLITE_STATIC);
	sqlite3_bind_text(r->insert, 2, r->kind, -1, SQLITE_STATIC);
	sqlite3_bind_int(r->insert, 3, r->position++);
	sqlite3_bind_text(r->insert, 4, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(r->insert, 5, text, -1, SQLITE_STATIC);
	code = sqlite3_step(r->insert);
	sqlite3_reset(r->insert);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* The word at `at`, copied; "" if it does not fit. */
static void copy_word(char *out, const char *at)
{
	size_t length = strcspn(at, " ,(");

	if (length >= NAME_MAX_BYTES)
		length = 0;
	memcpy(out, at, length);
	out[length] = '\0';
}

static int take_column(struct schema_reader *r, const char *line)
{
	const char *comment = strstr(line, " -- "), *at = line + strspn(line, "\t "), *as;
	char name[NAME_MAX_BYTES];

	if (!comment)
		return SQLITE_OK;
	if (strcmp(r->kind, "view") == 0) {
		for (as = strstr(line, " AS "), at = NULL; as && as < comment;
		     as = strstr(as + 1, " AS "))
			at = as + 4;
		if (!at)
			return SQLITE_OK;
	}
	copy_word(name, at);
	return document(r, name, comment + 4);
}

static int take_line(struct schema_reader *r, const char *line)
{
	const char *name = NULL;

	if (strncmp(line, "-- ", 3) == 0) {
		size_t used = strlen(r->about);

		snprintf(r->about + used, sizeof(r->about) - used, "%s%s", used ? " " : "",
			 line + 3);
		return SQLITE_OK;
	}
	if (strncmp(line, "CREATE TABLE ", 13) == 0)
		name = line + 13, r->kind = "table";
	else if (strncmp(line, "CREATE VIEW ", 12) == 0)
		name = line + 12, r->kind = "view";
	if (name) {
		copy_word(r->object, name);
		r->position = 0;
		int code = document(r, "", r->about);
		r->about[0] = '\0';
		return code;
	}
	r->about[0] = '\0';
	if (!r->kind)
		return SQLITE_OK;
	if (line[0] == ')' || strncmp(line, "FROM", 4) == 0) {
		r->kind = NULL;
		return SQLITE_OK;
	}
	return take_column(r, line);
}

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

/* Fills table boring. A pattern may have blanks. */
static struct shiny_err *put_boring_rules(const struct store *store)
{
	AUTO_FREE char *text = strdup(boring_text);
	char *line, *rest = text;

	if (!text)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *pattern = strpbrk(line, " \t");

		if (!pattern)
			continue;
		*pattern++ = '\0';
		SHINY_TRY(schema_put_boring(store, line, pattern + strspn(pattern, " \t")));
	}
	return NULL;
}

struct shiny_err *schema_create(const struct store *store)
{
	AUTO_FREE char *text = strdup(schema_text);
	AUTO_FREE struct schema_reader *r = calloc(1, sizeof(*r));
	char *line, *rest = text;
	char version[64];
	int code;

	if (!text || !r)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	SHINY_TRY(db_exec(store, schema_text, "create"));
	snprintf(version, sizeof(version), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
	SHINY_TRY(db_exec(store, version, "create"));
	code = sqlite3_prepare_v2(store->db, "INSERT INTO documentation VALUES (?, ?, ?, ?, ?)", -1,
				  &r->insert, NULL);
	while (code == SQLITE_OK && (line = strsep(&rest, "\n")) != NULL)
		code = take_line(r, line);
	sqlite3_finalize(r->insert);
	return code == SQLITE_OK ? put_boring_rules(store) : db_error(store, code, "create");
}
