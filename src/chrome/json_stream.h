/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_stream.h: parses JSON in pieces and reports value by value; it holds only the keys that lead
 * to the current value.
 *
 * Runs: CLI. Signals: no. Allocates: the parser's state; of the text twice the longest single
 * string, up to JSON_STREAM_TEXT.
 * Threads: one a stream.
 *
 * yajl parses; this module adds bounds. yajl joins a string or a number that spans pieces in
 * memory, and its stack of open containers grows. So JSON_STREAM_TEXT bytes without a value, or
 * more than JSON_STREAM_DEPTH open containers, end the stream with an error. With each piece yajl
 * reads such a string again from its beginning; so a piece waits until the new bytes are as many as
 * those to be read again, and a string of n bytes costs 3 n reads at most, however small the pieces
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
/* Each function may be NULL. Returning false ends the stream: the document is not the expected
 * one. */
struct json_sink {
	void *context;
	bool (*value)(void *context, const struct json_stream *stream, enum json_kind kind,
		      const char *text, size_t length);
	/* stream->depth includes the opened container */
	bool (*open)(void *context, const struct json_stream *stream);
	bool (*close)(void *context, const struct json_stream *stream); /* and still does */
};

struct json_stream {
	unsigned depth;                                     /* open containers */
	char keys[JSON_STREAM_DEPTH][JSON_STREAM_KEY];      /* the current member's name in the n-th
	                                                     * container, cut; "" in an array */
	bool array[JSON_STREAM_DEPTH];
	struct json_sink sink;
	void *parser;
	size_t silent;                                      /* bytes in the parser since the last
	                                                     * value */
	VEC(char) held;                                     /* pieces that wait */
	uint64_t told, reads;                               /* callbacks of yajl; bytes it read,
	                                                     * those read again included */
	const char *why;                                    /* the error that ended it; NULL none */
};

void json_stream_init(struct json_stream *stream, const struct json_sink *sink);
/* Takes the next piece; false: the stream has failed, now or before. */
bool json_stream_feed(struct json_stream *stream, const char *text, size_t length);
/* Ends the input; the error says what is wrong with it ("it is cut off"). */
SHINY_MUST_CHECK struct shiny_err *json_stream_end(struct json_stream *stream, const char *what);
void json_stream_deinit(struct json_stream *stream);

/* Returns a number's value: of unsigned whole numbers; of others the whole part. */
uint64_t json_stream_number(const char *text, size_t length);
bool json_stream_is(const char *text, size_t length, const char *what);
/* Copies `text` as a C string, cut at the room's end. */
void json_stream_copy(char *out, size_t room, const char *text, size_t length);

#endif
