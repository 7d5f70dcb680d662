/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_firefox.c: a profile for profiler.firefox.com, in its processed format, version 57
 * (src/types/profile.ts of github.com/firefox-devtools/profiler); later viewers upgrade it.
 *
 * Each process is a thread of the profile, with a table of native allocations: a row an allocation,
 * and one a free with a negative weight. The viewer pairs them by address: allocations without a
 * free are its "retained" memory, and are the blocks live at the session's end. A block that its
 * process held when it ended before the session's end is freed at that moment. A resize in place is
 * a free and an allocation. The innermost frame of an allocation is the block's type, as the format
 * has no labels; it has a category of its own. A free has the stack of the free, where it is known.
 * Counters are the live bytes over time (activity.h), markers the session's marks.
 *
 * Allocates: 40 bytes a row, 4 an allocation; and by stacks and types of one process at a time.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../analysis/time/activity.h"
#include "../analysis/time/marks.h"
#include "../base/hash.h"
#include "../base/hash_table.h"
#include "../base/json.h"
#include "export.h"
#include "live_events.h"

enum { FIREFOX_VERSION = 57, CATEGORY_CODE = 0, CATEGORY_TYPE = 1, NO_NODE = UINT32_MAX };

struct firefox_row {
	uint64_t time, address;
	int64_t weight; /* bytes; a free's are negative */
	uint32_t stack, type, thread;
	bool freed;
};
struct firefox_process {
	VEC(struct firefox_row) rows;
	VEC(uint32_t) births; /* number of a life → its row + 1 */
};
struct firefox_node { /* of a stack: a frame below its caller */
	uint32_t prefix, frame; /* prefix NO_NODE: no caller */
};
struct firefox_func {
	uint32_t name, source; /* source 0: none, else index of a source + 1 */
	bool type;
};
struct firefox_frame {
	uint32_t func, line; /* line 0: none */
};
/* The tables of one process. The session's frames are numbered: the profile's functions, then
 * types, then "(no stack)". */
struct firefox_tables {
	struct hash_table node_index, func_index, stack_index;
	VEC(struct firefox_node) nodes;
	VEC(struct firefox_func) funcs;
	VEC(struct firefox_frame) frames;
	VEC(struct firefox_node) stacks; /* prefix: stack, frame: type; node: stack_nodes[i] */
	VEC(uint32_t) stack_nodes;
	uint32_t *frame_of; /* number in the session → frame + 1 */
	struct path_walk walk;
};
struct firefox_writer {
	const struct export_job *job;
	struct json json;
	struct firefox_process *processes; /* by id */
	size_t process_limit;
	struct texts more;  /* strings numbered after the profile's */
	uint32_t *sources;  /* text → source + 1 */
	VEC(uint32_t) source_texts;
};

static uint32_t more_text(struct firefox_writer *w, const char *text)
{
	return (uint32_t)w->job->profile->code.texts.count + texts_put(&w->more, text);
}

static void add_row(struct firefox_process *p, const struct live_event *event, int64_t weight,
		    uint32_t stack)
{
	*vec_push(&p->rows) = (struct firefox_row){ .time = event->told,
						    .address = event->life->address,
						    .weight = weight,
						    .stack = stack,
						    .type = event->type,
						    .thread = event->life->thread,
						    .freed = weight < 0 };
}

static void add_event(void *context, const struct live_event *event)
{
	struct firefox_writer *w = context;
	struct firefox_process *p = &w->processes[event->process];
	uint64_t number = event->life->number;
	uint32_t birth;

	while (p->births.count <= number)
		*vec_push(&p->births) = 0;
	birth = p->births.at[number];
	/* a block's type may become known after its birth */
	if (birth && event->kind != LIVE_BEGINS)
		p->rows.at[birth - 1].type = event->type;
	if (event->kind == LIVE_RESIZED)
		add_row(p, event, -(int64_t)event->before, 0);
	if (event->kind == LIVE_BEGINS || event->kind == LIVE_RESIZED) {
		add_row(p, event, (int64_t)event->size, event->life->stack);
		p->births.at[number] = (uint32_t)p->rows.count;
	} else if (event->kind != LIVE_REMAINS && event->kind != LIVE_TYPED) {
		add_row(p, event, -(int64_t)event->size, event->freed_by);
	}
}

