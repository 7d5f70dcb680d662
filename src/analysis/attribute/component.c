/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component.c: see component.h; what a rule may say, and in which order rules are asked, stands in
 * components.rules.
 *
 * Names are many times fewer than stacks: each function, source file and module is put to the rules
 * once, each stack then only walks over numbers. A Chromium session's 260,000 stacks of 15 frames
 * are walked in less time than SQLite takes to hand them over.
 *
 * The innermost function that a rule gives an owner is the wrong answer for base::flat_map and
 * WTF::Vector: the component that uses them owns the memory. So weak rules wait for something
 * stronger. The wait must not go too far: at the far end of nearly every stack of a browser stands
 * content::ContentMain, and a loop that runs tasks for everybody. Hence `stop`.
 *
 * A frame that only a module's rule knows is harder. In a library it says what there is to say. In
 * Chromium with symbols it is png_read_row or a lambda in an unnamed namespace, and the caller
 * tells whose. But a callback of a program without names, called by libglib's main loop, must not
 * become libglib's. So the search continues only while the stack stays in the module.
 *
 * Chromium as shipped has no function names at all. But the classes of many blocks are known, from
 * vtables and from Oilpan's own table of names. Where only a module's rule knows the stack, or the
 * place of a function, the rules of functions are asked about the block's class first:
 * blink::LayoutBlockFlow is blink's. Places are put to the rules of sources, if the module has them
 * for functions that name no source file, too: shared code has none, so that the first frame that
 * has one is the owner as a rule (Chromium 156: 95 % of allocations with all places of the owner's
 * own file hidden). A directory is a place as its files are.
 */
#define _GNU_SOURCE
#include "component.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/function_name.h"
#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define UNDECIDED UINT32_MAX          /* rule: none matches */
/* beside a stack's owner: only a module's rule says so, or a place */
#define UNSURE (UINT32_C(1) << 31)

enum {
	PART = 6,          /* frames in a row of tables stack and stack_tail */
	NOBODY = 0,        /* owner: passed over */
	NO_STACK = 1,      /* owners of their own, without a rule */
	NO_MODULE = 2,
};

/* The first rule that a name matches, and the owner that it names. */
struct verdict {
	uint32_t rule;  /* its place in the order; UNDECIDED none */
	uint32_t owner; /* NOBODY: nobody's */
	bool weak, stop;
	bool guess; /* of a function: its name stands in a text of its code */
};
/* A function of a frame. */
struct line {
	uint32_t owner, module;
	bool weak, stop, last; /* last: the frame ends here */
	bool by_module;        /* only its module names an owner */
	bool by_place;         /* it has no name, but a place */
};
struct module {
	struct verdict first; /* of all rules */
	uint32_t owner;       /* of the first rule that names one */
	bool placed;          /* where code without names comes from is known of most of it */
};
/* Numbers that stand for pairs of numbers. All zero is empty. */
struct map {
	struct { uint64_t a, b; uint32_t value; } *at; /* value 0: empty */
	size_t count, room; /* room is 0 or a power of two, at least twice the count */
};

struct attribution {
	struct store *store;
	const struct component_rules *rules;
	struct component_rules boring; /* the session's table, in the form of rules */
	size_t user_count;
	struct components out;
	struct map names, owners, rows; /* what is in `out`, by: text's hash; rule and name;
	                                 * process, and name and type */
	struct verdict *functions, *sources, *types; /* by id */
	struct module *modules;
	size_t function_limit, source_limit, module_limit, frame_limit, stack_limit, tail_limit,
		type_limit;
	VEC(struct line) lines;
	uint32_t *first_line; /* of a frame, plus 1 */
	uint32_t (*tails)[PART + 1];
	uint32_t *owner_of_stack; /* by id; perhaps with UNSURE */
};

/* ---- names ---- */

