/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_stacks.c: see call_stacks.h.
 *
 * Frames are many times fewer than stacks, and names fewer than frames: each frame's functions are
 * read and named once, a stack is then a walk over numbers. Where a stack's call site begins is not
 * asked of the rules again: the session has the site of each stack, and its function, file and line
 * are found among the stack's own.
 */
#include "call_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/texts.h"
#include "../query/type_name.h"

enum {
	PART = 6,	  /* frames in a row of tables stack and stack_tail */
	PATH_MOST = 256,  /* frames of a stack; SHINY_DEPTH is at most 64 */
	WALK_MOST = 4096, /* functions of a stack */
};

/* A function of a frame. */
struct call_function {
	uint32_t name, function, source, line;
};
struct call_frame {
	uint32_t first, count; /* in `functions` */
	uint32_t module;
	uint64_t vaddr;
};
struct call_site {
	uint32_t module, function, source, line;
	uint64_t vaddr;
};

struct call_stacks {
	struct store *store;
	struct texts names;
	VEC(struct call_function) functions;
	struct call_frame *frames; /* by id */
	struct call_site *sites;   /* by id */
	uint32_t (*tails)[PART + 1];
	size_t frame_limit, site_limit, tail_limit;
	uint64_t depth;
	VEC(uint32_t) walk;		     /* the names of one stack */
	VEC(const struct call_frame *) path; /* its frames */
};

/* ---- reading ---- */

static uint32_t name_function(struct call_stacks *s, const struct query *q, enum call_label label,
			      bool full)
{
	const char *text = query_text(q, 5), *file = query_text(q, 6);
	char *name = full ? mem_text(text) : type_name_function(text), *whole;
	uint32_t number;

	if (label == CALL_LINE && *file) {
		whole = mem_format("%s (%s:%u)", name, text_base(file),
				   (unsigned)query_number(q, 7));
		free(name);
		name = whole;
	}
	number = texts_put(&s->names, name);
	free(name);
	return number;
}

static struct shiny_err *read_frames(struct call_stacks *s, enum call_label label, bool full)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	s->frame_limit = store_ids(s->store, "frame");
	s->frames = mem_zero(s->frame_limit, sizeof(*s->frames));
	err = store_query(s->store,
			  "SELECT f.frame, f.module, f.vaddr, l.function, l.source, f.label, "
			  "f.source, f.line FROM v_frames f LEFT JOIN frame_line l ON "
			  "l.frame = f.frame AND l.depth = f.depth ORDER BY f.frame, f.depth",
			  &q);
	while (!err && !(err = query_step(q, &row)) && row) {
		struct call_frame *frame = &s->frames[query_id(q, 0, s->frame_limit)];

		if (!frame->count)
			frame->first = (uint32_t)s->functions.count;
		frame->count++;
		frame->module = (uint32_t)query_number(q, 1);
		frame->vaddr = (uint64_t)query_number(q, 2);
		*vec_push(&s->functions) =
			(struct call_function){ .name = name_function(s, q, label, full),
						.function = (uint32_t)query_number(q, 3),
						.source = (uint32_t)query_number(q, 4),
						.line = (uint32_t)query_number(q, 7) };
	}
	query_end(q);
	return err;
}

static struct shiny_err *read_sites(struct call_stacks *s)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	s->site_limit = store_ids(s->store, "site");
	s->sites = mem_zero(s->site_limit, sizeof(*s->sites));
	err = store_query(s->store,
			  "SELECT i.id, i.module, i.function, i.source, i.line, f.vaddr "
			  "FROM site i LEFT JOIN frame f ON f.id = i.frame",
			  &q);
	while (!err && !(err = query_step(q, &row)) && row)
		s->sites[query_id(q, 0, s->site_limit)] =
			(struct call_site){ .module = (uint32_t)query_number(q, 1),
					    .function = (uint32_t)query_number(q, 2),
					    .source = (uint32_t)query_number(q, 3),
					    .line = (uint32_t)query_number(q, 4),
					    .vaddr = (uint64_t)query_number(q, 5) };
	query_end(q);
	return err;
}

/* A tail's own tail has a lower id: whatever a file holds, a walk ends. */
static struct shiny_err *read_tails(struct call_stacks *s)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	s->tail_limit = store_ids(s->store, "stack_tail");
	s->tails = mem_zero(s->tail_limit, sizeof(*s->tails));
	err = store_query(s->store,
			  "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail "
			  "FROM stack_tail",
			  &q);
	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t id = query_id(q, 0, s->tail_limit);

		for (int i = 0; id && i < PART; i++)
			s->tails[id][i] = query_id(q, 1 + i, s->frame_limit);
		s->tails[id][PART] = id ? query_id(q, 1 + PART, id) : 0;
	}
	query_end(q);
	return err;
}

