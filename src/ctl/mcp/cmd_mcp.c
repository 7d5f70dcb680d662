/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_mcp.c: `shinyctl mcp`: a server of the Model Context Protocol over standard input and output,
 * a message a line.
 *
 * It keeps no state between messages, so it serves the versions that begin with `initialize` and
 * those that send the version with each request alike. One call runs at a time. Meanwhile the
 * server reads on, so that the call can be cancelled; other messages wait for its end.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../help/help_text.h"
#include "../verb_body.h"
#include "mcp_child.h"
#include "mcp_tools.h"

enum { LINE = 1 << 20, TTL_MS = 3600000 };
enum { /* of JSON-RPC; the last one is the protocol's */
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
	UNSUPPORTED_VERSION = -32022,
};

/* The newest is last; those before STATELESS begin with `initialize`. */
static const char *const versions[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
					"2026-07-28" };
enum { VERSIONS = sizeof(versions) / sizeof(*versions), STATELESS = VERSIONS - 1 };

struct server {
	FILE *out;
	char *input; /* LINE bytes and a zero */
	size_t bytes, seen; /* seen: looked through for what cancels a call */
	bool ended, too_long;
	const struct mcp_id *running; /* the request whose call runs; NULL: none */
};

/* ---- answers ---- */

/* Begins an answer; `json` is open in its result, or its error. */
static void answer_begin(struct server *s, struct json *json, const struct mcp_id *id,
			 const char *member)
{
	json_init(json, s->out);
	json_object_line(json, NULL);
	json_text(json, "jsonrpc", "2.0");
	if (id && id->kind == MCP_ID_NUMBER)
		json_signed(json, "id", id->number);
	else if (id && id->kind == MCP_ID_TEXT)
		json_text(json, "id", id->text);
	json_object(json, member);
	if (strcmp(member, "result") == 0)
		json_text(json, "resultType", "complete");
}

static void answer_end(struct server *s, struct json *json)
{
	json_end(json);
	json_end(json);
	fflush(s->out);
}

static void refuse(struct server *s, const struct mcp_id *id, int code, const char *why)
{
	struct json json;

	answer_begin(s, &json, id, "error");
	json_signed(&json, "code", code);
	json_text(&json, "message", why);
	answer_end(s, &json);
}

static void put_versions(struct json *json, const char *key)
{
	json_array(json, key);
	for (size_t i = 0; i < VERSIONS; i++)
		json_text(json, NULL, versions[i]);
	json_end(json);
}

static void refuse_version(struct server *s, const struct mcp_message *m)
{
	struct json json;

	answer_begin(s, &json, &m->id, "error");
	json_signed(&json, "code", UNSUPPORTED_VERSION);
	json_text(&json, "message", "this version of the protocol is not supported");
	json_object(&json, "data");
	put_versions(&json, "supported");
	json_text(&json, "requested", m->protocol);
	json_end(&json);
	answer_end(s, &json);
}

/* Puts the paragraphs with which the guide for agents begins. */
static void put_instructions(struct json *json)
{
	struct help_section guide;
	struct help_part part;
	char *text;
	size_t bytes;
	FILE *out = mem_stream_open(&text, &bytes);

	help_section(help_text("topics", "agent"), "DESCRIPTION", &guide);
	while (help_next(&guide, &part) && part.kind == HELP_PARAGRAPH)
		fprintf(out, "%s%.*s", ftell(out) ? "\n" : "", (int)part.text_bytes, part.text);
	mem_stream_close(out);
	json_text(json, "instructions", text);
	free(text);
}

static void put_server(struct json *json)
{
	json_object(json, "capabilities");
	json_object(json, "tools");
	json_end(json);
	json_end(json);
	json_object(json, "serverInfo");
	json_text(json, "name", "shiny");
	json_text(json, "version", SHINY_VERSION_TEXT);
	json_end(json);
	put_instructions(json);
}

/* Says how long the answer holds. */
static void put_cache(struct json *json)
{
	json_number(json, "ttlMs", TTL_MS);
	json_text(json, "cacheScope", "private");
}

static bool is_version(const char *version, size_t below)
{
	for (size_t i = 0; version && i < below; i++)
		if (strcmp(version, versions[i]) == 0)
			return true;
	return false;
}

static void on_initialize(struct server *s, const struct mcp_message *m)
{
	struct json json;

	answer_begin(s, &json, &m->id, "result");
	json_text(&json, "protocolVersion",
		  is_version(m->protocol, STATELESS) ? m->protocol : versions[STATELESS - 1]);
	put_server(&json);
	answer_end(s, &json);
}

static void on_discover(struct server *s, const struct mcp_message *m)
{
	struct json json;

	answer_begin(s, &json, &m->id, "result");
	put_versions(&json, "supportedVersions");
	put_server(&json);
	put_cache(&json);
	answer_end(s, &json);
}

static void on_ping(struct server *s, const struct mcp_message *m)
{
	struct json json;

	answer_begin(s, &json, &m->id, "result");
	answer_end(s, &json);
}

static void on_list(struct server *s, const struct mcp_message *m)
{
	struct json json;

	answer_begin(s, &json, &m->id, "result");
	mcp_tools_put(&json);
	put_cache(&json);
	answer_end(s, &json);
}

/* ---- calls ---- */

/* Puts a document on one line: its line ends stand between its values only. */
static void fold(char *document)
{
	char *to = document;

	for (const char *at = document; *at;) {
		bool ends = *at == '\n';

		if (!ends)
			*to++ = *at;
		at++;
		if (ends)
			at += strspn(at, " ");
	}
	*to = 0;
}

