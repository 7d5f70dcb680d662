/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h: makes the forms of a result from the description of its members (field.h).
 *
 * Runs: CLI. Signals: no. Allocates: cells of a table. Threads: any, one an answer.
 */
#ifndef SHINY_ANSWER_H
#define SHINY_ANSWER_H

#include <stdio.h>

#include "field.h"

struct answer {
	const struct field *fields;
	const void *result;
	size_t limit;	/* most rows of the lists that --limit is for */
	const char *match; /* only rows of those lists whose `name` matches, as by text_matches;
			    * NULL: all */
	const char *by; /* title of the column of the rows' names; NULL: the field has one */
	void *context;	/* for FIELD_KIND_PUT and `below` */
	/* Returns the text below a row of the table, and the caller frees it; NULL: none. */
	char *(*below)(const void *row, void *context);
};

/* Puts the members into the open object; an error comes from a FIELD_KIND_PUT. */
SHINY_MUST_CHECK struct shiny_err *answer_json(const struct answer *answer, struct json *json);

/* Puts one list, as a member with this name. `key`: of the list. */
SHINY_MUST_CHECK struct shiny_err *answer_json_list(const struct answer *answer, const char *key,
						    struct json *json, const char *name);

/* Prints a list as a table, without the columns that have no value in any row. */
void answer_table(const struct answer *answer, const char *key, const struct style *style);

/* Writes a list as comma-separated values (RFC 4180), the first line the keys. */
void answer_csv(const struct answer *answer, const char *key, FILE *out);

/* Returns where `shows` of a list names no field of its rows; NULL: nowhere. */
const char *answer_unknown_column(const struct field *list);

/* True if there is a list of this name. */
bool answer_has(const struct answer *answer, const char *key);

/* Returns the number of rows of a list that match, whatever the limit; 0: there is no such list. */
size_t answer_count(const struct answer *answer, const char *key);

#endif
