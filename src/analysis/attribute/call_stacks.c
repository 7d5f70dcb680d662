/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_stacks.c: see call_stacks.h.
 *
 * The rules are not applied again to find a stack's call site: the session has the site of each
 * stack, and its function, file and line are found among the stack's own.
 */
#include "call_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../query/type_name.h"
#include "stack_paths.h"

struct call_site {
	uint32_t module, function, source, line;
	uint64_t vaddr;
};

struct call_stacks {
	struct store *store;
	struct stack_paths paths;
	struct texts names;
	uint32_t *labels;	 /* index of paths.functions → index of `names` */
	struct call_site *sites; /* indexed by id */
	size_t site_limit;
	struct path_walk walk; /* the functions of one stack */
	VEC(uint32_t) walked;  /* their names */
};

/* ---- reading ---- */

static char *label_of(const struct stack_paths *paths, const struct path_function *f,
		      enum call_label label, bool full)
{
	const char *text = stack_paths_text(paths, f->name);
	const char *file = stack_paths_text(paths, f->file);
	char *name = full ? mem_text(text) : type_name_function(text), *whole;

	if (label != CALL_LINE || !*file)
		return name;
	whole = mem_format("%s (%s:%u)", name, text_base(file), f->line);
	free(name);
	return whole;
}

static void name_functions(struct call_stacks *s, enum call_label label, bool full)
{
	const struct stack_paths *paths = &s->paths;

	s->labels = mem_zero(paths->functions.count + 1, sizeof(*s->labels));
	for (size_t i = 0; i < paths->functions.count; i++) {
		char *name = label_of(paths, &paths->functions.at[i], label, full);

		s->labels[i] = texts_put(&s->names, name);
		free(name);
	}
}

static struct shiny_err *read_sites(struct call_stacks *s)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	s->site_limit = store_ids(s->store, "site");
	s->sites = mem_zero(s->site_limit, sizeof(*s->sites));
	err = store_query(s->store,
			  "SELECT i.id, i.module, i.function, i.source, i.line, f.vaddr "
			  "FROM site i LEFT JOIN frame f ON f.id = i.frame",
			  &q);
	QUERY_EACH (q, err)
		s->sites[query_id(q, 0, s->site_limit)] =
			(struct call_site){ .module = (uint32_t)query_number(q, 1),
					    .function = (uint32_t)query_number(q, 2),
					    .source = (uint32_t)query_number(q, 3),
					    .line = (uint32_t)query_number(q, 4),
					    .vaddr = (uint64_t)query_number(q, 5) };
	return err;
}

struct shiny_err *call_stacks_open(struct store *store, enum call_label label, bool full,
				   struct call_stacks **out)
{
	struct call_stacks *s = mem_zero(1, sizeof(*s));
	struct shiny_err *err;

	s->store = store;
	err = stack_paths_load(store, &s->paths);
	if (!err)
		err = read_sites(s);
	if (err) {
		call_stacks_close(s);
		return err;
	}
	name_functions(s, label, full);
	*out = s;
	return NULL;
}

void call_stacks_close(struct call_stacks *s)
{
	if (!s)
		return;
	stack_paths_deinit(&s->paths);
	texts_deinit(&s->names);
	free(s->labels);
	free(s->sites);
	free(s->walk.at);
	free(s->walked.at);
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

char *call_stacks_cut_name(const struct call_stacks *s)
{
	return stack_paths_cut_name(&s->paths);
}

/* ---- walking ---- */

static bool is_site(const struct call_site *site, const struct path_frame *frame,
		    const struct path_function *f)
{
	if (site->module != frame->module || site->function != f->function)
		return false;
	return f->function ? site->source == f->source && site->line == f->line
			   : site->vaddr == frame->vaddr;
}

/* Names the functions of the stack, and finds the first that matches the call site. */
static void walk_stack(struct call_stacks *s, uint32_t site, struct call_stack *out)
{
	bool found = false;

	stack_paths_walk(&s->paths, out->id, &s->walk);
	s->walked.count = 0;
	for (size_t i = 0; i < s->walk.count; i++) {
		const struct path_function *f = &s->paths.functions.at[s->walk.at[i]];

		if (!found && site && is_site(&s->sites[site], &s->paths.frames[f->frame], f)) {
			found = true;
			out->site = i;
		}
		*vec_push(&s->walked) = s->labels[s->walk.at[i]];
	}
	out->names = s->walked.at;
	out->count = s->walked.count;
	out->cut = stack_paths_cut(&s->paths, out->id);
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
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		s->store, &q,
		"SELECT r.stack, x.site, r.value, r.blocks FROM (SELECT s.stack AS stack, %s AS "
		"value, "
		"%s AS blocks FROM stat s WHERE %s GROUP BY s.stack) r "
		"LEFT JOIN stack x ON x.id = r.stack WHERE r.value > 0 OR r.blocks > 0",
		call_value_sql(order), call_blocks_sql(order), filter_blocks(filter));

	QUERY_EACH (q, err) {
		struct call_stack stack = { .id = query_id(q, 0, s->paths.stack_limit),
					    .value = (uint64_t)query_number(q, 2),
					    .blocks = (uint64_t)query_number(q, 3) };

		walk_stack(s, query_id(q, 1, s->site_limit), &stack);
		each(context, &stack);
	}
	return err;
}
