/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_types.c: see block_types.h.
 *
 * A block's type does not depend on its process, so the rows of a stack are handled together, for
 * all processes: the symbolizer is asked once for each set of sizes. If the site has no type,
 * blocks without a vptr learn from others of their stack and size, for two reasons:
 *
 * - Short lives. A destructor may leave no vptr to be read at the free. They have the type of the
 *   long-lived blocks, if enough of those agree.
 * - Chance. A thread is stopped between an allocation and its constructor, and other threads push
 *   the block out of the nursery; or they take its entry, or the block is freed while it is read:
 *   one block in some hundred thousand has no vptr. If most of the stack's blocks have one, even
 *   one read at the free, and all agree, the others have the same type, at low confidence. Else a
 *   class would have a block that is called "40-byte object", in 2 of 300 recordings of
 *   test/e2e/stable.cc, stripped.
 */
#include "block_types.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash_bytes.h"
#include "../../base/hash_table.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "type_members.h"

enum { LEARN_BLOCKS = 8 };

/* A process's rows of one stack. */
struct type_group {
	uint32_t stack, process, site;
};
/* A tally, its sizes and its type. */
struct tally_row {
	struct tally *tally;
	struct sym_sizes sizes;
	struct sym_type type;
	uint32_t vtable; /* source of the type; 0: the site */
};

struct concluder {
	const struct people *people;
	struct output *output;
	const struct sidecar_options *options;
	const struct types_names *names;
	VEC(struct tally_row) rows;         /* of the current stack */
	VEC(struct store_type) types; /* written so far; [id - 1] */
	struct hash_table table;      /* indexes of types, by name and container */
};

/* ---- rows ---- */

static void fold_false(struct site_stats *site, const struct sym_vtable *vtables)
{
	struct tally *zero = NULL;

	for (struct tally *s = site->stats; s; s = s->next)
		if (s->vtable && vtables[s->vtable].source == SYM_VTABLE_NONE) {
			s->vtable = 0;
			s->settled = s->dying = 0;
			s->second_word = false;
		}
	for (struct tally **link = &site->stats, *s; (s = *link);) {
		if (s->vtable || !zero) {
			zero = s->vtable ? zero : s;
			link = &s->next;
			continue;
		}
		*link = s->next;
		stats_merge(zero, s);
	}
}

/* Sorts by stack, stably. Stacks are numbers from 0 to `most`: counting sort takes a tenth of the
 * time of comparing. */
static struct type_group *by_stack(const struct type_group *groups, size_t count, size_t most)
{
	struct type_group *sorted = mem_alloc(count * sizeof(*sorted));
	uint32_t *next = mem_zero(most + 2, sizeof(*next));

	for (size_t i = 0; i < count; i++)
		next[groups[i].stack + 1]++;
	for (size_t stack = 0; stack < most; stack++)
		next[stack + 1] += next[stack];
	for (size_t i = 0; i < count; i++)
		sorted[next[groups[i].stack]++] = groups[i];
	free(next);
	return sorted;
}

/* ---- types ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_type(const struct store_type *a, const struct store_type *b)
{
	return same_text(a->name, b->name) && same_text(a->container, b->container) &&
	       same_text(a->form, b->form) && same_text(a->rule, b->rule) &&
	       same_text(a->confidence, b->confidence) && same_text(a->source, b->source) &&
	       a->bytes == b->bytes && a->or_derived == b->or_derived;
}

static uint64_t hash_type(const struct store_type *type)
{
	uint64_t hash = hash_bytes(type->name, strlen(type->name));

	if (type->container)
		hash ^= hash_bytes(type->container, strlen(type->container));
	return hash;
}

/* Returns the id of the type's row, writing it the first time; 0: no type. Strings belong to the
 * context, and outlive this. */
static uint32_t type_id(struct concluder *c, const struct tally_row *row)
{
	const struct sym_type *t = &row->type;
	struct store_type type = {
		.name = t->type,
		.container = t->container,
		.form = sym_form_name(t->form),
		.rule = sym_rule_name(t->rule),
		.confidence = sym_confidence_name(t->confidence),
		.source = row->vtable
				  ? sym_vtable_source_name(c->names->vtables[row->vtable].source)
				  : "site",
		.bytes = t->bytes,
		.or_derived = t->or_derived
	};
	uint64_t hash;
	uint32_t at;

	if (!t->type)
		return 0;
	hash = hash_type(&type);
	at = hash_table_find(&c->table, hash, i, same_type(&c->types.at[i], &type));
	if (at == HASH_NONE) {
		at = (uint32_t)c->types.count;
		type.id = at + 1;
		*vec_push(&c->types) = type;
		hash_table_add(&c->table, hash, at);
		OUTPUT_PUT(c->output, store_put_type, &type);
		if (c->output->has_snapshots)
			type_members_put(c->output, c->names->modules, &type);
	}
	return at + 1;
}

/* ---- a stack ---- */

