/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component.c: see component.h; components.rules documents the rules and their order.
 *
 * Names are many times fewer than stacks: each function, source file and module is matched once,
 * and stacks are walks over numbers. Walking a Chromium session's 260,000 stacks of 15 frames takes
 * less time than SQLite takes to read them.
 *
 * The innermost function that a rule gives an owner is the wrong answer for base::flat_map and
 * WTF::Vector: the component that uses them owns the memory. So the search goes on after a weak
 * rule, for a stronger one. It must not go too far: nearly every stack of a browser begins with
 * content::ContentMain, and a loop that runs tasks of all components. Hence `stop`.
 *
 * A frame that only a module's rule matches is harder. In a library the module is the owner. In
 * Chromium with symbols it is png_read_row or a lambda in an unnamed namespace, and its caller
 * shows the owner. But a callback of a program without names, called by libglib's main loop, must
 * not become libglib's. So the search continues only while the stack stays in the module.
 *
 * Chromium as shipped has no function names at all. But the classes of many blocks are known, from
 * vtables and from Oilpan's own table of names. If only a module's rule, or the place of a
 * function, gives the stack's owner, the rules of functions are first applied to the block's class:
 * blink::LayoutBlockFlow is blink's. Places match rules of source files, if the module has places
 * also for functions that name no source file: shared code has none, so that the first frame with
 * one is mostly the owner (Chromium 156: 95 % of allocations with all places of the owner's own
 * file hidden). A directory is a place like its files.
 */
#include "component.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/function_name.h"
#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"

/* flag of a stack's owner: only a module's rule, or a place, gives it */
#define UNSURE (UINT32_C(1) << 31)

enum { PART = 6 /* frames in a row of tables stack and stack_tail */ };

/* A function of a frame. */
struct line {
	uint32_t owner, module;
	bool weak, stop, last; /* last: last line of its frame */
	bool by_module;        /* only its module's rule gives the owner */
	bool by_place;         /* without a name: its place gives the owner */
};
struct module {
	struct component_verdict first; /* first match of all rules */
	uint32_t owner;       /* of the first rule that names an owner */
	bool placed;          /* most of its code without names has a place */
};
struct attribution {
	struct store *store;
	struct component_judge judge;
	VEC(struct component_row) rows;
	struct hash_table row_index;
	uint64_t total;
	struct component_verdict *functions, *sources, *types; /* indexed by id */
	struct module *modules;
	size_t function_limit, source_limit, module_limit, frame_limit, stack_limit, tail_limit,
		type_limit;
	VEC(struct line) lines;
	uint32_t *first_line; /* frame → index of its first line + 1 */
	uint32_t (*tails)[PART + 1];
	uint32_t *owner_of_stack; /* stack id → owner, perhaps with UNSURE */
};

/* ---- reading the session ---- */

typedef void take_fn(struct attribution *a, const struct query *q);

static struct shiny_err *each(struct attribution *a, const char *sql, take_fn *take)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(a->store, sql, &q);

	QUERY_EACH (q, err)
		take(a, q);
	return err;
}

static void take_limits(struct attribution *a)
{
	a->function_limit = store_ids(a->store, "function");
	a->source_limit = store_ids(a->store, "source");
	a->module_limit = store_ids(a->store, "module");
	a->frame_limit = store_ids(a->store, "frame");
	a->stack_limit = store_ids(a->store, "stack");
	a->tail_limit = store_ids(a->store, "stack_tail");
	a->type_limit = store_ids(a->store, "type");
	a->functions = mem_zero(a->function_limit, sizeof(*a->functions));
	a->sources = mem_zero(a->source_limit, sizeof(*a->sources));
	a->types = mem_zero(a->type_limit, sizeof(*a->types));
	a->modules = mem_zero(a->module_limit, sizeof(*a->modules));
	a->first_line = mem_zero(a->frame_limit, sizeof(*a->first_line));
	a->tails = mem_zero(a->tail_limit, sizeof(*a->tails));
	a->owner_of_stack = mem_zero(a->stack_limit, sizeof(*a->owner_of_stack));
	a->functions[0].rule = a->sources[0].rule = RULE_NONE;
	a->modules[0] = (struct module){{.rule = RULE_NONE}, OWNER_NO_MODULE, false};
}

static void take_boring(struct attribution *a, const struct query *q)
{
	const char *kind = query_text(q, 0);

	component_judge_pass_over(&a->judge,
				  !strcmp(kind, "module")   ? COMPONENT_MODULE
				  : !strcmp(kind, "source") ? COMPONENT_SOURCE
							    : COMPONENT_FUNCTION,
				  query_text(q, 1));
}

