/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "breakdown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash_bytes.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../store/contents.h"
#include "../totals/losses.h"
#include "subset.h"
#include "../query/type_name.h"

const char *const breakdown_names[BREAKDOWN_DIMENSIONS] = {
	[BREAKDOWN_TYPE] = "type",
	[BREAKDOWN_SITE] = "site",
	[BREAKDOWN_COMPONENT] = "component",
	[BREAKDOWN_ROLE] = "role",
};

#define SEVERAL UINT32_MAX
#define PROGRAM "*" /* key of the recorded program's module: two builds are often two files */

/* ---- reading ---- */

struct loading {
	struct breakdown *out;
	struct store *store;
	struct component_stacks components;
	uint32_t *type_of; /* type id → type name's index */
	uint32_t *site_of; /* stack id → site */
	size_t type_limit, stack_limit, site_limit;
	uint32_t *only_type; /* site → the one type of its blocks that have a type, or SEVERAL */
	char *executable;
	struct hash_table cell_index; /* index of out->cells */
	size_t cell_room;
	bool full;
	const char *title;
};

typedef void take_fn(struct loading *l, const struct query *q);

static struct shiny_err *each_of(struct loading *l, struct store *store, const char *sql,
				 take_fn *take)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, sql, &q);

	QUERY_EACH (q, err)
		take(l, q);
	return err;
}

static struct shiny_err *each(struct loading *l, const char *sql, take_fn *take)
{
	return each_of(l, l->store, sql, take);
}

static void take_limits(struct loading *l)
{
	struct breakdown *c = l->out;

	l->type_limit = store_ids(l->store, "type");
	l->stack_limit = c->stack_count = store_ids(l->store, "stack");
	l->site_limit = store_ids(l->store, "site");
	c->module_count = store_ids(l->store, "module");
	c->process_count = store_ids(l->store, "process");
	l->type_of = mem_zero(l->type_limit, sizeof(*l->type_of));
	l->site_of = mem_zero(l->stack_limit, sizeof(*l->site_of));
	l->only_type = mem_zero(l->site_limit, sizeof(*l->only_type));
	c->sites = mem_zero(l->site_limit, sizeof(*c->sites));
	c->names[BREAKDOWN_SITE].at = mem_zero(l->site_limit, sizeof(*c->names[BREAKDOWN_SITE].at));
	c->names[BREAKDOWN_SITE].count = l->site_limit;
	c->modules = mem_zero(c->module_count, sizeof(*c->modules));
	c->role_of = mem_zero(c->process_count, sizeof(*c->role_of));
}

static void take_fact(struct loading *l, const struct query *q)
{
	if (strcmp(query_text(q, 0), "duration_ns") == 0)
		l->out->duration = (uint64_t)query_number(q, 1);
	else if (strcmp(query_text(q, 0), "executable") == 0 && !l->executable)
		l->executable = mem_text(query_text(q, 1));
}

/* Shortens "libfoo.so.1.2" to "libfoo.so". */
static char *without_version(const char *name)
{
	const char *so = strstr(name, ".so.");

	return so ? mem_format("%.*s", (int)(so + 3 - name), name) : mem_text(name);
}

static void take_module(struct loading *l, const struct query *q)
{
	const char *path = query_text(q, 1);
	struct breakdown_module *m = &l->out->modules[query_id(q, 0, l->out->module_count)];

	if (m == l->out->modules || m->key)
		return;
	m->name = mem_text(text_base(path));
	m->key = l->executable && strcmp(path, l->executable) == 0 ? mem_text(PROGRAM)
								   : without_version(m->name);
	m->build_id = mem_text(query_text(q, 2));
}

static void take_type(struct loading *l, const struct query *q)
{
	uint32_t id = query_id(q, 0, l->type_limit), place;
	bool label = strcmp(query_text(q, 4), "label") == 0;
	int guess =
		strcmp(query_text(q, 4), "low") == 0 ? 2 : strcmp(query_text(q, 4), "medium") == 0;
	size_t before = l->out->names[BREAKDOWN_TYPE].count;
	struct type_text name = { .type = query_text(q, 1),
				  .container = query_is_null(q, 2) ? NULL : query_text(q, 2),
				  .form = query_text(q, 3),
				  .confidence = label ? "label" : "exact",
				  .derived = false,
				  .full = l->full };
	char *text = type_name_block(&name), *full;

	name.full = true;
	full = type_name_block(&name);
	place = texts_put(&l->out->names[BREAKDOWN_TYPE], text);
	if (place == before && (place & (place - 1)) == 0) {
		l->out->full_types = mem_resize(l->out->full_types, place ? 2 * (size_t)place : 1,
						sizeof(*l->out->full_types));
		l->out->labels = mem_resize(l->out->labels, place ? 2 * (size_t)place : 1,
					    sizeof(*l->out->labels));
		l->out->guesses = mem_resize(l->out->guesses, place ? 2 * (size_t)place : 1,
					     sizeof(*l->out->guesses));
	}
	if (place == before) {
		l->out->full_types[place] = strcmp(full, text) != 0 ? mem_text(full) : NULL;
		l->out->labels[place] = label;
		l->out->guesses[place] = 0;
	}
	if (l->out->full_types[place] && strcmp(l->out->full_types[place], full) != 0) {
		free(l->out->full_types[place]);
		l->out->full_types[place] = NULL;
	}
	free(text);
	free(full);
	if (guess > l->out->guesses[place])
		l->out->guesses[place] = (uint8_t)guess;
	if (id)
		l->type_of[id] = place;
}