static void ask_site(struct concluder *c, uint32_t stack, uint32_t api,
		     const struct sym_sizes *sizes, struct sym_type *out)
{
	const struct ids *ids = &c->output->ids;
	const struct id_stack *s = &ids->stacks.at[stack - 1];
	struct sym_call calls[SYM_CLIMB_MAX];
	size_t count = s->count < SYM_CLIMB_MAX ? s->count : SYM_CLIMB_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct id_place *frame =
			&ids->frames.at[ids->stack_frames.at[s->first + i] - 1];

		calls[i] =
			(struct sym_call){ frame->module ? c->names->modules[frame->module] : NULL,
					   frame->vaddr };
	}
	sym_site_type(c->names->sym, calls, count, api, sizes, out, NULL);
}

static void conclude_row(struct concluder *c, struct tally_row *row, const struct sym_type *site)
{
	const struct tally *s = row->tally;
	enum shiny_vptr_api when = stats_reading(s);
	struct sym_reading reading = { .young = when == SHINY_VPTR_FLUSH,
				       .dying = when == SHINY_VPTR_FREE,
				       .second_word = s->second_word };

	if (s->vtable)
		reading.vtable = &c->names->vtables[s->vtable];
	sym_type_combine(c->names->sym, site, &reading, &row->sizes, &row->type, NULL);
	if (row->type.rule == SYM_RULE_VPTR || row->type.rule == SYM_RULE_BOTH ||
	    row->type.rule == SYM_RULE_KIND || row->type.rule == SYM_RULE_NAMED ||
	    row->type.rule == SYM_RULE_RUN_TIME)
		row->vtable = s->vtable;
}

/* The type that the vptrs of a stack's blocks agree on. */
struct lesson {
	const struct tally_row *teacher; /* NULL: no vptr was read, or they disagree */
	uint64_t blocks;                 /* blocks whose vptr was read */
};

static uint64_t row_blocks(const struct tally_row *row)
{
	return row->tally->allocs + tally_rare(row->tally)->inherited;
}

static struct lesson lesson_of(const struct concluder *c, bool settled)
{
	struct lesson lesson = { 0 };

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct tally_row *row = &c->rows.at[i];
		const struct tally *s = row->tally;

		if (!s->vtable ||
		    (settled && (s->second_word || stats_reading(s) != SHINY_VPTR_SETTLED)))
			continue;
		if (!row->type.type || row->type.rule != SYM_RULE_VPTR || row->sizes.step ||
		    (settled && row->type.confidence < SYM_MEDIUM))
			return (struct lesson){ 0 };
		if (!lesson.teacher)
			lesson.teacher = row;
		if (row->type.type != lesson.teacher->type.type ||
		    row->type.form != lesson.teacher->type.form ||
		    row->sizes.min != lesson.teacher->sizes.min)
			return (struct lesson){ 0 };
		lesson.blocks += settled ? s->settled : row_blocks(row);
	}
	return lesson;
}

static bool can_learn(const struct tally_row *row, const struct lesson *lesson)
{
	return !row->tally->vtable && !row->sizes.step &&
	       row->sizes.min == lesson->teacher->sizes.min &&
	       (!row->type.type || row->type.confidence == SYM_LABEL);
}

static void teach(struct concluder *c, const struct lesson *lesson, enum sym_confidence most)
{
	for (size_t i = 0; i < c->rows.count; i++) {
		struct tally_row *row = &c->rows.at[i];

		if (!can_learn(row, lesson))
			continue;
		row->type = lesson->teacher->type;
		row->type.rule = SYM_RULE_LEARNED;
		if (row->type.confidence > most)
			row->type.confidence = most;
		row->vtable = lesson->teacher->vtable;
	}
}

/* Gives blocks without a vptr the type of the others of their stack, if these agree and the site
 * has no type. */
static void learn(struct concluder *c)
{
	struct lesson settled = lesson_of(c, true), any = lesson_of(c, false);
	uint64_t unread = 0;

	if (settled.blocks >= LEARN_BLOCKS) {
		teach(c, &settled, SYM_MEDIUM);
		return;
	}
	for (size_t i = 0; i < c->rows.count; i++)
		if (!c->rows.at[i].tally->vtable)
			unread += row_blocks(&c->rows.at[i]);
	if (any.blocks > unread)
		teach(c, &any, SYM_LOW);
}

static void conclude_stack(struct concluder *c, const struct type_group *groups, size_t count)
{
	struct sym_type site = { 0 };
	struct sym_sizes asked = { 0 };
	uint32_t asked_api = UINT32_MAX;

	c->rows.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct site_stats *at =
			&c->people->all.at[groups[i].process]->stats.sites.at[groups[i].site];

		for (struct tally *s = at->stats; s; s = s->next) {
			struct tally_row row = { .tally = s,
					   .sizes = { s->min_size, s->max_size, s->size_step } };

			if (s->min_size == UINT64_MAX)
				row.sizes = (struct sym_sizes){ 0 };
			if (groups[i].stack && at->api != SHINY_API_COLLECTED &&
			    !c->options->no_site_types &&
			    (asked_api != at->api || memcmp(&asked, &row.sizes, sizeof(asked)))) {
				asked = row.sizes;
				asked_api = at->api;
				ask_site(c, groups[i].stack, asked_api, &asked, &site);
			}
			conclude_row(c, &row, &site);
			*vec_push(&c->rows) = row;
		}
	}
	learn(c);
	for (size_t i = 0; i < c->rows.count; i++)
		c->rows.at[i].tally->type = type_id(c, &c->rows.at[i]);
}