static void put_outcome(struct server *s, const struct mcp_message *m, const char *document,
			const char *error)
{
	struct json json;

	answer_begin(s, &json, &m->id, "result");
	json_array(&json, "content");
	json_object(&json, NULL);
	json_text(&json, "type", "text");
	json_text(&json, "text", error ? error : document);
	json_end(&json);
	json_end(&json);
	if (!error)
		json_raw(&json, "structuredContent", document);
	json_bool(&json, "isError", error);
	answer_end(s, &json);
}

static bool wait_for(void *context, int fd);

static void on_call(struct server *s, const struct mcp_message *m)
{
	enum verb_id verb = m->tool ? mcp_tools_find(m->tool) : VERB_COUNT;
	struct mcp_child child = { 0 };
	struct shiny_err *err;
	char **words;

	if (verb == VERB_COUNT) {
		refuse(s, &m->id, INVALID_PARAMS, "there is no such tool");
		return;
	}
	err = mcp_tools_command(verb, m, &words);
	s->running = &m->id;
	if (!err)
		err = mcp_child_run(words, wait_for, s, &child);
	s->running = NULL;
	if (child.out)
		fold(child.out);
	if (!child.ended_early)
		put_outcome(s, m, child.out,
			    err			  ? err->message
			    : !child.failed	  ? NULL
			    : *child.out == '{' ? NULL
						  : child.err);
	shiny_err_free(err);
	free(child.out);
	mcp_tools_free(words);
}

/* ---- messages ---- */

static const struct method {
	const char *name;
	void (*run)(struct server *s, const struct mcp_message *m);
} methods[] = {
	{ "initialize", on_initialize }, { "server/discover", on_discover }, { "ping", on_ping },
	{ "tools/list", on_list },	 { "tools/call", on_call },
};

static void on_request(struct server *s, const struct mcp_message *m)
{
	bool first = strcmp(m->method, "initialize") == 0;

	if (!first && m->protocol && !is_version(m->protocol, VERSIONS)) {
		refuse_version(s, m);
		return;
	}
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (strcmp(m->method, methods[i].name) == 0) {
			methods[i].run(s, m);
			return;
		}
	refuse(s, &m->id, METHOD_NOT_FOUND, "there is no such method");
}

static void on_line(struct server *s, const char *line, size_t bytes)
{
	struct mcp_message m;

	if (!mcp_message_read(line, bytes, &m))
		refuse(s, NULL, PARSE_ERROR, "the line is no JSON");
	else if (!m.is_object)
		refuse(s, NULL, INVALID_REQUEST, "a line is one message; a batch is none");
	else if (m.id.kind == MCP_ID_WRONG)
		refuse(s, NULL, INVALID_REQUEST, "an id is a whole number or a text");
	else if (!m.is_rpc || (!m.method && !m.is_reply))
		refuse(s, &m.id, INVALID_REQUEST, "it is no message of JSON-RPC 2.0");
	else if (m.method && m.id.kind != MCP_ID_NONE)
		on_request(s, &m);
	mcp_message_free(&m);
}

/* ---- input ---- */

/* Reads on. A line that is too long is dropped up to its end, and `too_long` says so. */
static void read_on(struct server *s)
{
	ssize_t n;

	if (s->bytes == LINE) {
		s->too_long = true;
		s->bytes = s->seen = 0;
	}
	n = read(STDIN_FILENO, s->input + s->bytes, LINE - s->bytes);
	if (n > 0)
		s->bytes += (size_t)n;
	else if (n == 0 || errno != EINTR)
		s->ended = true;
}

/* True if a line that has arrived since cancels the call that runs. */
static bool is_cancelled(struct server *s)
{
	bool cancelled = false;
	char *end;

	while ((end = memchr(s->input + s->seen, '\n', s->bytes - s->seen))) {
		struct mcp_message m;
		const char *line = s->input + s->seen;

		cancelled |= mcp_message_read(line, (size_t)(end - line), &m) && m.method &&
			     strcmp(m.method, "notifications/cancelled") == 0 &&
			     mcp_message_same_id(&m.request, s->running);
		mcp_message_free(&m);
		s->seen = (size_t)(end + 1 - s->input);
	}
	return cancelled;
}

/* Waits until the child's output can be read. False: its call is cancelled. */
static bool wait_for(void *context, int fd)
{
	struct server *s = context;
	struct pollfd waits[] = { { .fd = fd, .events = POLLIN },
				  { .fd = STDIN_FILENO, .events = POLLIN } };

	do {
		waits[1].fd = s->ended || s->bytes == LINE ? -1 : STDIN_FILENO;
		waits[1].revents = 0;
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return true;
		if (waits[1].revents)
			read_on(s);
		if (is_cancelled(s))
			return false;
	} while (!waits[0].revents);
	return true;
}

static struct shiny_err *cmd_mcp(struct ctl *ctl)
{
	AUTO_FREE char *input = mem_alloc(LINE + 1);
	struct server s = { .out = ctl->style.out, .input = input };

	while (!s.ended) {
		char *end;

		read_on(&s);
		while ((end = memchr(s.input, '\n', s.bytes))) {
			size_t length = (size_t)(end - s.input);
			AUTO_FREE char *line = mem_alloc(length + 1);

			memcpy(line, s.input, length);
			s.bytes -= length + 1;
			s.seen = s.seen > length ? s.seen - length - 1 : 0;
			memmove(s.input, end + 1, s.bytes);
			if (s.too_long)
				refuse(&s, NULL, INVALID_REQUEST, "the line is too long");
			else
				on_line(&s, line, length);
			s.too_long = false;
		}
	}
	return NULL;
}

const struct verb_body verb_mcp = { .run = cmd_mcp };