static struct component_verdict judge_text(struct attribution *a, enum component_kind kind,
					   const char *text)
{
	return component_judge(&a->judge, kind, text, strlen(text));
}

static void take_function(struct attribution *a, const struct query *q)
{
	const char *name = function_name_start(query_text(q, 1));
	uint32_t id = query_id(q, 0, a->function_limit);

	if (!id)
		return;
	/* may be the name of an inlined function: its file is more reliable */
	if (*query_text(q, 1) == '~')
		a->functions[id] = (struct component_verdict){ .rule = RULE_NONE, .guess = true };
	else
		a->functions[id] = component_judge(&a->judge, COMPONENT_FUNCTION, name,
						   function_name_length(name));
}

static void take_source(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->source_limit);

	if (id)
		a->sources[id] = judge_text(a, COMPONENT_SOURCE, query_text(q, 1));
}

/* Judges a class by the rules for functions, as if by its member functions. */
static void take_type(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->type_limit);

	if (id)
		a->types[id] = judge_text(a, COMPONENT_FUNCTION, query_text(q, 1));
}

static void take_module(struct attribution *a, const struct query *q)
{
	const char *name = text_base(query_text(q, 1));
	uint32_t id = query_id(q, 0, a->module_limit);

	if (id)
		a->modules[id] = (struct module){ judge_text(a, COMPONENT_MODULE, name),
						  component_of_module(&a->judge, name),
						  strcmp(query_text(q, 2), "neighbours") == 0 };
}

/* Takes a row (frame, module, depth, function, source), innermost first. */
static void take_line(struct attribution *a, const struct query *q)
{
	uint32_t frame = query_id(q, 0, a->frame_limit), module = query_id(q, 1, a->module_limit);
	uint32_t id = query_id(q, 3, a->function_limit);
	bool named = id && !a->functions[id].guess;
	/* if few functions have a place, the first one with a place is seldom the owner */
	bool known = named || a->modules[module].placed;
	struct component_verdict best = a->modules[module].first;
	struct component_verdict function = a->functions[id],
		       source = a->sources[known ? query_id(q, 4, a->source_limit) : 0];
	bool by_module = true;

	if (function.rule < best.rule) {
		best = function;
		by_module = false;
	}
	if (source.rule < best.rule) {
		best = source;
		by_module = false;
	}
	if (!frame)
		return;
	if (!a->first_line[frame])
		a->first_line[frame] = (uint32_t)a->lines.count + 1;
	else
		a->lines.at[a->lines.count - 1].last = false;
	*vec_push(&a->lines) = (struct line){ .owner = best.owner,
					      .module = module,
					      .weak = best.weak,
					      .stop = best.stop,
					      .last = true,
					      .by_module = by_module,
					      .by_place = !named && !by_module };
}

static void take_tail(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->tail_limit);

	if (!id)
		return;
	for (int i = 0; i < PART; i++)
		a->tails[id][i] = query_id(q, 1 + i, a->frame_limit);
	a->tails[id][PART] = query_id(q, 1 + PART, id); /* below its own id, so a chain ends */
}

/* ---- owners of stacks ---- */

struct walk {
	uint32_t weak, weak_module;  /* owner so far, OWNER_NOBODY: none; its module */
	uint32_t held, held_module;  /* the same, from rules for modules only */
	uint32_t passed;             /* owner of the first function's module */
};

static uint32_t settle(const struct walk *w)
{
	return w->weak	   ? w->weak
	       : w->held   ? w->held | UNSURE
	       : w->passed ? w->passed | UNSURE
			   : OWNER_NO_MODULE;
}

/* Looks at one function; sets *owner to the owner so far; true: the search ends. */
static bool step(const struct attribution *a, struct walk *w, const struct line *line,
		 uint32_t *owner)
{
	if (!w->passed && line->module)
		w->passed = a->modules[line->module].owner;
	if (line->owner && !(line->weak && line->by_module)) {
		if (w->held && line->module != w->held_module) {
			*owner = settle(w);
			return true;
		}
		if (line->by_module && (!w->weak || w->weak_module == line->module)) {
			if (!w->held) {
				w->held = line->owner;
				w->held_module = line->module;
			}
		} else if (!line->weak) {
			*owner = line->owner |
				 (line->by_module || line->by_place ? UNSURE : 0);
			return true;
		} else if (!w->weak) {
			w->weak = line->owner | (line->by_place ? UNSURE : 0);
			w->weak_module = line->module;
		}
	}
	*owner = settle(w);
	return line->stop;
}