static uint32_t source_of(struct firefox_writer *w, uint32_t text)
{
	if (!*profile_text(w->job->profile, text))
		return 0;
	if (!w->sources[text]) {
		*vec_push(&w->source_texts) = text;
		w->sources[text] = (uint32_t)w->source_texts.count;
	}
	return w->sources[text];
}

static uint32_t func_of(struct firefox_tables *t, uint32_t name, uint32_t source, bool type)
{
	uint64_t hash = hash_keys((uint64_t)name << 1 | type, source);
	uint32_t at = hash_table_find(&t->func_index, hash, i,
				      t->funcs.at[i].name == name &&
					      t->funcs.at[i].source == source &&
					      t->funcs.at[i].type == type);

	if (at == HASH_NONE) {
		at = (uint32_t)t->funcs.count;
		*vec_push(&t->funcs) = (struct firefox_func){ name, source, type };
		hash_table_add(&t->func_index, hash, at);
	}
	return at;
}

/* Returns the process's frame of a number of the session; adds it if it is new. */
static uint32_t frame_of(struct firefox_writer *w, struct firefox_tables *t, size_t number)
{
	const struct profile *p = w->job->profile;
	size_t functions = p->code.functions.count;
	struct firefox_frame frame = { 0 };

	if (t->frame_of[number])
		return t->frame_of[number] - 1;
	if (number < functions) {
		const struct path_function *f = &p->code.functions.at[number];

		frame.func = func_of(t, f->name, source_of(w, f->file), false);
		frame.line = f->line;
	} else if (number < functions + p->type_limit) {
		frame.func = func_of(t, p->types[number - functions], 0, true);
	} else {
		frame.func = func_of(t, more_text(w, "(no stack)"), 0, false);
	}
	*vec_push(&t->frames) = frame;
	t->frame_of[number] = (uint32_t)t->frames.count;
	return t->frame_of[number] - 1;
}

static uint32_t node_of(struct firefox_tables *t, uint32_t prefix, uint32_t frame)
{
	uint64_t hash = hash_keys(prefix, frame);
	uint32_t at = hash_table_find(&t->node_index, hash, i,
				      t->nodes.at[i].prefix == prefix &&
					      t->nodes.at[i].frame == frame);

	if (at == HASH_NONE) {
		at = (uint32_t)t->nodes.count;
		*vec_push(&t->nodes) = (struct firefox_node){ prefix, frame };
		hash_table_add(&t->node_index, hash, at);
	}
	return at;
}

/* Returns the node of a row's stack; an allocation has its type as innermost frame. */
static uint32_t stack_of(struct firefox_writer *w, struct firefox_tables *t,
			 const struct firefox_row *row)
{
	const struct profile *p = w->job->profile;
	size_t functions = p->code.functions.count;
	uint32_t type = row->freed ? NO_NODE : row->type < p->type_limit ? row->type : 0;
	uint32_t stack = row->stack < p->code.stack_limit ? row->stack : 0;
	uint64_t hash = hash_keys(stack, type);
	uint32_t at = hash_table_find(&t->stack_index, hash, i,
				      t->stacks.at[i].prefix == stack &&
					      t->stacks.at[i].frame == type);
	uint32_t node = NO_NODE;

	if (at != HASH_NONE)
		return t->stack_nodes.at[at];
	stack_paths_walk(&p->code, stack, &t->walk);
	for (size_t k = t->walk.count; k--;)
		node = node_of(t, node, frame_of(w, t, t->walk.at[k]));
	if (!t->walk.count)
		node = node_of(t, node, frame_of(w, t, functions + p->type_limit));
	if (type != NO_NODE)
		node = node_of(t, node, frame_of(w, t, functions + type));
	hash_table_add(&t->stack_index, hash, (uint32_t)t->stacks.count);
	*vec_push(&t->stacks) = (struct firefox_node){ stack, type };
	*vec_push(&t->stack_nodes) = node;
	return node;
}

/* Puts a column of a table: `put` for each row. */
#define PUT_COLUMN(json, key, rows, row, put)                   \
	do {                                                    \
		json_array_line(json, key);                     \
		for (size_t row = 0; row < (rows); row++)       \
			put;                                    \
		json_end(json);                                 \
	} while (0)
#define PUT_CONSTANT(json, key, rows, put) PUT_COLUMN(json, key, rows, unused_, put)

