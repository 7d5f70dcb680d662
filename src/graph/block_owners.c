/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_owners.c: see block_owners.h.
 *
 * Rules are matched once a name, not once a block: each type, call site and component keeps the
 * number of the first rule that matches it, and a block takes the lowest of its three.
 */
#include "block_owners.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../analysis/query/type_name.h"
#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/row_order.h"

#define NO_RULE SIZE_MAX

struct owner_search {
	const struct heap_graph *graph;
	const struct owner_rules *rules;
	size_t *of_type; /* type id → rule */
	size_t type_count;
	struct graph_names names[OWNER_KINDS];
	size_t *of_name[OWNER_KINDS]; /* group of names[kind] → rule */
	uint32_t *of_rule;            /* rule → owner, 0: none yet */
	uint32_t *of_each[OWNER_KINDS]; /* the same group → owner of an "each" rule, 0: none yet */
	VEC(struct block_owners_row) rows;  /* owner REALM_FIRST + i */
};

/* ---- names and rules ---- */

static bool has_kind(const struct owner_rules *rules, enum owner_rule_kind kind)
{
	for (size_t i = 0; i < rules->count; i++)
		if (rules->at[i].kind == kind)
			return true;
	return false;
}

static struct shiny_err *match_types(struct store *store, struct owner_search *s)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, name FROM type WHERE confidence <> 'label'", &q);

	QUERY_EACH (q, err) {
		char *brief = type_name_short(query_text(q, 1));
		size_t full = owner_rules_find(s->rules, OWNER_BY_TYPE, query_text(q, 1));
		size_t rule = owner_rules_find(s->rules, OWNER_BY_TYPE, brief);

		s->of_type[query_id(q, 0, s->type_count)] = full < rule ? full : rule;
		free(brief);
	}
	s->of_type[0] = NO_RULE;
	return err;
}

static struct shiny_err *match_names(struct store *store, enum owner_rule_kind kind,
				     enum group_by by, bool full, struct owner_search *s)
{
	const struct groups *groups = &s->names[kind].groups;

	if (!has_kind(s->rules, kind))
		return NULL;
	SHINY_TRY(graph_names_load(store, s->graph, by, full, &s->names[kind]));
	s->of_name[kind] = mem_zero(groups->count + 1, sizeof(**s->of_name));
	s->of_each[kind] = mem_zero(groups->count + 1, sizeof(**s->of_each));
	for (size_t i = 0; i < groups->count; i++)
		s->of_name[kind][i] = owner_rules_find(s->rules, kind, groups->names[i]);
	return NULL;
}

static struct shiny_err *match_all(struct store *store, bool full, struct owner_search *s)
{
	s->type_count = store_ids(store, "type");
	s->of_type = mem_alloc((s->type_count + 1) * sizeof(*s->of_type));
	for (size_t i = 0; i <= s->type_count; i++)
		s->of_type[i] = NO_RULE;
	s->of_rule = mem_zero(s->rules->count + 1, sizeof(*s->of_rule));
	SHINY_TRY(match_types(store, s));
	SHINY_TRY(match_names(store, OWNER_BY_SITE, GROUP_SITE, full, s));
	return match_names(store, OWNER_BY_COMPONENT, GROUP_COMPONENT, full, s);
}

/* ---- owners ---- */

static uint32_t new_owner(struct owner_search *s, char *name)
{
	*vec_push(&s->rows) = (struct block_owners_row){ .name = name };
	return REALM_FIRST + (uint32_t)s->rows.count - 1;
}

/* Returns the owner of a rule that names one; rules of one name share it. */
static uint32_t owner_of_rule(struct owner_search *s, size_t rule)
{
	const char *name = s->rules->at[rule].name;

	for (size_t i = 0; i < s->rules->count && !s->of_rule[rule]; i++)
		if (s->of_rule[i] && !strcmp(s->rules->at[i].name, name))
			s->of_rule[rule] = s->of_rule[i];
	if (!s->of_rule[rule])
		s->of_rule[rule] = new_owner(s, mem_text(name));
	return s->of_rule[rule];
}

static uint32_t realm_of_block(struct owner_search *s, uint32_t n)
{
	uint32_t type = s->graph->type_of_kind[s->graph->block.at[n].kind];
	size_t rule = s->of_type[type < s->type_count ? type : 0];
	uint32_t name = 0, *each;

	for (int kind = OWNER_BY_SITE; kind <= OWNER_BY_COMPONENT; kind++) {
		uint32_t at = s->of_name[kind] ? graph_names_find(&s->names[kind], s->graph, n) : 0;

		if (s->of_name[kind] && s->of_name[kind][at] < rule) {
			rule = s->of_name[kind][at];
			name = at;
		}
	}
	if (rule == NO_RULE)
		return REALM_UNKNOWN;
	if (s->rules->at[rule].what == OWNER_RULE_COMMON)
		return REALM_COMMON;
	if (s->rules->at[rule].what == OWNER_RULE_OWNER)
		return owner_of_rule(s, rule);
	if (s->rules->at[rule].kind == OWNER_BY_TYPE)
		return new_owner(s, NULL);
	each = &s->of_each[s->rules->at[rule].kind][name];
	if (!*each)
		*each = new_owner(
			s, mem_text(s->names[s->rules->at[rule].kind].groups.names[name]));
	return *each;
}