/* The value of a pair, to be read or set: 0 is a new one. */
static uint32_t *map_at(struct map *map, uint64_t a, uint64_t b)
{
	struct map old = *map;
	size_t at;

	if (2 * (map->count + 1) > map->room) {
		*map = (struct map){.room = old.room ? old.room * 2 : 256};
		map->at = mem_zero(map->room, sizeof(*map->at));
		for (size_t i = 0; i < old.room; i++)
			if (old.at[i].value)
				*map_at(map, old.at[i].a, old.at[i].b) = old.at[i].value;
		free(old.at);
	}
	at = hash_pair(a, b) & (map->room - 1);
	while (map->at[at].value && (map->at[at].a != a || map->at[at].b != b))
		at = (at + 1) & (map->room - 1);
	if (!map->at[at].value) { /* the caller sets it at once */
		map->count++;
		map->at[at].a = a;
		map->at[at].b = b;
	}
	return &map->at[at].value;
}

/* Takes `name` over. */
static uint32_t intern(struct attribution *a, char *name)
{
	struct components *c = &a->out;
	uint64_t hash = XXH3_64bits(name, strlen(name));

	for (uint64_t same_hash = 0;; same_hash++) {
		uint32_t *at = map_at(&a->names, hash, same_hash);

		if (!*at) {
			if (c->name_count == c->name_room) {
				c->name_room = c->name_room ? c->name_room * 2 : 64;
				c->names = mem_resize(c->names, c->name_room, sizeof(*c->names));
			}
			c->names[c->name_count++] = name;
			*at = (uint32_t)c->name_count;
			return *at - 1;
		}
		if (strcmp(c->names[*at - 1], name) == 0) {
			free(name);
			return *at - 1;
		}
	}
}

static uint32_t owner_named(struct attribution *a, char *text, const struct component_rule *rule)
{
	struct components *c = &a->out;
	uint32_t name = intern(a, text), *at = map_at(&a->owners, (uintptr_t)rule, name);

	if (!*at) {
		if (c->owner_count == c->owner_room) {
			c->owner_room = c->owner_room ? c->owner_room * 2 : 64;
			c->owners = mem_resize(c->owners, c->owner_room, sizeof(*c->owners));
		}
		c->owners[c->owner_count++] = (struct component_owner){.name = name, .rule = rule};
		*at = (uint32_t)c->owner_count;
	}
	return *at - 1;
}

static uint32_t owner_of(struct attribution *a, const struct component_rule *rule,
			 const struct component_match *match)
{
	return owner_named(a, component_rule_name(rule, match), rule);
}

static bool is_boring(const struct attribution *a, enum component_kind kind, const char *text,
		      size_t length)
{
	struct component_match match;

	for (size_t i = 0; i < a->boring.count; i++)
		if (a->boring.at[i].kind == kind &&
		    component_pattern_matches(a->boring.at[i].pattern, kind, text, length, &match))
			return true;
	return false;
}

/* The order of rules: users', then what is boring (place user_count), then the built-in ones (place
 * in the table plus 1). */
static struct verdict judge(struct attribution *a, enum component_kind kind, const char *text,
			    size_t length)
{
	struct component_match match;

	for (size_t i = 0; i < a->rules->count; i++) {
		const struct component_rule *r = &a->rules->at[i];

		if (i == a->user_count && is_boring(a, kind, text, length))
			return (struct verdict){.rule = (uint32_t)i, .owner = NOBODY};
		if (r->kind == kind &&
		    component_pattern_matches(r->pattern, kind, text, length, &match))
			return (struct verdict){ .rule = (uint32_t)(i + (i >= a->user_count)),
						 .weak = r->weak,
						 .stop = r->stop,
						 .owner = r->component ? owner_of(a, r, &match)
								       : NOBODY };
	}
	return (struct verdict){.rule = UNDECIDED};
}