static void take_site(struct loading *l, const struct query *q)
{
	uint32_t id = query_id(q, 0, l->site_limit);
	struct breakdown_site *s = &l->out->sites[id];
	const char *function = query_text(q, 1), *file = query_text(q, 2);
	const char *module;
	char **text = &l->out->names[BREAKDOWN_SITE].at[id], *place;

	if (!id || *text)
		return;
	*s = (struct breakdown_site){ .function = *function ? mem_text(function) : NULL,
				      .file = *file ? mem_text(file) : NULL,
				      .line = (uint32_t)query_number(q, 3),
				      .module = query_id(q, 4, l->out->module_count),
				      .frame = (uint32_t)query_number(q, 5),
				      .vaddr = (uint64_t)query_number(q, 6) };
	module = l->out->modules[s->module].name;
	if (*function) {
		char *shorter = l->full ? mem_text(function) : type_name_function(function);

		place = s->line ? mem_format("%s:%u", text_base(file), s->line)
				: mem_text(module ? module : "");
		s->name = mem_format("%s (%s)", function, place);
		*text = mem_format("%s (%s)", shorter, place);
		free(shorter);
		free(place);
	} else {
		s->name = mem_text(query_text(q, 7));
		*text = mem_text(s->name);
	}
}

static void take_stack(struct loading *l, const struct query *q)
{
	l->site_of[query_id(q, 0, l->stack_limit)] = query_id(q, 1, l->site_limit);
}

/* Takes a row (site, type). */
static void take_site_type(struct loading *l, const struct query *q)
{
	uint32_t *only = &l->only_type[query_id(q, 0, l->site_limit)],
		 type = l->type_of[query_id(q, 1, l->type_limit)];

	if (type)
		*only = *only && *only != type ? SEVERAL : type;
}

/* Takes a row (id, role, purpose, name, forked, wanted). */
static void take_process(struct loading *l, const struct query *q)
{
	uint32_t id = query_id(q, 0, l->out->process_count);
	const char *role = query_text(q, 1), *purpose = query_text(q, 2);
	char *text;

	if (!id)
		return;
	l->out->processes += query_number(q, 5) != 0;
	if (*role) /* a role like "utility:network" includes the purpose */
		text = mem_format("%s%s%s", role, *purpose && !strchr(role, ':') ? ", " : "",
				  strchr(role, ':') ? "" : purpose);
	else
		text = mem_format("%s%s", query_text(q, 3), query_number(q, 4) ? ", forked" : "");
	l->out->role_of[id] = texts_put(&l->out->names[BREAKDOWN_ROLE], text);
	free(text);
}

/* ---- cells ---- */

/* Returns the index of a row of `stats`, or HASH_NONE. */
static uint32_t find_stat(const struct breakdown *c, uint32_t process, uint32_t stack,
			  uint32_t vtable)
{
	return hash_table_find(&c->stat_index, hash_keys((uint64_t)process << 32 | stack, vtable),
			       i,
			       c->stats.at[i].process == process && c->stats.at[i].stack == stack &&
				       c->stats.at[i].vtable == vtable);
}

static void put_stat(struct breakdown *c, const struct breakdown_stat *row)
{
	uint32_t at = find_stat(c, row->process, row->stack, row->vtable);

	if (at == HASH_NONE) {
		at = (uint32_t)c->stats.count;
		vec_push(&c->stats);
		hash_table_add(&c->stat_index,
			       hash_keys((uint64_t)row->process << 32 | row->stack, row->vtable),
			       at);
	}
	c->stats.at[at] = *row;
}

