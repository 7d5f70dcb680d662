/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../query/type_name.h"

const char *const group_names[] = {
	[GROUP_TYPE] = "type",
	[GROUP_SITE] = "call site",
	[GROUP_COMPONENT] = "component",
	[GROUP_TAG] = "tag",
	[GROUP_SAMPLE] = "sample",
};

struct named {
	char *name;
	uint32_t id;
	char *full; /* NULL: no longer form */
};
struct list {
	struct named *at;
	size_t count, room;
};

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->at[i].name), free(list->at[i].full);
	free(list->at);
}

ORDER_BY(by_name, struct named, ORDER_TEXT(name) ?: ORDER_UP(id))

/* Moves the list's names into groups; equal names share one. All ids of the list are below
 * `ids`. */
static void take_names(struct groups *g, struct list *list, size_t ids, const char *none)
{
	g->of_count = ids;
	g->of = mem_zero(ids, sizeof(*g->of));
	if (list->count)
		qsort(list->at, list->count, sizeof(*list->at), by_name);
	g->names = mem_zero(list->count + 1, sizeof(*g->names));
	g->names[0] = mem_text(none);
	g->full_names = mem_zero(list->count + 1, sizeof(*g->full_names));
	g->full_names[0] = mem_text(none);
	g->count = 1;
	for (size_t i = 0; i < list->count; i++) {
		if (g->count == 1 || strcmp(g->names[g->count - 1], list->at[i].name) != 0) {
			g->full_names[g->count] = list->at[i].full;
			g->names[g->count++] = list->at[i].name;
			list->at[i].name = list->at[i].full = NULL;
		}
		g->of[list->at[i].id] = (uint32_t)g->count - 1;
	}
}

static struct shiny_err *load_types(struct store *store, bool full, struct groups *g)
{
	struct list list = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, name, container, form, confidence, or_derived FROM type", &q);

	QUERY_EACH (q, err) {
		struct named *named = rows_push(&list.at, &list.count, &list.room, sizeof(*named));

		named->id = query_id(q, 0, store_ids(store, "type"));

		struct type_text text = { .type = query_text(q, 1),
					  .container = query_is_null(q, 2) ? NULL
									   : query_text(q, 2),
					  .form = query_text(q, 3),
					  .confidence = query_text(q, 4),
					  .derived = query_number(q, 5) != 0,
					  .full = full };

		named->name = type_name_block(&text);
		text.full = true;
		named->full = type_name_block(&text);
	}
	if (!err)
		take_names(g, &list, store_ids(store, "type"), "(no type)");
	list_free(&list);
	return err;
}

/* Makes "function (file:line)", or the parts of it that are known. */
static char *site_name(const struct query *q, bool full)
{
	const char *file = query_text(q, 2), *path = query_text(q, 4);
	char *function = full ? mem_text(query_text(q, 1)) : type_name_function(query_text(q, 1));
	char *name;

	if (*function && *file && query_number(q, 3))
		name = mem_format("%s (%s:%d)", function, text_base(file), (int)query_number(q, 3));
	else if (*function)
		name = mem_format("%s (%s)", function, text_base(path));
	else
		name = mem_text(query_text(q, 5));
	free(function);
	return name;
}

static struct shiny_err *load_sites(struct store *store, bool full, struct groups *g)
{
	struct list list = { 0 };
	struct groups sites = { 0 };
	struct query *q = NULL;
	struct shiny_err *err = store_query(
		store,
		"SELECT site, function, source, line, path, label FROM v_site_names",
		&q);

	QUERY_EACH (q, err) {
		struct named *named = rows_push(&list.at, &list.count, &list.room, sizeof(*named));

		named->id = query_id(q, 0, store_ids(store, "site"));
		named->name = site_name(q, full);
		named->full = site_name(q, true);
	}
	query_end(q);
	q = NULL;
	if (!err) {
		take_names(&sites, &list, store_ids(store, "site"), "(no stack)");
		g->of_count = store_ids(store, "stack");
		g->of = mem_zero(g->of_count, sizeof(*g->of));
		err = store_query(store, "SELECT id, site FROM stack WHERE site > 0", &q);
	}
	QUERY_EACH (q, err)
		g->of[query_id(q, 0, g->of_count)] = sites.of[query_id(q, 1, sites.of_count)];
	query_end(q);
	g->names = sites.names;
	g->full_names = sites.full_names;
	g->count = sites.count;
	free(sites.of);
	list_free(&list);
	return err;
}