static uint32_t realm_of_root(struct owner_search *s, uint32_t n)
{
	const char *name = s->graph->roots[n - s->graph->blocks - 1].name;
	/* "g_cache" answers for "g_cache (orders)", too */
	AUTO_FREE char *symbol = mem_text(name);
	size_t rule, brief;

	symbol[strcspn(symbol, " ")] = '\0';
	rule = owner_rules_find(s->rules, OWNER_BY_ROOT, name);
	brief = owner_rules_find(s->rules, OWNER_BY_ROOT, symbol);
	rule = brief < rule ? brief : rule;
	if (rule == NO_RULE)
		return REALM_UNKNOWN;
	if (s->rules->at[rule].what == OWNER_RULE_COMMON)
		return REALM_COMMON;
	return s->rules->at[rule].what == OWNER_RULE_OWNER ? owner_of_rule(s, rule)
							   : new_owner(s, mem_text(name));
}

/* ---- sums ---- */

static void count_into(struct block_owners_sums *sums, uint64_t bytes)
{
	sums->blocks++;
	sums->bytes += bytes;
}

static void count_blocks(struct owner_search *s, const uint32_t *realm, const uint8_t *own,
			 struct block_owners *out)
{
	const struct heap_graph *g = s->graph;
	bool *reached = heap_graph_reached(g);

	for (uint32_t n = 1; n <= g->blocks; n++) {
		uint64_t bytes = heap_graph_bytes(g, n);
		struct block_owners_row *row;

		count_into(&out->all, bytes);
		if (realm[n] < REALM_FIRST) {
			count_into(realm[n] == REALM_SHARED   ? &out->shared
				   : realm[n] == REALM_COMMON ? &out->common
				   : reached[n]		      ? &out->unknown
							      : &out->unreachable,
				   bytes);
			continue;
		}
		row = &s->rows.at[realm[n] - REALM_FIRST];
		row->blocks++;
		row->bytes += bytes;
		if (own[n]) {
			row->own++;
			row->own_bytes += bytes;
			row->address = heap_graph_address(g, n);
		}
	}
	free(reached);
}

ORDER_BY(by_bytes_owned, struct block_owners_row,
	 ORDER_FIRST(blocks) ?: ORDER_DOWN(bytes) ?: ORDER_UP(address) ?: ORDER_TEXT(name))

/* Names the owners that a rule "each type" made of one block: type and address of the block. */
static struct shiny_err *name_rows(struct store *store, bool full, const uint32_t *realm,
				   const uint8_t *own, struct owner_search *s)
{
	struct graph_names types;

	SHINY_TRY(graph_names_load(store, s->graph, GROUP_TYPE, full, &types));
	for (uint32_t n = 1; n <= s->graph->blocks; n++) {
		struct block_owners_row *row;

		if (!own[n] || realm[n] < REALM_FIRST)
			continue;
		row = &s->rows.at[realm[n] - REALM_FIRST];
		if (!row->name)
			row->name = mem_format(
				"%s 0x%" PRIx64,
				types.groups.names[graph_names_find(&types, s->graph, n)],
				heap_graph_address(s->graph, n));
	}
	graph_names_deinit(&types);
	return NULL;
}

static struct shiny_err *attribute(struct store *store, bool full, struct owner_search *s,
				   struct block_owners *out)
{
	const struct heap_graph *g = s->graph;
	AUTO_FREE uint32_t *realm = mem_zero((size_t)g->nodes + 1, sizeof(*realm));
	AUTO_FREE uint8_t *own = mem_zero((size_t)g->nodes + 1, sizeof(*own));

	for (uint32_t n = 1; n <= g->nodes; n++) {
		realm[n] = n <= g->blocks ? realm_of_block(s, n) : realm_of_root(s, n);
		own[n] = realm[n] != REALM_UNKNOWN;
	}
	SHINY_TRY(name_rows(store, full, realm, own, s));
	realms_find(g, realm);
	count_blocks(s, realm, own, out);
	return NULL;
}

struct shiny_err *block_owners_load(struct store *store, const struct filter *filter,
				    uint32_t snapshot, const struct owner_rules *rules,
				    bool full_names, struct block_owners *out)
{
	struct heap_graph graph = { 0 };
	struct type_words words = { 0 };
	struct owner_search s = { .graph = &graph, .rules = rules };
	SHINY_CLEANUP(block_owners_deinit) struct block_owners result = { 0 };
	struct shiny_err *err = type_words_load(store, full_names, &words);

	if (!err)
		err = heap_graph_load(store, filter, snapshot, 0, &words, &graph);
	if (!err)
		err = match_all(store, full_names, &s);
	if (!err)
		err = attribute(store, full_names, &s, &result);
	result.facts = graph.facts;
	result.rows = s.rows.at;
	result.count = s.rows.count;
	if (!err && result.count)
		qsort(result.rows, result.count, sizeof(*result.rows), by_bytes_owned);
	while (!err && result.count && !result.rows[result.count - 1].blocks)
		free(result.rows[--result.count].name);
	for (int kind = 0; kind < OWNER_KINDS; kind++) {
		if (s.of_name[kind])
			graph_names_deinit(&s.names[kind]);
		free(s.of_name[kind]);
		free(s.of_each[kind]);
	}
	free(s.of_type);
	free(s.of_rule);
	type_words_deinit(&words);
	heap_graph_deinit(&graph);
	if (!err)
		*out = shiny_steal(result);
	return err;
}

void block_owners_deinit(struct block_owners *owners)
{
	rows_free(owners->rows, owners->count, name);
	*owners = (struct block_owners){ 0 };
}
