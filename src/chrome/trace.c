/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: see trace.h. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_PARTS = 4 };

/* Returns the depth of the array of events, {"traceEvents":[…]} or the array alone; -1: we are
 * outside of it. */
static int events_level(const struct json_stream *s)
{
	if (s->depth && s->array[0])
		return 0;
	return s->depth > 1 && s->array[1] && strcmp(s->keys[0], "traceEvents") == 0 ? 1 : -1;
}

/* True if we are at exactly these keys inside of an event; NULL is any key. */
static bool at(const struct json_stream *s, unsigned depth, const char *const *keys)
{
	int events = events_level(s);
	unsigned base = (unsigned)(events + 1);

	if (events < 0 || s->depth != base + depth)
		return false;
	for (unsigned i = 0; i < depth; i++)
		if (keys[i] && strcmp(s->keys[base + i], keys[i]) != 0)
			return false;
	return true;
}
#define AT(s, ...)                                                           \
	at(s, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
	   (const char *const[]){ __VA_ARGS__ })

static uint64_t hexadecimal(const char *text, size_t length)
{
	char copy[24];

	json_stream_copy(copy, sizeof(copy), text, length);
	return strtoull(copy, NULL, 16);
}

static bool wanted(const char *name)
{
	unsigned parts = 1;

	for (const char *p = name; *p; p++)
		parts += *p == '/';
	return parts <= NAME_PARTS && !strstr(name, "/__") &&
	       strncmp(name, "shared_memory/", 14) != 0;
}

static struct trace_process *process_of(struct trace *t, uint32_t pid)
{
	struct trace_process *p;

	for (size_t i = 0; i < t->processes.count; i++)
		if (t->processes.at[i].pid == pid)
			return &t->processes.at[i];
	if (t->processes.count == TRACE_PROCESSES)
		return NULL;
	p = vec_push(&t->processes);
	*p = (struct trace_process){ .pid = pid };
	return p;
}

static void take_attribute(struct trace *t, const struct json_stream *s, const char *text,
			   size_t length)
{
	const char *attribute = s->keys[s->depth - 2];
	uint64_t value = hexadecimal(text, length);

	if (strcmp(attribute, "size") == 0)
		t->event.row.bytes = value;
	else if (strcmp(attribute, "effective_size") == 0)
		t->event.row.effective = value;
	else if (strcmp(attribute, "object_count") == 0)
		t->event.row.count = value;
}

static bool value(void *context, const struct json_stream *s, enum json_kind kind, const char *text,
		  size_t length)
{
	struct trace *t = context;

	if (kind == JSON_NUMBER) {
		if (AT(s, "pid"))
			t->event.pid = (uint32_t)json_stream_number(text, length);
		else if (AT(s, "ts"))
			t->event.time = json_stream_number(text, length);
		else if (AT(s, "dur"))
			t->event.duration = json_stream_number(text, length);
		else if (AT(s, "args", "data", "frames", NULL, "processId"))
			t->frame_process = (uint32_t)json_stream_number(text, length);
	} else if (kind == JSON_TEXT) {
		if (AT(s, "ph"))
			t->event.phase = length == 1 ? *text : 0;
		else if (AT(s, "name"))
			json_stream_copy(t->event.name, sizeof(t->event.name), text, length);
		else if (AT(s, "args", "name"))
			json_stream_copy(t->event.label, sizeof(t->event.label), text, length);
		else if (AT(s, "args", "memory_dump_provider", "name"))
			json_stream_copy(t->event.provider, sizeof(t->event.provider), text,
					 length);
		else if (AT(s, "args", "dumps", "allocators", NULL, "attrs", NULL, "value"))
			take_attribute(t, s, text, length);
		else if (AT(s, "args", "data", "frames", NULL, "frame"))
			t->frame_here = t->frame && json_stream_is(text, length, t->frame);
	}
	return true;
}

static bool open(void *context, const struct json_stream *s)
{
	struct trace *t = context;

	if (AT(s, NULL) && !s->array[s->depth - 1] && events_level(s) >= 0) {
		/* an event begins: it reuses the memory of the last one's rows */
		size_t room = t->event.rows.room;
		struct count_row *rows = t->event.rows.at;

		memset(&t->event, 0, sizeof(t->event));
		t->event.rows.at = rows;
		t->event.rows.room = room;
	} else if (AT(s, "args", "dumps", "allocators", NULL, NULL)) {
		memset(&t->event.row, 0, sizeof(t->event.row));
	} else if (AT(s, "args", "data", "frames", NULL, NULL)) {
		t->frame_here = false;
		t->frame_process = 0;
	}
	return true;
}

static void end_event(struct trace *t)
{
	struct trace_process *p;

	if (t->event.phase == 'X' && strcmp(t->event.provider, "Malloc") == 0) {
		p = process_of(t, t->event.pid);
		if (p)
			p->malloc_ns = (t->event.time + t->event.duration) * 1000;
	} else if (t->event.phase == 'M' && strcmp(t->event.name, "process_name") == 0) {
		p = process_of(t, t->event.pid);
		if (p)
			memcpy(p->name, t->event.label, sizeof(p->name));
	} else if (t->event.phase == 'v' && t->event.rows.count) {
		p = process_of(t, t->event.pid);
		if (!p)
			return;
		if (!p->dump) {
			p->dump = counts_add(t->counts);
			p->dump->pid = p->pid;
			p->dump->time = t->event.time * 1000;
		}
		for (size_t i = 0; i < t->event.rows.count && p->dump->rows.count < TRACE_ROWS; i++)
			*vec_push(&p->dump->rows) = t->event.rows.at[i];
	}
}

static bool close(void *context, const struct json_stream *s)
{
	struct trace *t = context;

	if (AT(s, "args", "dumps", "allocators", NULL, NULL)) {
		const char *name = s->keys[s->depth - 2];

		if ((t->event.row.bytes || t->event.row.effective || t->event.row.count) &&
		    wanted(name)) {
			if (t->event.rows.count == TRACE_ROWS)
				return false;
			t->event.row.name = counts_name(t->counts, name, strlen(name));
			*vec_push(&t->event.rows) = t->event.row;
		}
	} else if (AT(s, "args", "data", "frames", NULL, NULL)) {
		if (t->frame_here)
			t->frame_pid = t->frame_process;
	} else if (AT(s, NULL) && events_level(s) >= 0) {
		end_event(t);
	}
	return true;
}

void trace_init(struct trace *t, struct counts *counts, const char *frame)
{
	struct json_sink sink = { .context = t, .value = value, .open = open, .close = close };

	memset(t, 0, sizeof(*t));
	t->counts = counts;
	t->frame = frame;
	json_stream_init(&t->json, &sink);
}

bool trace_feed(struct trace *t, const char *text, size_t length)
{
	return json_stream_feed(&t->json, text, length);
}

struct shiny_err *trace_end(struct trace *t, uint64_t offset)
{
	struct shiny_err *err = json_stream_end(&t->json, "the memory dump");

	for (size_t i = 0; !err && i < t->processes.count; i++) {
		struct trace_process *p = &t->processes.at[i];

		if (!p->dump)
			continue;
		p->dump->time = (p->malloc_ns ? p->malloc_ns : p->dump->time) + offset;
		json_stream_copy(p->dump->title, sizeof(p->dump->title), p->name, strlen(p->name));
	}
	return err;
}

void trace_deinit(struct trace *t)
{
	json_stream_deinit(&t->json);
	free(t->processes.at);
	free(t->event.rows.at);
}
