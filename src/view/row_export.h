/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_export.h: rows as comma-separated values (RFC 4180) or as JSON lines.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one a writer.
 *
 * In CSV, NULL is an empty field, and each text stands in quotation marks: spreadsheets still take
 * a text that begins with = for a formula, so that such a one, as well as one with +, - or @ in
 * front, has an apostrophe before it. Errors of the stream stay in it.
 */
#ifndef SHINY_ROW_EXPORT_H
#define SHINY_ROW_EXPORT_H

#include "../base/json.h"

struct row_export {
	struct json json; /* of a row, in JSON lines */
	FILE *out;
	bool csv;
	const char *const *names; /* of the columns; the caller's */
	size_t count, column;     /* column: the next one of the row */
};

/* CSV begins with the columns' names. */
void row_export_init(struct row_export *writer, FILE *out, bool csv, const char *const *names,
		     size_t count);
/* The next value of a row; the last one ends it. */
void row_export_text(struct row_export *writer, const char *text); /* NULL: null */
void row_export_number(struct row_export *writer, int64_t number);
void row_export_real(struct row_export *writer, const char *digits);

#endif