static void put_stacks(struct json *json, const struct firefox_tables *t)
{
	json_object(json, "stackTable");
	json_number(json, "length", t->nodes.count);
	PUT_COLUMN(json, "frame", t->nodes.count, i, json_number(json, NULL, t->nodes.at[i].frame));
	PUT_COLUMN(json, "prefix", t->nodes.count, i,
		   json_number_or_null(json, NULL, t->nodes.at[i].prefix,
				       t->nodes.at[i].prefix != NO_NODE));
	json_end(json);
}

static void put_frames(struct json *json, const struct firefox_tables *t)
{
	size_t count = t->frames.count;

	json_object(json, "frameTable");
	json_number(json, "length", count);
	PUT_CONSTANT(json, "address", count, json_signed(json, NULL, -1));
	PUT_CONSTANT(json, "inlineDepth", count, json_number(json, NULL, 0));
	PUT_COLUMN(json, "category", count, i,
		   json_number(json, NULL,
			       t->funcs.at[t->frames.at[i].func].type ? CATEGORY_TYPE
								      : CATEGORY_CODE));
	PUT_CONSTANT(json, "subcategory", count, json_number(json, NULL, 0));
	PUT_COLUMN(json, "func", count, i, json_number(json, NULL, t->frames.at[i].func));
	PUT_CONSTANT(json, "nativeSymbol", count, json_null(json, NULL));
	PUT_CONSTANT(json, "innerWindowID", count, json_null(json, NULL));
	PUT_COLUMN(json, "line", count, i,
		   json_number_or_null(json, NULL, t->frames.at[i].line, t->frames.at[i].line));
	PUT_CONSTANT(json, "column", count, json_null(json, NULL));
	json_end(json);
}

static void put_funcs(struct json *json, const struct firefox_tables *t)
{
	size_t count = t->funcs.count;

	json_object(json, "funcTable");
	json_number(json, "length", count);
	PUT_COLUMN(json, "name", count, i, json_number(json, NULL, t->funcs.at[i].name));
	PUT_CONSTANT(json, "isJS", count, json_bool(json, NULL, false));
	PUT_CONSTANT(json, "relevantForJS", count, json_bool(json, NULL, false));
	PUT_CONSTANT(json, "resource", count, json_signed(json, NULL, -1));
	PUT_COLUMN(json, "source", count, i,
		   json_number_or_null(json, NULL, t->funcs.at[i].source - UINT64_C(1),
				       t->funcs.at[i].source));
	PUT_CONSTANT(json, "lineNumber", count, json_null(json, NULL));
	PUT_CONSTANT(json, "columnNumber", count, json_null(json, NULL));
	json_end(json);
}

/* Puts a table that every thread must have, without rows. `columns`: their names. */
static void put_empty(struct json *json, const char *table, const char *const *columns)
{
	json_object_line(json, table);
	json_number(json, "length", 0);
	for (; *columns; columns++) {
		json_array(json, *columns);
		json_end(json);
	}
	json_end(json);
}

static void put_allocations(struct firefox_writer *w, struct firefox_tables *t,
			    const struct firefox_process *p)
{
	struct json *json = &w->json;
	size_t count = p->rows.count;

	json_object(json, "nativeAllocations");
	json_number(json, "length", count);
	json_text(json, "weightType", "bytes");
	PUT_COLUMN(json, "time", count, i, json_real(json, NULL, (double)p->rows.at[i].time / 1e6));
	PUT_COLUMN(json, "weight", count, i, json_signed(json, NULL, p->rows.at[i].weight));
	PUT_COLUMN(json, "stack", count, i,
		   json_number(json, NULL, stack_of(w, t, &p->rows.at[i])));
	PUT_COLUMN(json, "memoryAddress", count, i, json_number(json, NULL, p->rows.at[i].address));
	PUT_COLUMN(json, "threadId", count, i, json_number(json, NULL, p->rows.at[i].thread));
	json_end(json);
}