static struct shiny_err *read_depth(struct call_stacks *s)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		store_query(s->store, "SELECT value FROM session WHERE key = 'depth'", &q);

	if (!err && !(err = query_step(q, &row)) && row)
		s->depth = (uint64_t)query_number(q, 0);
	query_end(q);
	return err;
}

struct shiny_err *call_stacks_open(struct store *store, enum call_label label, bool full,
				   struct call_stacks **out)
{
	struct call_stacks *s = mem_zero(1, sizeof(*s));
	struct shiny_err *err;

	s->store = store;
	err = read_frames(s, label, full);
	if (!err)
		err = read_sites(s);
	if (!err)
		err = read_tails(s);
	if (!err)
		err = read_depth(s);
	if (err) {
		call_stacks_close(s);
		return err;
	}
	*out = s;
	return NULL;
}

void call_stacks_close(struct call_stacks *s)
{
	if (!s)
		return;
	texts_deinit(&s->names);
	free(s->functions.at);
	free(s->frames);
	free(s->sites);
	free(s->tails);
	free(s->walk.at);
	free(s->path.at);
	free(s);
}

const char *call_stacks_name(const struct call_stacks *s, uint32_t name)
{
	return s->names.at[name];
}

uint32_t call_stacks_number(struct call_stacks *s, const char *text)
{
	return texts_put(&s->names, text);
}

uint64_t call_stacks_depth(const struct call_stacks *s)
{
	return s->depth;
}

/* ---- walking ---- */

/* The frames of the stack in the query's row: column 1 on are those of table stack. */
static void find_path(struct call_stacks *s, const struct query *q)
{
	uint32_t tail = query_id(q, 1 + PART, s->tail_limit);

	s->path.count = 0;
	for (int i = 0; i < PART; i++) {
		uint32_t frame = query_id(q, 1 + i, s->frame_limit);

		if (frame)
			*vec_push(&s->path) = &s->frames[frame];
	}
	for (; tail && s->path.count < PATH_MOST; tail = s->tails[tail][PART])
		for (int i = 0; i < PART; i++)
			if (s->tails[tail][i])
				*vec_push(&s->path) = &s->frames[s->tails[tail][i]];
}

static bool is_site(const struct call_site *site, const struct call_frame *frame,
		    const struct call_function *f)
{
	if (site->module != frame->module || site->function != f->function)
		return false;
	return f->function ? site->source == f->source && site->line == f->line
			   : site->vaddr == frame->vaddr;
}

/* Names the functions on the path, and finds the first one that is the call site. */
static void walk_path(struct call_stacks *s, uint32_t site, struct call_stack *out)
{
	bool found = false;

	s->walk.count = 0;
	for (size_t i = 0; i < s->path.count; i++) {
		const struct call_frame *frame = s->path.at[i];

		for (uint32_t k = 0; k < frame->count && s->walk.count < WALK_MOST; k++) {
			const struct call_function *f = &s->functions.at[frame->first + k];

			if (!found && site && is_site(&s->sites[site], frame, f)) {
				found = true;
				out->site = s->walk.count;
			}
			*vec_push(&s->walk) = f->name;
		}
	}
	out->names = s->walk.at;
	out->count = s->walk.count;
	out->cut = s->depth && s->path.count >= s->depth;
}

const char *call_value_sql(enum sums_order order)
{
	switch (order) {
	case ORDER_BYTES:
		return "SUM(s.bytes)";
	case ORDER_ALLOCS:
		return "SUM(s.allocs)";
	case ORDER_FREES:
		return "SUM(s.frees)";
	default:
		return "SUM(s.live_bytes)";
	}
}

const char *call_blocks_sql(enum sums_order order)
{
	switch (order) {
	case ORDER_BYTES:
	case ORDER_ALLOCS:
		return "SUM(s.allocs)";
	case ORDER_FREES:
		return "SUM(s.frees)";
	default:
		return "SUM(s.live)";
	}
}

struct shiny_err *call_stacks_each(struct call_stacks *s, const struct filter *filter,
				   enum sums_order order, call_stack_fn *each, void *context)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(
		s->store, &q,
		"SELECT r.stack, x.frame0, x.frame1, x.frame2, x.frame3, x.frame4, x.frame5, "
		"x.tail, x.site, r.value, r.blocks FROM (SELECT s.stack AS stack, %s AS value, "
		"%s AS blocks FROM stat s WHERE %s GROUP BY s.stack) r "
		"LEFT JOIN stack x ON x.id = r.stack WHERE r.value > 0 OR r.blocks > 0",
		call_value_sql(order), call_blocks_sql(order), filter_blocks(filter));

	while (!err && !(err = query_step(q, &row)) && row) {
		struct call_stack stack = { .id = (uint32_t)query_number(q, 0),
					    .value = (uint64_t)query_number(q, 9),
					    .blocks = (uint64_t)query_number(q, 10) };

		find_path(s, q);
		walk_path(s, query_id(q, 8, s->site_limit), &stack);
		each(context, &stack);
	}
	query_end(q);
	return err;
}