/* ---- warming: callers of the callers ---- */

bool *types_innermost(const struct people *people, const struct output *output,
		      const struct sidecar_options *options)
{
	bool *innermost = mem_zero(output->ids.frames.count + 1, sizeof(*innermost));

	for (size_t p = 0; p < people->all.count && !options->no_site_types; p++) {
		const struct stats *stats = &people->all.at[p]->stats;

		for (size_t i = 0; i < stats->sites.count; i++) {
			uint32_t stack = stats->sites.at[i].stack;
			const struct id_stack *s = stack ? &output->ids.stacks.at[stack - 1] : NULL;

			if (s && s->count && stats->sites.at[i].stats)
				innermost[output->ids.stack_frames.at[s->first] - 1] = true;
		}
	}
	return innermost;
}

/* A frame to ask the symbolizer about. */
struct climber {
	struct sym_call call;
	uint32_t module, frame;
};

ORDER_BY(by_call, struct climber, ORDER_UP(module) ?: ORDER_UP(call.vaddr))

/*
 * Warms the innermost frames of all stacks by address, then the next frames of those stacks whose
 * first ones have no answer, and so on. There are many stacks and few frames: each frame is warmed
 * once.
 */
static void climb(const struct output *output, const struct types_names *names,
		  const struct type_group *groups, size_t count)
{
	enum { NOT_ASKED, KNOWS, CLIMBS };
	const struct ids *ids = &output->ids;
	uint8_t *answers = mem_zero(ids->frames.count + 1, sizeof(*answers));
	uint32_t *stacks = mem_zero(count + 1, sizeof(*stacks));
	VEC(struct climber) climbers = { 0 };
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (groups[i].stack && (!i || groups[i].stack != groups[i - 1].stack))
			stacks[left++] = groups[i].stack;
	for (unsigned depth = 0; left && depth < SYM_CLIMB_MAX; depth++) {
		size_t kept = 0;

		climbers.count = 0;
		for (size_t i = 0; i < left; i++) {
			const struct id_stack *s = &ids->stacks.at[stacks[i] - 1];
			uint32_t frame =
				depth < s->count ? ids->stack_frames.at[s->first + depth] - 1 : 0;
			const struct id_place *place = &ids->frames.at[frame];

			if (depth >= s->count || !place->module)
				continue;
			stacks[kept++] = stacks[i];
			if (answers[frame] == NOT_ASKED) {
				answers[frame] = KNOWS;
				*vec_push(&climbers) = (struct climber){
					{ names->modules[place->module], place->vaddr },
					place->module,
					frame,
				};
			}
		}
		if (climbers.count)
			qsort(climbers.at, climbers.count, sizeof(*climbers.at), by_call);
		for (size_t i = 0; i < climbers.count; i++)
			if (sym_site_warm(names->sym, &climbers.at[i].call))
				answers[climbers.at[i].frame] = CLIMBS;
		left = 0;
		for (size_t i = 0; i < kept; i++)
			if (answers[ids->stack_frames
					    .at[ids->stacks.at[stacks[i] - 1].first + depth] -
				    1] == CLIMBS)
				stacks[left++] = stacks[i];
	}
	free(answers);
	free(stacks);
	free(climbers.at);
}

void types_conclude(const struct people *people, struct output *output,
		    const struct sidecar_options *options, const struct types_names *names)
{
	struct concluder c = {
		.people = people, .output = output, .options = options, .names = names
	};
	VEC(struct type_group) found = { 0 };
	struct type_group *groups;
	struct progress progress;

	for (uint32_t p = 0; p < people->all.count; p++) {
		struct stats *stats = &people->all.at[p]->stats;

		for (uint32_t i = 0; i < stats->sites.count; i++) {
			fold_false(&stats->sites.at[i], names->vtables);
			if (stats->sites.at[i].stats)
				*vec_push(&found) =
					(struct type_group){ stats->sites.at[i].stack, p, i };
		}
	}
	groups = by_stack(found.at, found.count, output->ids.stacks.count);
	progress_begin(&progress, "typing call sites", options->progress);
	if (!options->no_site_types)
		climb(output, names, groups, found.count);
	for (size_t i = 0, next; i < found.count; i = next) {
		for (next = i + 1; next < found.count && groups[next].stack == groups[i].stack;)
			next++;
		conclude_stack(&c, &groups[i], next - i);
		progress_set(&progress, i, found.count);
	}
	progress_end(&progress);
	free(groups);
	free(found.at);
	free(c.rows.at);
	free(c.types.at);
	hash_table_deinit(&c.table);
}
