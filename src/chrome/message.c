/* SPDX-License-Identifier: Apache-2.0 */
/* message.c: see message.h. */
#include "message.h"

#include <stdlib.h>
#include <string.h>

static bool at(const struct json_stream *s, unsigned depth, const char *const *keys)
{
	if (s->depth != depth)
		return false;
	for (unsigned i = 0; i < depth; i++)
		if (strcmp(s->keys[i], keys[i]) != 0)
			return false;
	return true;
}
#define AT(s, ...)                                                           \
	at(s, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
	   (const char *const[]){ __VA_ARGS__ })

static bool value(void *context, const struct json_stream *s, enum json_kind kind, const char *text,
		  size_t length)
{
	struct message *m = context;

#define TAKE(field) json_stream_copy(field, sizeof(field), text, length)
	if (AT(s, "params", "chunk"))
		return strcmp(m->method, "HeapProfiler.addHeapSnapshotChunk") != 0 ||
		       m->data(m->context, true, text, length);
	if (AT(s, "result", "data"))
		return kind != JSON_TEXT || m->data(m->context, false, text, length);
	if (AT(s, "id") && kind == JSON_NUMBER)
		m->id = json_stream_number(text, length);
	else if (AT(s, "method"))
		TAKE(m->method);
	else if (AT(s, "result", "sessionId"))
		TAKE(m->session);
	else if (AT(s, "params", "stream"))
		TAKE(m->stream);
	else if (AT(s, "result", "result", "value"))
		TAKE(m->text);
	else if (AT(s, "result", "success"))
		m->failed |= kind == JSON_FALSE;
	else if (AT(s, "result", "eof"))
		m->eof = kind == JSON_TRUE;
	else if (AT(s, "result", "base64Encoded"))
		m->encoded = kind == JSON_TRUE;
	else if (AT(s, "error", "message"))
		TAKE(m->error);
	else if (AT(s, "result", "targetInfos", "", "targetId"))
		TAKE(m->target.id);
	else if (AT(s, "result", "targetInfos", "", "type"))
		TAKE(m->target.type);
	else if (AT(s, "result", "targetInfos", "", "url"))
		TAKE(m->target.url);
#undef TAKE
	return true;
}

static bool open(void *context, const struct json_stream *s)
{
	struct message *m = context;

	if (AT(s, "error", ""))
		m->failed = true;
	else if (s->depth == 4 && !s->array[3] && strcmp(s->keys[0], "result") == 0 &&
		 strcmp(s->keys[1], "targetInfos") == 0)
		memset(&m->target, 0, sizeof(m->target));
	return true;
}

static bool close(void *context, const struct json_stream *s)
{
	struct message *m = context;

	if (s->depth == 4 && !s->array[3] && strcmp(s->keys[0], "result") == 0 &&
	    strcmp(s->keys[1], "targetInfos") == 0 && m->targets.count < MESSAGE_TARGETS)
		*vec_push(&m->targets) = m->target;
	return true;
}

void message_init(struct message *m, void *context,
		  bool (*data)(void *context, bool snapshot, const char *text, size_t length))
{
	struct json_sink sink = { .context = m, .value = value, .open = open, .close = close };

	memset(m, 0, sizeof(*m));
	m->context = context;
	m->data = data;
	json_stream_init(&m->json, &sink);
}

void message_deinit(struct message *m)
{
	json_stream_deinit(&m->json);
	free(m->targets.at);
}