/* Walks over a part of a stack; false: continue with the next part. */
static bool walk_part(const struct attribution *a, struct walk *w, const uint32_t frames[PART],
		      uint32_t *owner)
{
	for (int i = 0; i < PART && frames[i]; i++) {
		uint32_t at = a->first_line[frames[i]];

		for (const struct line *line = at ? &a->lines.at[at - 1] : NULL; line;
		     line = line->last ? NULL : line + 1)
			if (step(a, w, line, owner))
				return true;
	}
	return false;
}

/* Takes a row (stack, its innermost frames, its tail). */
static void take_stack(struct attribution *a, const struct query *q)
{
	uint32_t frames[PART], owner = OWNER_NO_STACK, tail = query_id(q, 1 + PART, a->tail_limit);
	struct walk w = { 0 };
	uint32_t id = query_id(q, 0, a->stack_limit);
	bool found;

	if (!id)
		return;
	for (int i = 0; i < PART; i++)
		frames[i] = query_id(q, 1 + i, a->frame_limit);
	found = walk_part(a, &w, frames, &owner);
	for (; tail && !found; tail = a->tails[tail][PART])
		found = walk_part(a, &w, a->tails[tail], &owner);
	a->owner_of_stack[id] = owner;
}

/* True if the block's type decides before its stack does. */
static bool asks_type(const struct attribution *a, uint32_t found)
{
	const struct component_owner *owner = &a->judge.owners.at[found & ~UNSURE];

	return found & UNSURE && !(owner->rule && owner->rule->user);
}

/* ---- adding up ---- */

/* Returns the row of a process's blocks of a component and type. */
static struct component_row *row_of(struct attribution *a, uint32_t process, uint32_t name,
				    uint32_t type)
{
	uint64_t hash = hash_keys(hash_keys(process, name), type);
	uint32_t at = hash_table_find(&a->row_index, hash, i,
				      a->rows.at[i].process == process &&
					      a->rows.at[i].name == name &&
					      a->rows.at[i].type == type);

	if (at == HASH_NONE) {
		at = (uint32_t)a->rows.count;
		*vec_push(&a->rows) = (struct component_row){ .process = process,
							      .type = type,
							      .name = name };
		hash_table_add(&a->row_index, hash, at);
	}
	return &a->rows.at[at];
}

/* Takes a row (process, stack, type, value, variance). */
static void take_stat(struct attribution *a, const struct query *q)
{
	uint32_t process = (uint32_t)query_number(q, 0), stack = query_id(q, 1, a->stack_limit),
		 type = (uint32_t)query_number(q, 2);
	uint32_t found = stack ? a->owner_of_stack[stack] : OWNER_NO_STACK;
	struct component_owner *owner = &a->judge.owners.at[found & ~UNSURE];
	uint64_t value = (uint64_t)query_number(q, 3), variance = (uint64_t)query_number(q, 4);
	struct component_row *row;

	if (asks_type(a, found) && type < a->type_limit && a->types[type].owner)
		owner = &a->judge.owners.at[a->types[type].owner];
	row = row_of(a, process, owner->name, type);
	row->value += value;
	row->variance += variance;
	owner->value += value;
	owner->variance += variance;
	owner->rows++;
	a->total += value;
}

ORDER_BY(by_value, struct component_owner, ORDER_DOWN(value) ?: ORDER_DOWN(rows))

/* Moves the sums to `out`; leaves out owners without rows. */
static void take_out(struct attribution *a, struct components *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->judge.owners.count; i++)
		if (a->judge.owners.at[i].rows)
			a->judge.owners.at[kept++] = a->judge.owners.at[i];
	if (kept)
		qsort(a->judge.owners.at, kept, sizeof(*a->judge.owners.at), by_value);
	*out = (struct components){ .rows = a->rows.at,
				    .count = a->rows.count,
				    .owners = a->judge.owners.at,
				    .owner_count = kept,
				    .names = a->judge.names,
				    .total = a->total };
	a->rows.at = NULL;
	a->judge.owners.at = NULL;
	a->judge.names = (struct texts){ 0 };
}

