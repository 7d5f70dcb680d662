/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_stream.h: parses JSON in pieces and hands on value by value; it keeps only the keys that
 * lead to the current value.
 *
 * Runs: CLI. Signals: no. Allocates: the parser's state; of the text twice the longest single
 * string, up to JSON_STREAM_TEXT.
 * Threads: one a stream.
 *
 * yajl parses; this module adds bounds. yajl joins a string or a number that spans pieces in
 * memory, and its stack of open containers grows. So JSON_STREAM_TEXT bytes without a value, or
 * more than JSON_STREAM_DEPTH open containers, end the stream with an error. With each piece it
 * reads such a string again from its beginning; so a piece waits until there is as much new as
 * there is to read again, and a string of n bytes costs 3 n reads at most, however small the pieces
 * are.
 */
#ifndef SHINY_JSON_STREAM_H
#define SHINY_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "../base/mem.h"

enum { JSON_STREAM_DEPTH = 32, JSON_STREAM_KEY = 2048, JSON_STREAM_TEXT = 16 << 20 };

enum json_kind { JSON_TEXT, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL };

struct json_stream;
/* Each may be NULL. Returning false ends the stream: the document is not the expected one. */
struct json_sink {
	void *context;
	bool (*value)(void *context, const struct json_stream *stream, enum json_kind kind,
		      const char *text, size_t length);
	/* the container is the innermost one already */
	bool (*open)(void *context, const struct json_stream *stream);
	bool (*close)(void *context, const struct json_stream *stream); /* still is */
};

struct json_stream {
	unsigned depth;                                     /* open containers */
	char keys[JSON_STREAM_DEPTH][JSON_STREAM_KEY];      /* where in the n-th container we are:
	                                                     * the member's name, cut; "" in an
	                                                     * array */
	bool array[JSON_STREAM_DEPTH];
	struct json_sink sink;
	void *parser;
	size_t silent;                                      /* bytes in the parser since the last
	                                                     * value */
	VEC(char) held;                                     /* what waits */
	uint64_t told, reads;                               /* bytes read, anew ones included */
	const char *why;                                    /* it ended with an error */
};

void json_stream_init(struct json_stream *stream, const struct json_sink *sink);
/* The next piece; false: it has failed, then or before. */
bool json_stream_feed(struct json_stream *stream, const char *text, size_t length);
/* The end of the input; the error says what is wrong with it ("it is cut off"). */
SHINY_MUST_CHECK struct shiny_err *json_stream_end(struct json_stream *stream, const char *what);
void json_stream_deinit(struct json_stream *stream);

/* A value's number: whole ones without sign, the whole part of others. */
uint64_t json_stream_number(const char *text, size_t length);
bool json_stream_is(const char *text, size_t length, const char *what);
/* Copies; cuts at an embedded NUL and at the room's end. */
void json_stream_copy(char *out, size_t room, const char *text, size_t length);

#endif
