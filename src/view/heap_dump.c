/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_dump.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/hash_table.h"

enum { NO_PARENT = UINT32_MAX };

struct dump_node {
	uint32_t parent, name; /* name: an index of `strings` */
};
struct dump_row {
	uint32_t node, type; /* type: an index of `types` */
	uint64_t blocks, bytes;
};
struct heap_dump {
	const struct profile *profile;
	struct texts strings;
	struct hash_table node_index;
	VEC(struct dump_node) nodes;
	VEC(uint32_t) types; /* their names: indexes of `strings` */
	uint32_t *type_of;   /* the profile's type → index of `types` + 1 */
	VEC(struct dump_row) rows;
	struct path_walk walk;
};

static uint32_t find_node(struct heap_dump *d, uint32_t parent, const char *text)
{
	uint32_t name = texts_put(&d->strings, text);
	uint64_t hash = hash_keys(parent, name);
	uint32_t at = hash_table_find(&d->node_index, hash, i,
				      d->nodes.at[i].parent == parent &&
					      d->nodes.at[i].name == name);

	if (at == HASH_NONE) {
		at = (uint32_t)d->nodes.count;
		*vec_push(&d->nodes) = (struct dump_node){ parent, name };
		hash_table_add(&d->node_index, hash, at);
	}
	return at;
}

static uint32_t find_type(struct heap_dump *d, uint32_t type)
{
	if (!d->type_of[type]) {
		*vec_push(&d->types) =
			texts_put(&d->strings, profile_text(d->profile, d->profile->types[type]));
		d->type_of[type] = (uint32_t)d->types.count;
	}
	return d->type_of[type] - 1;
}

static void add_sample(struct heap_dump *d, const struct profile_sample *sample)
{
	const struct stack_paths *code = &d->profile->code;
	uint32_t node = NO_PARENT;

	stack_paths_walk(code, sample->stack, &d->walk);
	for (size_t k = d->walk.count; k--;)
		node = find_node(d, node,
				 stack_paths_text(code, code->functions.at[d->walk.at[k]].name));
	if (!d->walk.count)
		node = find_node(d, node, "(no stack)");
	*vec_push(&d->rows) = (struct dump_row){ node, find_type(d, sample->type),
						 sample->sums.live, sample->sums.live_bytes };
}

/* Puts a node or a type. */
static void put_named(struct json *json, size_t id, uint32_t name, uint32_t parent)
{
	json_object_line(json, NULL);
	json_number(json, "id", id);
	json_number(json, "name_sid", name);
	if (parent != NO_PARENT)
		json_number(json, "parent", parent);
	json_end(json);
}

static void put_maps(struct json *json, const struct heap_dump *d)
{
	json_object(json, "maps");
	json_array(json, "strings");
	for (size_t i = 0; i < d->strings.count; i++) {
		json_object_line(json, NULL);
		json_number(json, "id", i);
		json_text(json, "string", d->strings.at[i]);
		json_end(json);
	}
	json_end(json);
	json_array(json, "nodes");
	for (size_t i = 0; i < d->nodes.count; i++) {
		const struct dump_node *node = &d->nodes.at[i];

		put_named(json, i, node->name, node->parent);
	}
	json_end(json);
	json_array(json, "types");
	for (size_t i = 0; i < d->types.count; i++)
		put_named(json, i, d->types.at[i], NO_PARENT);
	json_end(json);
	json_end(json);
}

static void put_rows(struct json *json, const struct heap_dump *d)
{
	json_object(json, "allocators");
	json_object(json, "malloc");
	json_array_line(json, "counts");
	for (size_t i = 0; i < d->rows.count; i++)
		json_number(json, NULL, d->rows.at[i].blocks);
	json_end(json);
	json_array_line(json, "sizes");
	for (size_t i = 0; i < d->rows.count; i++)
		json_number(json, NULL, d->rows.at[i].bytes);
	json_end(json);
	json_array_line(json, "types");
	for (size_t i = 0; i < d->rows.count; i++)
		json_number(json, NULL, d->rows.at[i].type);
	json_end(json);
	json_array_line(json, "nodes");
	for (size_t i = 0; i < d->rows.count; i++)
		json_number(json, NULL, d->rows.at[i].node);
	json_end(json);
	json_end(json);
	json_end(json);
}

void heap_dump_put(struct json *json, const struct profile *profile, uint32_t process)
{
	struct heap_dump d = { .profile = profile };

	d.type_of = mem_zero(profile->type_limit + 1, sizeof(*d.type_of));
	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].process == process && profile->samples[i].sums.live)
			add_sample(&d, &profile->samples[i]);
	json_object(json, "heaps_v2");
	json_number(json, "version", 1);
	put_maps(json, &d);
	put_rows(json, &d);
	json_end(json);
	texts_deinit(&d.strings);
	hash_table_deinit(&d.node_index);
	free(d.nodes.at);
	free(d.types.at);
	free(d.type_of);
	free(d.rows.at);
	free(d.walk.at);
}