/* The owner of a module, for stacks on which no frame has one. */
static uint32_t owner_of_module(struct attribution *a, const char *text)
{
	struct component_match match;

	for (size_t i = 0; i < a->rules->count; i++) {
		const struct component_rule *r = &a->rules->at[i];

		if (r->kind == COMPONENT_MODULE && r->component &&
		    component_pattern_matches(r->pattern, r->kind, text, strlen(text), &match))
			return owner_of(a, r, &match);
	}
	return NO_MODULE;
}

/* ---- reading the session ---- */

typedef void take_fn(struct attribution *a, const struct query *q);

static struct shiny_err *each(struct attribution *a, const char *sql, take_fn *take)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(a->store, sql, &q);

	while (!err && !(err = query_step(q, &row)) && row)
		take(a, q);
	query_end(q);
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
	a->functions[0].rule = a->sources[0].rule = UNDECIDED;
	a->modules[0] = (struct module){{.rule = UNDECIDED}, NO_MODULE, false};
}

/* A [ in a boring pattern is itself: it belongs to operator new[]. */
static void take_boring(struct attribution *a, const struct query *q)
{
	const char *from = query_text(q, 1);
	char *pattern = mem_alloc(3 * strlen(from) + 1), *to = pattern;

	for (; *from; from++) {
		if (*from == '[')
			to = stpcpy(to, "[[]");
		else
			*to++ = *from;
	}
	*to = '\0';
	if (a->boring.count == a->boring.room) {
		a->boring.room = a->boring.room ? a->boring.room * 2 : 256;
		a->boring.at = mem_resize(a->boring.at, a->boring.room, sizeof(*a->boring.at));
	}
	a->boring.at[a->boring.count++] =
		(struct component_rule){ .kind = strcmp(query_text(q, 0), "module") == 0
							 ? COMPONENT_MODULE
							 : COMPONENT_FUNCTION,
					 .pattern = pattern };
}

static void take_function(struct attribution *a, const struct query *q)
{
	const char *name = function_name_start(query_text(q, 1));
	uint32_t id = query_id(q, 0, a->function_limit);

	if (!id)
		return;
	/* it may be the name of a function inlined there: its file says more */
	if (*query_text(q, 1) == '~')
		a->functions[id] = (struct verdict){ .rule = UNDECIDED, .guess = true };
	else
		a->functions[id] = judge(a, COMPONENT_FUNCTION, name, function_name_length(name));
}

static void take_source(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->source_limit);

	if (id)
		a->sources[id] =
			judge(a, COMPONENT_SOURCE, query_text(q, 1), strlen(query_text(q, 1)));
}

/* A class is asked about as its member functions would be. */
static void take_type(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->type_limit);

	if (id)
		a->types[id] =
			judge(a, COMPONENT_FUNCTION, query_text(q, 1), strlen(query_text(q, 1)));
}

static void take_module(struct attribution *a, const struct query *q)
{
	const char *name = text_base(query_text(q, 1));
	uint32_t id = query_id(q, 0, a->module_limit);

	if (id)
		a->modules[id] = (struct module){ judge(a, COMPONENT_MODULE, name, strlen(name)),
						  owner_of_module(a, name),
						  strcmp(query_text(q, 2), "neighbours") == 0 };
}

/* Rows: frame, module, depth, function, source; innermost first. */
static void take_line(struct attribution *a, const struct query *q)
{
	uint32_t frame = query_id(q, 0, a->frame_limit), module = query_id(q, 1, a->module_limit);
	uint32_t id = query_id(q, 3, a->function_limit);
	bool named = id && !a->functions[id].guess;
	/* where few functions have a place, the first one that has is seldom the owner */
	bool known = named || a->modules[module].placed;
	struct verdict best = a->modules[module].first;
	struct verdict function = a->functions[id],
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
	*vec_push(&a->lines) = (struct line){.owner = best.owner, .module = module, .weak = best.weak, .stop = best.stop, .last = true,
					     .by_module = by_module,
					     .by_place = !named && !by_module};
}

