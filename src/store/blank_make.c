/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank_make.c: creates the initial file of every session (blank.h). Runs when shinyctl is built:
 *     blank_make FILE
 *
 * It runs schema.sql, fills table documentation from that file's comments, so that each column is
 * explained in one place, and fills table boring from boring.rules.
 *
 * The rules of schema.sql that this relies on (test_store checks that every column of every object
 * got its text):
 *   -- lines directly in front of CREATE TABLE or CREATE VIEW explain the object;
 *   a line between them and the closing one that holds ", -- " or " -- " explains a column: in a
 *   table the line's first word, in a view the word after the last " AS " before the comment.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "store.h"

static const char schema_sql[] =
#include "schema_sql.h"
	;
static const char boring_rules[] =
#include "boring_rules.h"
	;

enum { NAME_MAX_BYTES = 64, TEXT_MAX_BYTES = 2048 };

struct schema_reader {
	sqlite3_stmt *insert;
	char object[NAME_MAX_BYTES];
	const char *kind; /* NULL outside an object */
	int position;
	char about[TEXT_MAX_BYTES]; /* comment lines since the last other line */
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

/* Copies the word at `at`; "" if it does not fit. */
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

static int put_documentation(sqlite3 *db)
{
	AUTO_FREE char *text = strdup(schema_sql);
	AUTO_FREE struct schema_reader *r = calloc(1, sizeof(*r));
	char *line, *rest = text;
	int code;

	if (!text || !r)
		return SQLITE_NOMEM;
	code = sqlite3_prepare_v2(db, "INSERT INTO documentation VALUES (?, ?, ?, ?, ?)", -1,
				  &r->insert, NULL);
	while (code == SQLITE_OK && (line = strsep(&rest, "\n")) != NULL)
		code = take_line(r, line);
	sqlite3_finalize(r->insert);
	return code;
}

/* A pattern may have blanks. */
static int put_boring(sqlite3_stmt *insert, const char *kind, const char *pattern)
{
	int code;

	sqlite3_bind_text(insert, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, pattern, -1, SQLITE_STATIC);
	code = sqlite3_step(insert);
	sqlite3_reset(insert);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int put_boring_rules(sqlite3 *db)
{
	AUTO_FREE char *text = strdup(boring_rules);
	sqlite3_stmt *insert = NULL;
	char *line, *rest = text;
	int code;

	if (!text)
		return SQLITE_NOMEM;
	code = sqlite3_prepare_v2(db, "INSERT INTO boring VALUES (?, ?)", -1, &insert, NULL);
	while (code == SQLITE_OK && (line = strsep(&rest, "\n")) != NULL) {
		char *pattern = strpbrk(line, " \t");

		if (!pattern)
			continue;
		*pattern++ = '\0';
		code = put_boring(insert, line, pattern + strspn(pattern, " \t"));
	}
	sqlite3_finalize(insert);
	return code;
}

static int make(const char *path, sqlite3 **db)
{
	char version[64];
	int code = sqlite3_open(path, db);

	snprintf(version, sizeof(version), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
	if (code == SQLITE_OK)
		code = sqlite3_exec(*db, "BEGIN", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(*db, schema_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(*db, version, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = put_documentation(*db);
	if (code == SQLITE_OK)
		code = put_boring_rules(*db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(*db, "COMMIT", NULL, NULL, NULL);
	return code;
}

int main(int count, char **arguments)
{
	sqlite3 *db = NULL;
	int code;

	if (count != 2) {
		fprintf(stderr, "usage: blank_make FILE\n");
		return 2;
	}
	unlink(arguments[1]);
	code = make(arguments[1], &db);
	if (code != SQLITE_OK)
		fprintf(stderr, "blank_make: cannot make %s: %s\n", arguments[1],
			db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	sqlite3_close(db);
	return code != SQLITE_OK;
}
