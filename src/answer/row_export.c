/* SPDX-License-Identifier: Apache-2.0 */
#include "row_export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void row_export_init(struct row_export *w, FILE *out, bool csv, const char *const *names,
		     size_t count)
{
	*w = (struct row_export){ .out = out, .csv = csv, .names = names, .count = count };
	for (size_t i = 0; csv && i < count; i++)
		fprintf(out, "%s%s", i ? "," : "", names[i]);
	if (csv)
		fputs("\r\n", out);
}

/* Begins a value; returns the column's name for JSON. */
static const char *begin_value(struct row_export *w)
{
	if (w->csv && w->column)
		putc_unlocked(',', w->out);
	if (!w->csv && !w->column) {
		json_init(&w->json, w->out);
		json_object_line(&w->json, NULL);
	}
	return w->names[w->column];
}

static void end_value(struct row_export *w)
{
	if (++w->column < w->count)
		return;
	w->column = 0;
	if (w->csv)
		fputs("\r\n", w->out);
	else
		json_end(&w->json);
}

static void put_quoted(FILE *out, const char *text)
{
	putc_unlocked('"', out);
	if (*text && strchr("=+-@", *text))
		putc_unlocked('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			putc_unlocked('"', out);
		putc_unlocked(*text, out);
	}
	putc_unlocked('"', out);
}

void row_export_text(struct row_export *w, const char *text)
{
	const char *name = begin_value(w);

	if (!w->csv)
		json_text(&w->json, name, text);
	else if (text)
		put_quoted(w->out, text);
	end_value(w);
}

void row_export_number(struct row_export *w, int64_t number)
{
	const char *name = begin_value(w);

	if (w->csv)
		fprintf(w->out, "%" PRId64, number);
	else
		json_signed(&w->json, name, number);
	end_value(w);
}

void row_export_real(struct row_export *w, const char *digits)
{
	const char *name = begin_value(w);

	if (w->csv)
		fputs(digits, w->out);
	else
		json_real(&w->json, name, strtod(digits, NULL));
	end_value(w);
}
