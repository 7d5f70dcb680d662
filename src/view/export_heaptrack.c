/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_heaptrack.c: heaptrack's file (version 3), which heaptrack_print and heaptrack_gui read:
 * all allocations and frees in order, numbers in hexadecimal.
 *
 * A file has one process, a session many: their events keep the session's order, as if of one
 * process. Leaked, in heaptrack's words, are the blocks live at the end; its peak is the session's.
 * A resize in place is a free and one more allocation, as the format has no resizes; a comment at
 * the end counts them. Traces are a tree of frames from the outermost one: each (parent, frame)
 * once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/hash.h"
#include "../base/hash_table.h"
#include "export.h"
#include "live_events.h"

struct heaptrack_pair { /* of a trace: its frame and parent; of an allocation: size and trace */
	uint64_t first;
	uint32_t second;
};
struct heaptrack_pairs { /* numbered from 1, in this order */
	struct hash_table table;
	VEC(struct heaptrack_pair) rows;
};
struct heaptrack_writer {
	const struct export_job *job;
	struct texts strings;
	uint32_t *frames; /* frame id → number of its instruction, 0: not written */
	uint32_t *traces; /* stack id → number of its trace, 0: not written */
	uint32_t frame_count;
	struct heaptrack_pairs trace_rows, sizes;
	uint64_t shown; /* ms of the last time stamp written */
	uint64_t resizes;
};

static uint32_t find_pair(struct heaptrack_pairs *pairs, uint64_t first, uint32_t second,
			  bool *more)
{
	uint64_t hash = hash_keys(first, second);
	uint32_t at = hash_table_find(&pairs->table, hash, i,
				      pairs->rows.at[i].first == first &&
					      pairs->rows.at[i].second == second);

	*more = at == HASH_NONE;
	if (*more) {
		at = (uint32_t)pairs->rows.count;
		*vec_push(&pairs->rows) = (struct heaptrack_pair){ first, second };
		hash_table_add(&pairs->table, hash, at);
	}
	return at;
}

/* Returns the number of a text, 0 for an empty one; writes the text when it is new. */
static uint32_t put_string(struct heaptrack_writer *w, const char *text)
{
	size_t before = w->strings.count;
	uint32_t at;

	if (!*text)
		return 0;
	at = texts_put(&w->strings, text);
	if (w->strings.count > before)
		fprintf(w->job->out, "s %zx %s\n", strlen(text), text);
	return at + 1;
}

static uint32_t put_frame(struct heaptrack_writer *w, uint32_t id, const char *const *modules)
{
	const struct profile *p = w->job->profile;
	const struct path_frame *frame = &p->code.frames[id];
	uint32_t module;

	if (w->frames[id])
		return w->frames[id];
	module = put_string(w, modules[frame->module] ? modules[frame->module] : "");
	for (uint32_t k = 0; k < frame->count; k++) {
		const struct path_function *line = &p->code.functions.at[frame->first + k];

		put_string(w, profile_text(p, line->name));
		put_string(w, profile_text(p, line->file));
	}
	fprintf(w->job->out, "i %" PRIx64 " %" PRIx32, frame->vaddr, module);
	for (uint32_t k = 0; k < frame->count; k++) {
		const struct path_function *line = &p->code.functions.at[frame->first + k];
		uint32_t file = put_string(w, profile_text(p, line->file));

		fprintf(w->job->out, " %" PRIx32 " %" PRIx32 " %" PRIx32,
			put_string(w, profile_text(p, line->name)), file, line->line);
	}
	putc('\n', w->job->out);
	return w->frames[id] = ++w->frame_count;
}

static uint32_t put_trace(struct heaptrack_writer *w, uint32_t stack, const char *const *modules)
{
	const struct profile *p = w->job->profile;
	const struct path_stack *s = &p->code.stacks[stack];
	uint32_t trace = 0;
	bool more;

	for (uint32_t i = s->count; i--;) {
		uint32_t frame = put_frame(w, p->code.path.at[s->first + i], modules);
		uint32_t parent = trace;

		trace = find_pair(&w->trace_rows, frame, parent, &more) + 1;
		if (more)
			fprintf(w->job->out, "t %" PRIx32 " %" PRIx32 "\n", frame, parent);
	}
	return trace;
}

static void put_change(struct heaptrack_writer *w, char sign, uint32_t stack, uint64_t size)
{
	bool more;
	uint32_t trace = stack < w->job->profile->code.stack_limit ? w->traces[stack] : 0;
	uint32_t at = find_pair(&w->sizes, size, trace, &more);

	if (more)
		fprintf(w->job->out, "a %" PRIx64 " %" PRIx32 "\n", size, trace);
	fprintf(w->job->out, "%c %" PRIx32 "\n", sign, at);
}

static void put_event(void *context, const struct live_event *event)
{
	struct heaptrack_writer *w = context;
	uint64_t ms = event->time / 1000000;

	if (event->kind == LIVE_REMAINS || event->kind == LIVE_TYPED)
		return;
	if (ms > w->shown)
		fprintf(w->job->out, "c %" PRIx64 "\n", w->shown = ms);
	if (event->kind == LIVE_RESIZED) {
		put_change(w, '-', event->life->stack, event->before);
		w->resizes++;
	}
	put_change(w, event->kind == LIVE_ENDS || event->kind == LIVE_GONE ? '-' : '+',
		   event->life->stack, event->size);
}

static struct shiny_err *put_traces(struct heaptrack_writer *w)
{
	const struct profile *p = w->job->profile;
	size_t limit = store_ids(w->job->store, "module");
	char **modules = mem_zero(limit + 1, sizeof(*modules));
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(w->job->store, "SELECT id, path FROM module", &q);

	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, limit);

		free(modules[id]);
		modules[id] = mem_text(query_text(q, 1));
	}
	for (uint32_t stack = 1; !err && stack < p->code.stack_limit; stack++)
		w->traces[stack] = put_trace(w, stack, (const char *const *)modules);
	for (size_t i = 0; i < limit; i++)
		free(modules[i]);
	free(modules);
	return err;
}

struct shiny_err *export_heaptrack(const struct export_job *job)
{
	struct heaptrack_writer w = { .job = job };
	struct shiny_err *err;

	w.frames = mem_zero(job->profile->code.frame_limit + 1, sizeof(*w.frames));
	w.traces = mem_zero(job->profile->code.stack_limit + 1, sizeof(*w.traces));
	fprintf(job->out, "v 10400 3\n# %s\nX %s\nI 1000 0\n", job->loss, job->command);
	err = put_traces(&w);
	if (!err)
		err = live_events_each(job->store, job->filter,
				       job->progress ? "writing events" : NULL, NULL, put_event,
				       &w);
	fprintf(job->out, "c %" PRIx64 "\n", job->profile->duration / 1000000);
	if (w.resizes)
		fprintf(job->out,
			"# %" PRIu64 " of the allocations are blocks that were resized in place\n",
			w.resizes);
	texts_deinit(&w.strings);
	hash_table_deinit(&w.trace_rows.table);
	hash_table_deinit(&w.sizes.table);
	free(w.trace_rows.rows.at);
	free(w.sizes.rows.at);
	free(w.frames);
	free(w.traces);
	return err;
}
