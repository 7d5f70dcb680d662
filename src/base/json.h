/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: writes indented JSON to a stream; a container can be written on one line.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one a writer.
 *
 * `key` is the member's name inside an object and NULL inside an array or at the top. Numbers are
 * written whole: a reader that keeps them as doubles loses digits beyond 2^53, so addresses are
 * written as text. Bytes that are not UTF-8 become U+FFFD. Errors stay in the stream: ask ferror()
 * once at the end.
 */
#ifndef SHINY_JSON_H
#define SHINY_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 64 };

struct json;

/* Is told of a document's parts while it is written (json_budget.h). */
struct json_watch {
	void (*list)(struct json *json, const char *key); /* json_array() has begun one */
	void (*value)(struct json *json);                 /* a value is about to begin */
	void (*ends)(struct json *json);                  /* the open container is about to end */
};

struct json {
	FILE *out;
	int depth;
	int line_from;            /* depth of the outermost container written on one line; 0:
	                           * none */
	bool any[JSON_DEPTH];     /* the container at this depth has a member already */
	char close[JSON_DEPTH];   /* the character that ends it */
	const struct json_watch *watch; /* NULL: none */
	struct json_budget *budget;     /* of the watch; NULL */
};

void json_init(struct json *json, FILE *out);
void json_object(struct json *json, const char *key);
void json_object_line(struct json *json, const char *key); /* it and all inside it on one line */
void json_array(struct json *json, const char *key); /* of rows, for json_budget.h */
void json_array_line(struct json *json, const char *key);
void json_end(struct json *json); /* ends the innermost container; the outermost one also ends the
                                   * line */
void json_text(struct json *json, const char *key, const char *value); /* NULL is written as null */
void json_number(struct json *json, const char *key, uint64_t value);
void json_number_or_null(struct json *json, const char *key, uint64_t value, bool known);
void json_signed(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value); /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
void json_raw(struct json *json, const char *key, const char *value); /* that is JSON */
void json_address(struct json *json, const char *key, uint64_t value); /* as text: "0x7f…" */

#endif
