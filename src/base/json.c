/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c: see json.h. A page's data are ten million numbers (src/view/page.h): so a number is put
 * without printf, and no character locks the stream, which is one thread's.
 */
#define _GNU_SOURCE
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

void json_init(struct json *json, FILE *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

static void put_string(FILE *out, const char *s)
{
	putc_unlocked('"', out);
	while (*s) {
		uint32_t point;
		size_t bytes = text_decode(s, &point);

		if (point == '"' || point == '\\')
			fprintf(out, "\\%c", (char)point);
		else if (point == '\n')
			fputs_unlocked("\\n", out);
		else if (point == '\t')
			fputs_unlocked("\\t", out);
		else if (point < 0x10000 && text_stand_in(point))
			fprintf(out, "\\u%04x", point);
		else if (text_stand_in(point))
			fputs_unlocked("\\ufffd", out);
		else
			fwrite_unlocked(s, 1, bytes, out);
		s += bytes;
	}
	putc_unlocked('"', out);
}

static void break_line(struct json *json, int depth)
{
	putc_unlocked('\n', json->out);
	for (int i = 0; i < depth; i++)
		fputs_unlocked("  ", json->out);
}

/* Everything that stands before a value: the comma, the line break, the key. */
static void lead(struct json *json, const char *key)
{
	if (json->watch)
		json->watch->value(json);
	if (json->depth > 0) {
		if (json->any[json->depth])
			putc_unlocked(',', json->out);
		if (!json->line_from)
			break_line(json, json->depth);
		else if (json->any[json->depth])
			putc_unlocked(' ', json->out);
		json->any[json->depth] = true;
	}
	if (key) {
		put_string(json->out, key);
		fputs_unlocked(": ", json->out);
	}
}

static void open_container(struct json *json, const char *key, const char *brackets, bool line)
{
	lead(json, key);
	putc_unlocked(brackets[0], json->out);
	if (json->depth + 1 < JSON_DEPTH)
		json->depth++;
	json->any[json->depth] = false;
	json->close[json->depth] = brackets[1];
	if (line && !json->line_from)
		json->line_from = json->depth;
}

void json_object(struct json *json, const char *key)
{
	open_container(json, key, "{}", false);
}

void json_object_line(struct json *json, const char *key)
{
	open_container(json, key, "{}", true);
}

void json_array(struct json *json, const char *key)
{
	open_container(json, key, "[]", false);
	if (json->watch)
		json->watch->list(json, key);
}

void json_array_line(struct json *json, const char *key)
{
	open_container(json, key, "[]", true);
}

void json_end(struct json *json)
{
	bool any;

	if (json->watch)
		json->watch->ends(json);
	any = json->any[json->depth];
	if (any && !json->line_from)
		break_line(json, json->depth - 1);
	putc_unlocked(json->close[json->depth], json->out);
	if (json->line_from == json->depth)
		json->line_from = 0;
	json->depth--;
	if (json->depth == 0)
		putc_unlocked('\n', json->out);
}

void json_text(struct json *json, const char *key, const char *value)
{
	lead(json, key);
	if (value)
		put_string(json->out, value);
	else
		fputs_unlocked("null", json->out);
}

static void put_digits(FILE *out, uint64_t value)
{
	char digits[20]; /* of 2^64 - 1 */
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	for (; at < sizeof(digits); at++)
		putc_unlocked(digits[at], out);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	lead(json, key);
	put_digits(json->out, value);
}

void json_number_or_null(struct json *json, const char *key, uint64_t value, bool known)
{
	if (known)
		json_number(json, key, value);
	else
		json_null(json, key);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
	lead(json, key);
	if (value < 0)
		putc_unlocked('-', json->out);
	put_digits(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_real(struct json *json, const char *key, double value)
{
	lead(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.6g", value);
	else
		fputs_unlocked("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
	lead(json, key);
	fputs_unlocked(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
	lead(json, key);
	fputs_unlocked("null", json->out);
}

void json_raw(struct json *json, const char *key, const char *value)
{
	lead(json, key);
	fputs_unlocked(value, json->out);
}

void json_address(struct json *json, const char *key, uint64_t value)
{
	lead(json, key);
	fprintf(json->out, "\"0x%" PRIx64 "\"", value);
}