static void take_tail(struct attribution *a, const struct query *q)
{
	uint32_t id = query_id(q, 0, a->tail_limit);

	if (!id)
		return;
	for (int i = 0; i < PART; i++)
		a->tails[id][i] = query_id(q, 1 + i, a->frame_limit);
	a->tails[id][PART] = query_id(q, 1 + PART, id); /* lower than its own: so a chain ends */
}

/* ---- owners of stacks ---- */

struct walk {
	uint32_t weak, weak_module;  /* owner so far, NOBODY none; and where it was found */
	uint32_t held, held_module;  /* the same of what only its module says */
	uint32_t passed;             /* the module of the first function that was passed over */
};

static uint32_t settle(const struct walk *w)
{
	return w->weak	   ? w->weak
	       : w->held   ? w->held | UNSURE
	       : w->passed ? w->passed | UNSURE
			   : NO_MODULE;
}

/* Looks at one function; true: the stack's owner is *owner. */
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

/* False: continue with the next part. */
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

/* Rows: stack, its innermost frames, its tail. */
static void take_stack(struct attribution *a, const struct query *q)
{
	uint32_t frames[PART], owner = NO_STACK, tail = query_id(q, 1 + PART, a->tail_limit);
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

/* The block's type is asked before what is known of its stack. */
static bool asks_type(const struct attribution *a, uint32_t found)
{
	const struct component_owner *owner = &a->out.owners[found & ~UNSURE];

	return found & UNSURE && !(owner->rule && owner->rule->user);
}

/* ---- adding up ---- */

/* Rows: process, stack, type, value. */
static void take_stat(struct attribution *a, const struct query *q)
{
	uint32_t process = (uint32_t)query_number(q, 0), stack = query_id(q, 1, a->stack_limit),
		 type = (uint32_t)query_number(q, 2);
	uint32_t found = stack ? a->owner_of_stack[stack] : NO_STACK, *at;
	struct component_owner *owner = &a->out.owners[found & ~UNSURE];
	uint64_t value = (uint64_t)query_number(q, 3);

	if (asks_type(a, found) && type < a->type_limit && a->types[type].owner)
		owner = &a->out.owners[a->types[type].owner];
	at = map_at(&a->rows, process, (uint64_t)owner->name << 32 | type);
	if (!*at) {
		if (a->out.count == a->out.room) {
			a->out.room = a->out.room ? a->out.room * 2 : 1024;
			a->out.rows = mem_resize(a->out.rows, a->out.room, sizeof(*a->out.rows));
		}
		a->out.rows[a->out.count++] = (struct component_row){ .process = process,
								      .type = type,
								      .name = owner->name };
		*at = (uint32_t)a->out.count;
	}
	a->out.rows[*at - 1].value += value;
	owner->value += value;
	owner->rows++;
	a->out.total += value;
}

static int by_value(const void *left, const void *right)
{
	const struct component_owner *a = left, *b = right;

	return a->value != b->value ? (a->value < b->value ? 1 : -1)
				    : (a->rows < b->rows) - (a->rows > b->rows);
}

/* Leaves out those that own nothing here. */
static void sort_owners(struct components *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->owner_count; i++)
		if (c->owners[i].rows)
			c->owners[kept++] = c->owners[i];
	c->owner_count = kept;
	if (kept)
		qsort(c->owners, kept, sizeof(*c->owners), by_value);
}

/* Finds the owner of each stack and type. */
static struct shiny_err *attribute(struct attribution *a)
{
	struct shiny_err *err;