/* Finds the owner of each stack and type. */
static struct shiny_err *attribute(struct attribution *a)
{
	take_limits(a);
	SHINY_TRY(each(a, "SELECT kind, pattern FROM boring", take_boring));
	SHINY_TRY(each(a, "SELECT id, name FROM function", take_function));
	SHINY_TRY(each(a, "SELECT id, path FROM source", take_source));
	/* a program has the name it was started by, if that was always the same */
	SHINY_TRY(each(a,
		       "SELECT m.id, COALESCE((SELECT MIN(p.name) FROM process p WHERE "
		       "p.executable = m.path HAVING COUNT(DISTINCT p.name) = 1), m.path), "
		       "m.places FROM module m",
		       take_module));
	SHINY_TRY(each(a, "SELECT id, name FROM type WHERE confidence <> 'label'", take_type));
	SHINY_TRY(each(a,
		       "SELECT f.id, f.module, l.depth, l.function, l.source FROM frame f LEFT "
		       "JOIN frame_line l ON l.frame = f.id "
		       "ORDER BY f.id, l.depth",
		       take_line));
	SHINY_TRY(each(a,
		       "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
		       "stack_tail",
		       take_tail));
	SHINY_TRY(each(a,
		       "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
		       "stack",
		       take_stack));
	return NULL;
}

static void begin(struct attribution *a, struct store *store, const struct component_rules *rules)
{
	*a = (struct attribution){.store = store};
	component_judge_begin(&a->judge, rules);
}

static void end(struct attribution *a)
{
	component_judge_end(&a->judge);
	free(a->rows.at);
	hash_table_deinit(&a->row_index);
	free(a->functions);
	free(a->sources);
	free(a->types);
	free(a->modules);
	free(a->lines.at);
	free(a->first_line);
	free(a->tails);
	free(a->owner_of_stack);
}

struct shiny_err *components_load(struct store *store, const struct filter *filter,
				  const struct component_rules *rules, const char *column,
				  struct components *out)
{
	char *stats = mem_format("SELECT s.process, s.stack, s.type, s.%s, s.%s_variance FROM "
				 "stat s WHERE %s",
				 column, column, filter_blocks(filter));
	struct attribution a;
	struct shiny_err *err;

	begin(&a, store, rules);
	err = attribute(&a);
	if (!err)
		err = each(&a, stats, take_stat);
	if (!err)
		take_out(&a, out);
	free(stats);
	end(&a);
	return err;
}

void components_deinit(struct components *components)
{
	texts_deinit(&components->names);
	free(components->owners);
	free(components->rows);
}

/* Replaces the numbers of owners by those of their names. */
static void name_stacks(struct attribution *a, struct component_stacks *out)
{
	const struct component_owner *owners = a->judge.owners.at;
	struct component_stacks stacks = { .stack_count = a->stack_limit,
					   .type_count = a->type_limit };

	stacks.of_stack = mem_zero(a->stack_limit, sizeof(*stacks.of_stack));
	stacks.of_stack[0] = owners[OWNER_NO_STACK].name;
	for (size_t i = 1; i < a->stack_limit; i++) {
		uint32_t found = a->owner_of_stack[i];

		stacks.of_stack[i] = owners[found & ~UNSURE].name |
				     (asks_type(a, found) ? COMPONENT_ASK_TYPE : 0);
	}
	stacks.of_type = mem_zero(a->type_limit, sizeof(*stacks.of_type));
	for (size_t i = 1; i < a->type_limit; i++)
		stacks.of_type[i] = a->types[i].owner ? owners[a->types[i].owner].name : 0;
	stacks.function_count = a->lines.count;
	stacks.of_function = mem_zero(a->lines.count + 1, sizeof(*stacks.of_function));
	for (size_t i = 0; i < a->lines.count; i++) {
		const struct line *line = &a->lines.at[i];

		stacks.of_function[i] =
			owners[line->owner ?: a->modules[line->module].owner].name;
	}
	stacks.names = a->judge.names;
	a->judge.names = (struct texts){ 0 };
	*out = stacks;
}

struct shiny_err *component_stacks_load(struct store *store, const struct component_rules *rules,
					struct component_stacks *out)
{
	struct attribution a;
	struct shiny_err *err;

	begin(&a, store, rules);
	err = attribute(&a);
	if (!err)
		name_stacks(&a, out);
	end(&a);
	return err;
}

void component_stacks_deinit(struct component_stacks *stacks)
{
	texts_deinit(&stacks->names);
	free(stacks->of_stack);
	free(stacks->of_type);
	free(stacks->of_function);
	*stacks = (struct component_stacks){ 0 };
}