static uint32_t cell_of(struct loading *l, const uint32_t of[BREAKDOWN_DIMENSIONS])
{
	struct breakdown *c = l->out;
	size_t bytes = BREAKDOWN_DIMENSIONS * sizeof(*of);
	uint64_t hash = hash_bytes(of, bytes);
	uint32_t at =
		hash_table_find(&l->cell_index, hash, i, memcmp(c->cells[i].of, of, bytes) == 0);

	if (at == HASH_NONE) {
		at = (uint32_t)c->cell_count++;
		c->cells = mem_reach(c->cells, &l->cell_room, at, sizeof(*c->cells), 512);
		c->cells[at] = (struct breakdown_cell){ .least_size = UINT64_MAX };
		memcpy(c->cells[at].of, of, bytes);
		hash_table_add(&l->cell_index, hash, at);
	}
	return at;
}

static uint32_t component_of(const struct loading *l, uint32_t stack, uint32_t type)
{
	uint32_t name = stack < l->components.stack_count ? l->components.of_stack[stack] : 0;

	if (name & COMPONENT_ASK_TYPE) {
		name &= ~COMPONENT_ASK_TYPE;
		if (type < l->components.type_count && l->components.of_type[type])
			name = l->components.of_type[type];
	}
	return name;
}

/* Takes a row (process, stack, vtable, type, least and most size, sums). */
static void take_stat(struct loading *l, const struct query *q)
{
	struct breakdown_stat row = { .process = (uint32_t)query_number(q, 0),
				      .stack = (uint32_t)query_number(q, 1),
				      .vtable = (uint32_t)query_number(q, 2) };
	uint32_t stack = row.stack < l->stack_limit ? row.stack : 0,
		 type = query_id(q, 3, l->type_limit), of[BREAKDOWN_DIMENSIONS];
	uint64_t least = (uint64_t)query_number(q, 4), most = (uint64_t)query_number(q, 5);
	struct breakdown_cell *cell;
	struct sums sums;

	if (!row.process)
		return;
	sums_read(&sums, q, 7);
	of[BREAKDOWN_SITE] = l->site_of[stack];
	of[BREAKDOWN_TYPE] = l->type_of[type];
	if (!of[BREAKDOWN_TYPE] && of[BREAKDOWN_SITE] &&
	    l->only_type[of[BREAKDOWN_SITE]] != SEVERAL)
		of[BREAKDOWN_TYPE] = l->only_type[of[BREAKDOWN_SITE]];
	of[BREAKDOWN_COMPONENT] = component_of(l, stack, type);
	of[BREAKDOWN_ROLE] = row.process < l->out->process_count ? l->out->role_of[row.process] : 0;
	row.cell = cell_of(l, of);
	cell = &l->out->cells[row.cell];
	l->out->sites[of[BREAKDOWN_SITE]].api = (uint8_t)query_number(q, 6);
	sums_add(&cell->sums, &sums);
	sums_add(&l->out->total, &sums);
	if (sums.allocs + sums.inherited) {
		cell->least_size = least < cell->least_size ? least : cell->least_size;
		cell->most_size = most > cell->most_size ? most : cell->most_size;
	}
	put_stat(l->out, &row);
}

/* Blocks begin without a vtable. If table stat has no such row for their stack, they first count in
 * the cell of its first row with a vtable. */
static void add_beginnings(struct breakdown *c)
{
	size_t count = c->stats.count;

	for (size_t i = 0; i < count; i++) {
		struct breakdown_stat row = c->stats.at[i];

		row.vtable = 0;
		if (find_stat(c, row.process, row.stack, 0) == HASH_NONE)
			put_stat(c, &row);
	}
}

static struct shiny_err *read_facts(struct loading *l, const struct filter *filter)
{
	struct losses losses = { 0 };
	struct shiny_err *err = losses_load(l->store, &losses);

	if (err)
		return err;
	l->out->lost = losses.lost;
	l->out->losses = losses.sum;
	l->out->complete = !losses.incomplete;
	l->out->sample = losses.sample;
	losses_deinit(&losses);
	return contents_has_events(l->store, &l->out->with_events);
}