	take_limits(a);
	err = each(a, "SELECT kind, pattern FROM boring", take_boring);
	if (!err)
		err = each(a, "SELECT id, name FROM function", take_function);
	if (!err)
		err = each(a, "SELECT id, path FROM source", take_source);
	if (!err)
		/* a program is called as it was started, if it always was under one name */
		err = each(a,
			   "SELECT m.id, COALESCE((SELECT MIN(p.name) FROM process p WHERE "
			   "p.executable = m.path HAVING COUNT(DISTINCT p.name) = 1), m.path), "
			   "m.places FROM module m",
			   take_module);
	if (!err)
		err = each(a, "SELECT id, name FROM type WHERE confidence <> 'label'", take_type);
	if (!err)
		err = each(a,
			   "SELECT f.id, f.module, l.depth, l.function, l.source FROM frame f LEFT "
			   "JOIN frame_line l ON l.frame = f.id "
			   "ORDER BY f.id, l.depth",
			   take_line);
	if (!err)
		err = each(a,
			   "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
			   "stack_tail",
			   take_tail);
	if (!err)
		err = each(a,
			   "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
			   "stack",
			   take_stack);
	return err;
}

static void begin(struct attribution *a, struct store *store, const struct component_rules *rules)
{
	*a = (struct attribution){.store = store, .rules = rules};
	while (a->user_count < rules->count && rules->at[a->user_count].user)
		a->user_count++;
	owner_named(a, mem_text("(nobody)"), NULL); /* in the order of the constants */
	owner_named(a, mem_text("(no stack)"), NULL);
	owner_named(a, mem_text("(no module)"), NULL);
}

/* All but what is in `out`. */
static void end(struct attribution *a)
{
	for (size_t i = 0; i < a->boring.count; i++)
		free((char *)a->boring.at[i].pattern);
	free(a->boring.at);
	free(a->names.at);
	free(a->owners.at);
	free(a->rows.at);
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
	char *stats = mem_format("SELECT s.process, s.stack, s.type, s.%s FROM stat s WHERE %s",
				 column, filter_blocks(filter));
	struct attribution a;
	struct shiny_err *err;

	begin(&a, store, rules);
	err = attribute(&a);
	if (!err)
		err = each(&a, stats, take_stat);
	free(stats);
	end(&a);
	if (err) {
		components_deinit(&a.out);
		return err;
	}
	sort_owners(&a.out);
	*out = a.out;
	return NULL;
}

void components_deinit(struct components *components)
{
	for (size_t i = 0; i < components->name_count; i++)
		free(components->names[i]);
	free(components->names);
	free(components->owners);
	free(components->rows);
}

struct shiny_err *component_stacks_load(struct store *store, const struct component_rules *rules,
					struct component_stacks *out)
{
	struct component_stacks stacks = { 0 };
	struct attribution a;
	struct shiny_err *err;

	begin(&a, store, rules);
	err = attribute(&a);
	if (!err) {
		stacks.stack_count = a.stack_limit;
		stacks.of_stack = mem_zero(a.stack_limit, sizeof(*stacks.of_stack));
		/* the names of the constants are numbered as their owners */
		stacks.of_stack[0] = NO_STACK;
		for (size_t i = 1; i < a.stack_limit; i++) {
			uint32_t found = a.owner_of_stack[i];

			stacks.of_stack[i] = a.out.owners[found & ~UNSURE].name |
					     (asks_type(&a, found) ? COMPONENT_ASK_TYPE : 0);
		}
		stacks.type_count = a.type_limit;
		stacks.of_type = mem_zero(a.type_limit, sizeof(*stacks.of_type));
		for (size_t i = 1; i < a.type_limit; i++)
			stacks.of_type[i] =
				a.types[i].owner ? a.out.owners[a.types[i].owner].name : 0;
		stacks.names = a.out.names;
		stacks.name_count = a.out.name_count;
		a.out.names = NULL;
		a.out.name_count = 0;
		*out = stacks;
	}
	end(&a);
	components_deinit(&a.out);
	return err;
}

void component_stacks_deinit(struct component_stacks *stacks)
{
	for (size_t i = 0; i < stacks->name_count; i++)
		free(stacks->names[i]);
	free(stacks->names);
	free(stacks->of_stack);
	free(stacks->of_type);
	*stacks = (struct component_stacks){ 0 };
}