static void put_markers(struct firefox_writer *w, const struct marks *marks, uint32_t process,
			bool first)
{
	struct json *json = &w->json;
	VEC(const struct mark_row *) own = { 0 };
	size_t count;

	/* the first process also has the marks from outside */
	for (size_t i = 1; i < marks->count; i++)
		if (marks->rows[i].process == process || (first && !marks->rows[i].process))
			*vec_push(&own) = &marks->rows[i];
	count = own.count;
	json_object(json, "markers");
	json_number(json, "length", count);
	PUT_CONSTANT(json, "data", count, json_null(json, NULL));
	PUT_COLUMN(json, "name", count, i, json_number(json, NULL, more_text(w, own.at[i]->name)));
	PUT_COLUMN(json, "startTime", count, i,
		   json_real(json, NULL, (double)own.at[i]->time / 1e6));
	PUT_CONSTANT(json, "endTime", count, json_null(json, NULL));
	PUT_CONSTANT(json, "phase", count, json_number(json, NULL, 0));
	PUT_CONSTANT(json, "category", count, json_number(json, NULL, CATEGORY_CODE));
	json_end(json);
	free(own.at);
}

static void put_thread(struct firefox_writer *w, const struct firefox_process *p,
		       const struct activity_series *series, const struct marks *marks, bool first)
{
	static const char *const resources[] = { "lib", "name", "host", "type", NULL };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize",
					       NULL };
	const struct profile *profile = w->job->profile;
	struct firefox_tables t = { 0 };
	struct json *json = &w->json;
	char pid[24];

	t.frame_of = mem_zero(profile->code.functions.count + profile->type_limit + 1,
			      sizeof(*t.frame_of));
	snprintf(pid, sizeof(pid), "%" PRIu32, series->pid);
	json_object(json, NULL);
	json_text(json, "name", series->name);
	json_text(json, "processName", series->name);
	json_text(json, "processType", "default");
	json_bool(json, "isMainThread", true);
	json_text(json, "pid", pid);
	json_number(json, "tid", series->process);
	json_real(json, "processStartupTime", (double)series->start / 1e6);
	json_real(json, "processShutdownTime", (double)series->end / 1e6);
	json_real(json, "registerTime", (double)series->start / 1e6);
	json_real(json, "unregisterTime", (double)series->end / 1e6);
	json_array_line(json, "pausedRanges");
	json_end(json);
	json_object_line(json, "samples");
	json_number(json, "length", 0);
	json_text(json, "weightType", "samples");
	json_null(json, "weight");
	json_array(json, "stack");
	json_end(json);
	json_array(json, "time");
	json_end(json);
	json_end(json);
	put_markers(w, marks, series->process, first);
	put_allocations(w, &t, p);
	put_stacks(json, &t);
	put_frames(json, &t);
	put_funcs(json, &t);
	put_empty(json, "resourceTable", resources);
	put_empty(json, "nativeSymbols", symbols);
	json_end(json);
	hash_table_deinit(&t.node_index);
	hash_table_deinit(&t.func_index);
	hash_table_deinit(&t.stack_index);
	free(t.nodes.at);
	free(t.funcs.at);
	free(t.frames.at);
	free(t.stacks.at);
	free(t.stack_nodes.at);
	free(t.frame_of);
	free(t.walk.at);
}

static void put_counter(struct json *json, const struct activity *activity,
			const struct activity_series *series, size_t thread)
{
	uint64_t before = 0;
	char pid[24];

	snprintf(pid, sizeof(pid), "%" PRIu32, series->pid);
	json_object(json, NULL);
	json_text(json, "name", "malloc");
	json_text(json, "category", "Memory");
	json_text(json, "description", "live bytes");
	json_text(json, "pid", pid);
	json_number(json, "mainThreadIndex", thread);
	json_object(json, "samples");
	json_number(json, "length", series->count);
	PUT_COLUMN(json, "time", series->count, i,
		   json_real(json, NULL, (double)activity_end(activity, series, i) / 1e6));
	PUT_COLUMN(json, "count", series->count, i, {
		json_signed(json, NULL, (int64_t)(series->points[i].live.bytes - before));
		before = series->points[i].live.bytes;
	});
	json_end(json);
	json_end(json);
}

static void put_category(struct json *json, const char *name, const char *color)
{
	json_object_line(json, NULL);
	json_text(json, "name", name);
	json_text(json, "color", color);
	json_array(json, "subcategories");
	json_text(json, NULL, "Other");
	json_end(json);
	json_end(json);
}