static struct shiny_err *load(struct loading *l, const struct filter *filter,
			      const struct component_rules *rules)
{
	AUTO_FREE char *stats =
		mem_format("SELECT s.process, s.stack, s.vtable, s.type, s.min_size, "
			   "s.max_size, s.api, " SUMS_NAMES " FROM stat s WHERE %s",
			   filter_blocks(filter));
	AUTO_FREE char *processes = mem_format(
		"SELECT s.process, s.role, s.purpose, s.name, s.forked_ns, %s FROM v_processes s",
		filter->where);
	struct store *sums = l->store; /* store with the filter's sums */
	struct shiny_err *err;

	SHINY_TRY(read_facts(l, filter));
	take_limits(l);
	SHINY_TRY(each(l, "SELECT key, value FROM session", take_fact));
	l->out->duration = filter_length(filter, l->out->duration);
	SHINY_TRY(each(l, "SELECT id, path, build_id FROM module", take_module));
	texts_put(&l->out->names[BREAKDOWN_TYPE], "(no type)");
	l->out->full_types = mem_zero(1, sizeof(*l->out->full_types));
	l->out->labels = mem_zero(1, sizeof(*l->out->labels));
	l->out->guesses = mem_zero(1, sizeof(*l->out->guesses));
	texts_put(&l->out->names[BREAKDOWN_ROLE], "(no process)");
	SHINY_TRY(each(l, "SELECT id, name, container, form, confidence FROM type", take_type));
	SHINY_TRY(each(l,
		       "SELECT l.site, l.function, l.source, l.line, l.module, i.frame, l.vaddr, "
		       "l.label FROM v_site_names l JOIN site i ON i.id = l.site",
		       take_site));
	SHINY_TRY(each(l, "SELECT id, site FROM stack WHERE site > 0", take_stack));
	SHINY_TRY(each(l, "SELECT DISTINCT site, type FROM site_stat WHERE site > 0 AND type > 0",
		       take_site_type));
	SHINY_TRY(each(l, processes, take_process));
	if (rules)
		SHINY_TRY(component_stacks_load(l->store, rules, &l->components));
	if (filter_timed(filter))
		SHINY_TRY(subset_open(l->store, filter, SUBSET_STAT, l->title, &sums));
	err = each_of(l, sums, stats, take_stat);
	if (sums != l->store)
		store_close(sums);
	return err;
}

struct shiny_err *breakdown_load(struct store *store, const struct filter *filter,
				 const struct component_rules *rules, bool full, const char *title,
				 struct breakdown *out)
{
	SHINY_CLEANUP(breakdown_deinit) struct breakdown breakdown = { 0 };
	struct loading l = { .out = &breakdown, .store = store, .full = full, .title = title };
	struct shiny_err *err = load(&l, filter, rules);

	breakdown.names[BREAKDOWN_COMPONENT] = l.components.names;
	l.components.names = (struct texts){ 0 };
	component_stacks_deinit(&l.components);
	if (!err && !rules)
		texts_put(&breakdown.names[BREAKDOWN_COMPONENT], "(not asked)");
	for (size_t i = 0; !err && i < breakdown.names[BREAKDOWN_SITE].count; i++)
		if (!breakdown.names[BREAKDOWN_SITE].at[i])
			breakdown.names[BREAKDOWN_SITE].at[i] = mem_text("(no stack)");
	if (!err)
		add_beginnings(&breakdown);
	free(l.type_of);
	free(l.site_of);
	free(l.only_type);
	hash_table_deinit(&l.cell_index);
	if (l.executable)
		breakdown.program = mem_text(text_base(l.executable));
	free(l.executable);
	if (err)
		return err;
	*out = shiny_steal(breakdown);
	return NULL;
}

uint32_t breakdown_cell(const struct breakdown *c, uint32_t process, uint32_t stack,
			uint32_t vtable)
{
	uint32_t at = find_stat(c, process, stack, vtable);

	if (at == HASH_NONE && vtable)
		/* a vtable without a row was no vptr: its blocks count with those without one */
		at = find_stat(c, process, stack, 0);
	return at == HASH_NONE ? BREAKDOWN_NO_CELL : c->stats.at[at].cell;
}

void breakdown_deinit(struct breakdown *c)
{
	for (size_t i = 0; c->sites && i < c->names[BREAKDOWN_SITE].count; i++) {
		free(c->sites[i].name);
		free(c->sites[i].function);
		free(c->sites[i].file);
	}
	for (size_t i = 0; c->modules && i < c->module_count; i++) {
		free(c->modules[i].key);
		free(c->modules[i].name);
		free(c->modules[i].build_id);
	}
	for (size_t i = 0; c->full_types && i < c->names[BREAKDOWN_TYPE].count; i++)
		free(c->full_types[i]);
	free(c->full_types);
	for (int d = 0; d < BREAKDOWN_DIMENSIONS; d++)
		texts_deinit(&c->names[d]);
	free(c->program);
	free(c->labels);
	free(c->guesses);
	free(c->modules);
	free(c->sites);
	free(c->cells);
	free(c->stats.at);
	hash_table_deinit(&c->stat_index);
	free(c->role_of);
	*c = (struct breakdown){ 0 };
}
