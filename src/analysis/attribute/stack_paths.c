/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_paths.c: see stack_paths.h.
 *
 * Frames are many times fewer than stacks, and names fewer than frames: each frame's functions are
 * read and named once; a stack is a list of numbers.
 */
#include "stack_paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../store/contents.h"
#include "../query/filter.h"

enum {
	PART = 6,	 /* frames in a row of tables stack and stack_tail */
	PATH_MOST = 256, /* most frames of a stack; SHINY_DEPTH is at most 64 */
};

typedef uint32_t path_part[PART + 1]; /* frame ids, then the tail's id */

/* Puts what a function without a name, "module+0x1f3 in file", shares with its neighbours. */
static uint32_t put_nameless(struct texts *texts, const char *label)
{
	const char *offset = strstr(label, "+0x");
	const char *file = offset ? strstr(offset, " in ") : NULL;
	AUTO_FREE char *name = NULL;

	if (!offset)
		return texts_put(texts, "(no module)");
	name = file ? mem_format("%s (no names)", file + strlen(" in "))
		    : mem_format("%.*s (no names)", (int)(offset - label), label);
	return texts_put(texts, name);
}

static struct shiny_err *read_frames(struct stack_paths *p, struct store *store)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT f.frame, f.module, f.vaddr, f.label, f.source, f.line, "
			    "l.function, l.source FROM v_frames f LEFT JOIN frame_line l ON "
			    "l.frame = f.frame AND l.depth = f.depth ORDER BY f.frame, f.depth",
			    &q);

	p->frame_limit = store_ids(store, "frame");
	p->frames = mem_zero(p->frame_limit + 1, sizeof(*p->frames));
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, p->frame_limit);
		struct path_frame *frame = &p->frames[id];
		/* without a line it is a place, which the name has already */
		const char *file = query_number(q, 5) ? query_text(q, 4) : "";
		uint32_t function = (uint32_t)query_number(q, 6);
		uint32_t nameless = function ? texts_put(&p->texts, "")
					     : put_nameless(&p->texts, query_text(q, 3));

		if (!frame->count)
			*frame = (struct path_frame){
				.first = (uint32_t)p->functions.count,
				.module = query_id(q, 1, store_ids(store, "module")),
				.vaddr = (uint64_t)query_number(q, 2) };
		frame->count++;
		*vec_push(&p->functions) =
			(struct path_function){ .frame = id,
						.name = texts_put(&p->texts, query_text(q, 3)),
						.nameless = nameless,
						.file = texts_put(&p->texts, file),
						.line = (uint32_t)query_number(q, 5),
						.function = function,
						.source = (uint32_t)query_number(q, 7) };
	}
	return err;
}

static struct shiny_err *read_parts(struct stack_paths *p, struct store *store, const char *table,
				    path_part **out, size_t limit)
{
	AUTO_QUERY struct query *q = NULL;
	bool tails = strcmp(table, "stack_tail") == 0;
	size_t tail_limit = store_ids(store, "stack_tail");
	path_part *parts = mem_zero(limit + 1, sizeof(*parts));
	struct shiny_err *err = query_format(store, &q,
					     "SELECT id, frame0, frame1, frame2, frame3, frame4, "
					     "frame5, tail FROM %s",
					     table);

	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, limit);

		for (int i = 0; id && i < PART; i++)
			parts[id][i] = query_id(q, 1 + i, p->frame_limit);
		/* a tail's own tail has a lower id, so a walk ends whatever the file holds */
		if (id)
			parts[id][PART] = query_id(q, 1 + PART, tails ? id : tail_limit);
	}
	*out = parts;
	return err;
}

static void add_part(struct stack_paths *p, struct path_stack *stack, const path_part part)
{
	for (int i = 0; i < PART && stack->count < PATH_MOST; i++) {
		if (!part[i])
			continue;
		*vec_push(&p->path) = part[i];
		stack->count++;
	}
}

static struct shiny_err *read_stacks(struct stack_paths *p, struct store *store)
{
	AUTO_FREE path_part *heads = NULL;
	AUTO_FREE path_part *tails = NULL;

	p->stack_limit = store_ids(store, "stack");
	p->stacks = mem_zero(p->stack_limit + 1, sizeof(*p->stacks));
	SHINY_TRY(read_parts(p, store, "stack", &heads, p->stack_limit));
	SHINY_TRY(read_parts(p, store, "stack_tail", &tails, store_ids(store, "stack_tail")));
	for (size_t id = 1; id < p->stack_limit; id++) {
		struct path_stack *stack = &p->stacks[id];

		stack->first = p->path.count;
		add_part(p, stack, heads[id]);
		for (uint32_t tail = heads[id][PART]; tail && stack->count < PATH_MOST;
		     tail = tails[tail][PART])
			add_part(p, stack, tails[tail]);
	}
	p->path.room = p->path.count;
	p->path.at = mem_resize(p->path.at, p->path.room + 1, sizeof(*p->path.at));
	return NULL;
}

struct shiny_err *stack_paths_load(struct store *store, struct stack_paths *out)
{
	SHINY_TRY(read_frames(out, store));
	SHINY_TRY(read_stacks(out, store));
	return contents_number(store, "depth", &out->depth);
}

void stack_paths_deinit(struct stack_paths *p)
{
	texts_deinit(&p->texts);
	free(p->functions.at);
	free(p->path.at);
	free(p->frames);
	free(p->stacks);
	*p = (struct stack_paths){ 0 };
}

char *stack_paths_cut_name(const struct stack_paths *p)
{
	return mem_format("<cut off at %" PRIu64 " frames>", p->depth);
}

void stack_paths_walk(const struct stack_paths *p, uint32_t stack, struct path_walk *out)
{
	const struct path_stack *s = &p->stacks[stack];

	out->count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct path_frame *frame = &p->frames[p->path.at[s->first + i]];

		for (uint32_t k = 0; k < frame->count; k++)
			*vec_push(out) = frame->first + k;
	}
}