static void put_meta(struct firefox_writer *w, const struct activity *activity)
{
	struct json *json = &w->json;

	json_object(json, "meta");
	json_number(json, "version", 24); /* version of the raw format, which we do not write */
	json_number(json, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_text(json, "product", w->job->command);
	json_text(json, "importedFrom", "shinyctl " SHINY_VERSION_TEXT);
	json_number(json, "interval", 1);
	json_number(json, "startTime", 0);
	json_real(json, "profilingStartTime", 0);
	json_real(json, "profilingEndTime", (double)activity->duration / 1e6);
	json_number(json, "processType", 0);
	json_number(json, "stackwalk", 1);
	json_bool(json, "debug", false);
	json_bool(json, "symbolicated", true);
	json_bool(json, "symbolicationNotSupported", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_array(json, "categories");
	put_category(json, "Other", "grey");
	put_category(json, "Type", "blue");
	json_end(json);
	json_array_line(json, "markerSchema");
	json_end(json);
	json_array(json, "extra");
	json_object_line(json, NULL);
	json_text(json, "label", "Shiny");
	json_array(json, "entries");
	json_object(json, NULL);
	json_text(json, "label", "Recording");
	json_text(json, "format", "string");
	json_text(json, "value", w->job->loss);
	json_end(json);
	json_end(json);
	json_end(json);
	json_end(json);
	json_end(json);
}

/* Puts the shared sources and strings. Call after all threads, which add to both. */
static void put_shared(struct firefox_writer *w)
{
	const struct texts *texts = &w->job->profile->code.texts;
	struct json *json = &w->json;

	json_object(json, "shared");
	json_object(json, "sources");
	json_number(json, "length", w->source_texts.count);
	PUT_CONSTANT(json, "uuid", w->source_texts.count, json_null(json, NULL));
	PUT_COLUMN(json, "filename", w->source_texts.count, i,
		   json_number(json, NULL, w->source_texts.at[i]));
	json_end(json);
	json_array(json, "stringArray");
	for (size_t i = 0; i < texts->count; i++)
		json_text(json, NULL, texts->at[i]);
	for (size_t i = 0; i < w->more.count; i++)
		json_text(json, NULL, w->more.at[i]);
	json_end(json);
	json_end(json);
}

static void put_profile(struct firefox_writer *w, const struct activity *activity,
			const struct marks *marks)
{
	struct json *json = &w->json;

	json_init(json, w->job->out);
	json_object(json, NULL);
	put_meta(w, activity);
	json_array_line(json, "libs");
	json_end(json);
	json_array_line(json, "pages");
	json_end(json);
	json_array(json, "counters");
	for (size_t i = 0; i < activity->process_count; i++)
		put_counter(json, activity, &activity->processes[i], i);
	json_end(json);
	json_array(json, "threads");
	for (size_t i = 0; i < activity->process_count; i++)
		put_thread(w, &w->processes[activity->processes[i].process],
			   &activity->processes[i], marks, !i);
	json_end(json);
	put_shared(w);
	json_end(json);
}

struct shiny_err *export_firefox(const struct export_job *job)
{
	struct firefox_writer w = { .job = job };
	struct activity activity = { 0 };
	struct marks marks = { 0 };
	unsigned flags = ACTIVITY_NO_PAGES | ACTIVITY_NO_TYPES |
			 (job->progress ? ACTIVITY_PROGRESS : 0);
	struct shiny_err *err = activity_load(job->store, job->filter, 0, flags, &activity);

	if (err)
		return err;
	w.process_limit = store_ids(job->store, "process") + 1;
	w.processes = mem_zero(w.process_limit, sizeof(*w.processes));
	w.sources = mem_zero(job->profile->code.texts.count + 1, sizeof(*w.sources));
	err = marks_load(job->store, job->filter, job->progress, &marks);
	if (!err)
		err = live_events_each(job->store, job->filter,
				       job->progress ? "reading events" : NULL, NULL, add_event,
				       &w);
	if (!err)
		put_profile(&w, &activity, &marks);
	for (size_t i = 0; i < w.process_limit; i++) {
		free(w.processes[i].rows.at);
		free(w.processes[i].births.at);
	}
	free(w.processes);
	free(w.sources);
	free(w.source_texts.at);
	texts_deinit(&w.more);
	marks_deinit(&marks);
	activity_deinit(&activity);
	return err;
}