struct shiny_err *groups_load_components(struct store *store, const struct component_rules *rules,
					 struct groups *out)
{
	struct component_stacks stacks = { 0 };
	struct shiny_err *err = component_stacks_load(store, rules, &stacks);

	hash_table_deinit(&stacks.names.index);
	if (!err)
		*out = (struct groups){ .by = GROUP_COMPONENT,
					.names = stacks.names.at,
					.count = stacks.names.count,
					.of = stacks.of_stack,
					.of_count = stacks.stack_count,
					.of_type = stacks.of_type,
					.of_type_count = stacks.type_count,
					.of_function = stacks.of_function,
					.of_function_count = stacks.function_count };
	return err;
}

static struct shiny_err *load_components(struct store *store, struct groups *g)
{
	struct component_rules *rules = NULL;
	struct shiny_err *err = component_rules_load(NULL, 0, &rules);

	if (!err)
		err = groups_load_components(store, rules, g);
	component_rules_free(rules);
	return err;
}

static struct shiny_err *load_tags(struct store *store, struct groups *g)
{
	struct list list = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, "SELECT id, name FROM tag", &q);

	QUERY_EACH (q, err) {
		struct named *named = rows_push(&list.at, &list.count, &list.room, sizeof(*named));

		*named = (struct named){ .name = mem_text(query_text(q, 1)),
					 .id = query_id(q, 0, store_ids(store, "tag")) };
	}
	if (!err)
		take_names(g, &list, store_ids(store, "tag"), "(no tag)");
	list_free(&list);
	return err;
}

static struct shiny_err *load_samples(struct store *store, struct groups *g)
{
	VEC(struct group_key) keys = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT DISTINCT process, stack, type FROM stat "
					    "ORDER BY process, stack, type",
					    &q);

	QUERY_EACH (q, err) {
		struct group_key key = { query_id(q, 0, store_ids(store, "process")),
					 query_id(q, 1, store_ids(store, "stack")),
					 query_id(q, 2, store_ids(store, "type")) };

		hash_table_add(&g->key_index, group_key_hash(&key), (uint32_t)keys.count);
		*vec_push(&keys) = key;
	}
	g->keys = keys.at;
	g->count = keys.count + 1;
	return err;
}

uint32_t groups_find_sample(const struct groups *groups, const struct group_key *key)
{
	return groups_find_hashed(groups, key, group_key_hash(key));
}

static void free_kept(void *value)
{
	groups_deinit(value);
	free(value);
}

/* Loads the call sites once a session: a large program has tens of thousands of them, in hundreds
 * of thousands of stacks, and one command has up to ten analyses that need them. */
static struct shiny_err *load_kept_sites(struct store *store, bool full, struct groups *out)
{
	static const char keys[2]; /* addresses serve as keys: shortened, full */
	struct groups *kept = store_kept(store, &keys[full]);

	if (!kept) {
		struct shiny_err *err;

		kept = mem_zero(1, sizeof(*kept));
		kept->by = GROUP_SITE;
		err = load_sites(store, full, kept);
		if (err) {
			free_kept(kept);
			return err;
		}
		if (!store_keep(store, &keys[full], kept, free_kept)) {
			*out = *kept;
			free(kept);
			return NULL;
		}
	}
	*out = *kept;
	out->borrowed = true;
	return NULL;
}

struct shiny_err *groups_load(struct store *store, enum group_by by, bool full, struct groups *out)
{
	SHINY_CLEANUP(groups_deinit) struct groups groups = { .by = by };

	SHINY_TRY(by == GROUP_TYPE     ? load_types(store, full, &groups)
		  : by == GROUP_SITE   ? load_kept_sites(store, full, &groups)
		  : by == GROUP_TAG    ? load_tags(store, &groups)
		  : by == GROUP_SAMPLE ? load_samples(store, &groups)
				       : load_components(store, &groups));
	*out = shiny_steal(groups);
	return NULL;
}

void groups_deinit(struct groups *g)
{
	if (g->borrowed) {
		*g = (struct groups){ 0 };
		return;
	}
	for (size_t i = 0; g->names && i < g->count; i++)
		free(g->names[i]);
	for (size_t i = 0; g->full_names && i < g->count; i++)
		free(g->full_names[i]);
	free(g->names);
	free(g->full_names);
	free(g->keys);
	hash_table_deinit(&g->key_index);
	free(g->of);
	free(g->of_type);
	free(g->of_function);
	*g = (struct groups){ 0 };
}
