/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_export.h: rows as comma-separated values (RFC 4180) or as JSON lines.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one a writer.
 *
 * In CSV, NULL is an empty field, and texts are quoted. Spreadsheets still take a text that begins
 * with =, +, - or @ for a formula, so it gets an apostrophe in front. Write errors stay in the
 * stream.
 */
#ifndef SHINY_ROW_EXPORT_H
#define SHINY_ROW_EXPORT_H

#include "../base/json.h"

struct row_export {
	struct json json; /* for JSON lines */
	FILE *out;
	bool csv;
	const char *const *names; /* of the columns; the caller owns them */
	size_t count, column;     /* column: index of the next value's */
};

/* Begins the rows; CSV begins with the columns' names. */
void row_export_init(struct row_export *writer, FILE *out, bool csv, const char *const *names,
		     size_t count);
/* Puts the next value of a row; the last one ends the row. */
void row_export_text(struct row_export *writer, const char *text); /* NULL: null */
void row_export_number(struct row_export *writer, int64_t number);
void row_export_real(struct row_export *writer, const char *digits);

#endif
