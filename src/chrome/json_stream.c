/* SPDX-License-Identifier: Apache-2.0 */
/* json_stream.c: see json_stream.h. */
#include "json_stream.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "../base/mem.h"

enum { SLICE = 1 << 18 };

static int fail(struct json_stream *s, const char *why)
{
	if (!s->why)
		s->why = why;
	return 0;
}

static int tell(struct json_stream *s, enum json_kind kind, const char *text, size_t length)
{
	s->told++;
	return !s->sink.value || s->sink.value(s->sink.context, s, kind, text, length)
		       ? 1
		       : fail(s, "it is not what was expected");
}

static int on_null(void *s)
{
	return tell(s, JSON_NULL, "", 0);
}

static int on_boolean(void *s, int value)
{
	return tell(s, value ? JSON_TRUE : JSON_FALSE, "", 0);
}

static int on_number(void *s, const char *text, size_t length)
{
	return tell(s, JSON_NUMBER, text, length);
}

static int on_string(void *s, const unsigned char *text, size_t length)
{
	return tell(s, JSON_TEXT, (const char *)text, length);
}

static int on_open(struct json_stream *s, bool array)
{
	if (s->depth == JSON_STREAM_DEPTH)
		return fail(s, "it is nested too deeply");
	s->told++;
	s->keys[s->depth][0] = 0;
	s->array[s->depth++] = array;
	return !s->sink.open || s->sink.open(s->sink.context, s)
		       ? 1
		       : fail(s, "it is not what was expected");
}

static int on_close(void *context)
{
	struct json_stream *s = context;

	s->told++;
	if (s->sink.close && !s->sink.close(s->sink.context, s))
		return fail(s, "it is not what was expected");
	s->depth--;
	return 1;
}

static int on_open_object(void *s)
{
	return on_open(s, false);
}

static int on_open_array(void *s)
{
	return on_open(s, true);
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
	struct json_stream *s = context;

	s->told++;
	json_stream_copy(s->keys[s->depth - 1], JSON_STREAM_KEY, (const char *)text, length);
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_open_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_close,
	.yajl_start_array = on_open_array,
	.yajl_end_array = on_close,
};

void json_stream_init(struct json_stream *s, const struct json_sink *sink)
{
	s->depth = 0;
	s->sink = *sink;
	s->silent = 0;
	s->told = s->reads = 0;
	memset(&s->held, 0, sizeof(s->held));
	s->why = NULL;
	s->parser = yajl_alloc(&callbacks, NULL, s);
	if (!s->parser)
		abort(); /* out of memory, as in mem.h */
	/* a lone surrogate in a script's string is no reason to stop */
	yajl_config(s->parser, yajl_dont_validate_strings, 1);
}

static void parse(struct json_stream *s, const char *text, size_t length)
{
	uint64_t told = s->told;

	if (yajl_parse(s->parser, (const unsigned char *)text, length) != yajl_status_ok)
		fail(s, "it is no JSON");
	s->reads += s->silent + length;
	s->silent = s->told == told ? s->silent + length : 0;
	if (s->silent > JSON_STREAM_TEXT)
		fail(s, "it holds a text that is too long");
}

static void parse_held(struct json_stream *s)
{
	if (s->held.count)
		parse(s, s->held.at, s->held.count);
	s->held.count = 0;
}

/* Appends `text` to the waiting pieces. */
static void hold(struct json_stream *s, const char *text, size_t length)
{
	s->held.at = mem_reach(s->held.at, &s->held.room, s->held.count + length, 1, SLICE);
	memcpy(s->held.at + s->held.count, text, length);
	s->held.count += length;
}

bool json_stream_feed(struct json_stream *s, const char *text, size_t length)
{
	while (length && !s->why) {
		size_t n = length < SLICE ? length : SLICE;

		if (!s->held.count && n >= s->silent) {
			parse(s, text, n);
		} else {
			hold(s, text, n);
			if (s->held.count >= s->silent ||
			    s->silent + s->held.count > JSON_STREAM_TEXT)
				parse_held(s);
		}
		text += n;
		length -= n;
	}
	return !s->why;
}

struct shiny_err *json_stream_end(struct json_stream *s, const char *what)
{
	if (!s->why)
		parse_held(s);
	if (!s->why && (!s->told || yajl_complete_parse(s->parser) != yajl_status_ok))
		fail(s, "it is cut off");
	return s->why ? shiny_err(SHINY_ERR_OTHER, "%s cannot be read: %s", what, s->why) : NULL;
}

void json_stream_deinit(struct json_stream *s)
{
	if (s->parser)
		yajl_free(s->parser);
	s->parser = NULL;
	free(s->held.at);
	memset(&s->held, 0, sizeof(s->held));
}

uint64_t json_stream_number(const char *text, size_t length)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	return value;
}

bool json_stream_is(const char *text, size_t length, const char *what)
{
	return strlen(what) == length && memcmp(text, what, length) == 0;
}

void json_stream_copy(char *out, size_t room, const char *text, size_t length)
{
	size_t n = length < room - 1 ? length : room - 1;

	if (n)
		memcpy(out, text, n);
	out[n] = 0;
}
