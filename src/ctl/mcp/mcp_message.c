/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 4096 };

static char *copy_text(const char *text, size_t length)
{
	char *copy = mem_alloc(length + 1);

	json_stream_copy(copy, length + 1, text, length);
	return copy;
}

/* Sets a text; the last one counts. */
static void set(char **member, enum json_kind kind, const char *text, size_t length)
{
	free(*member);
	*member = kind == JSON_TEXT ? copy_text(text, length) : NULL;
}

static void set_id(struct mcp_id *id, enum json_kind kind, const char *text, size_t length)
{
	char *end;

	free(id->text);
	*id = (struct mcp_id){ .kind = MCP_ID_WRONG, .text = copy_text(text, length) };
	errno = 0;
	id->number = strtoll(id->text, &end, 10);
	if (kind == JSON_NUMBER && !*end && !errno)
		id->kind = MCP_ID_NUMBER;
	if (kind == JSON_TEXT)
		id->kind = MCP_ID_TEXT;
}

/* True if the value is the member `key` of the object at this depth. */
static bool is_at(const struct json_stream *s, unsigned depth, const char *key)
{
	return s->depth >= depth && !s->array[depth - 1] && strcmp(s->keys[depth - 1], key) == 0;
}

static void take_argument(struct mcp_message *m, const struct json_stream *s, enum json_kind kind,
			  const char *text, size_t length)
{
	if (s->depth > 4 || (s->depth == 4 && !s->array[3]))
		m->wrong = "a value is neither a word, a number, true or false, nor a list of them";
	else if (memchr(text, 0, length))
		m->wrong = "a text has a zero byte";
	else if (m->arguments.count == ARGUMENTS)
		m->wrong = "there are too many values";
	else
		*vec_push(&m->arguments) = (struct mcp_argument){ mem_text(s->keys[2]), kind,
								  copy_text(text, length) };
}

static bool on_value(void *context, const struct json_stream *s, enum json_kind kind,
		     const char *text, size_t length)
{
	struct mcp_message *m = context;

	if (!m->is_object)
		return true;
	if (s->depth == 1 && is_at(s, 1, "id"))
		set_id(&m->id, kind, text, length);
	else if (s->depth == 1 && is_at(s, 1, "jsonrpc"))
		m->is_rpc = kind == JSON_TEXT && json_stream_is(text, length, "2.0");
	else if (s->depth == 1 && is_at(s, 1, "method"))
		set(&m->method, kind, text, length);
	else if (is_at(s, 1, "result") || is_at(s, 1, "error"))
		m->is_reply = true;
	else if (!is_at(s, 1, "params"))
		return true;
	else if (s->depth == 2 && is_at(s, 2, "name"))
		set(&m->tool, kind, text, length);
	else if (s->depth == 2 && is_at(s, 2, "requestId"))
		set_id(&m->request, kind, text, length);
	else if ((s->depth == 2 && is_at(s, 2, "protocolVersion")) ||
		 (s->depth == 3 && is_at(s, 2, "_meta") &&
		  is_at(s, 3, "io.modelcontextprotocol/protocolVersion")))
		set(&m->protocol, kind, text, length);
	else if (s->depth == 2 && is_at(s, 2, "arguments"))
		m->wrong = "they are no object";
	else if (s->depth > 2 && is_at(s, 2, "arguments") && s->array[2])
		m->wrong = "they are no object";
	else if (s->depth > 2 && is_at(s, 2, "arguments"))
		take_argument(m, s, kind, text, length);
	return true;
}

static bool on_open(void *context, const struct json_stream *s)
{
	struct mcp_message *m = context;

	if (s->depth == 1)
		m->is_object = !s->array[0];
	else if (s->depth == 2 && is_at(s, 1, "id"))
		set_id(&m->id, JSON_NULL, "", 0);
	else if (is_at(s, 1, "result") || is_at(s, 1, "error"))
		m->is_reply = true;
	return true;
}

bool mcp_message_read(const char *line, size_t bytes, struct mcp_message *out)
{
	const struct json_sink sink = { .context = out, .value = on_value, .open = on_open };
	struct json_stream *stream = mem_alloc(sizeof(*stream));
	struct shiny_err *err;

	*out = (struct mcp_message){ 0 };
	json_stream_init(stream, &sink);
	json_stream_feed(stream, line, bytes);
	err = json_stream_end(stream, "the message");
	json_stream_deinit(stream);
	free(stream);
	shiny_err_free(err);
	return !err;
}

void mcp_message_free(struct mcp_message *m)
{
	for (size_t i = 0; i < m->arguments.count; i++) {
		free(m->arguments.at[i].name);
		free(m->arguments.at[i].text);
	}
	free(m->arguments.at);
	free(m->id.text);
	free(m->request.text);
	free(m->method);
	free(m->protocol);
	free(m->tool);
}

bool mcp_message_same_id(const struct mcp_id *a, const struct mcp_id *b)
{
	return a->kind == b->kind && (a->kind == MCP_ID_NUMBER ? a->number == b->number
				      : a->kind == MCP_ID_TEXT ? !strcmp(a->text, b->text)
							       : false);
}
