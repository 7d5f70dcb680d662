/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c: see snapshot.h. */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/row_order.h"

/* Kinds whose names are their contents, or say no more than the kind does. */
static const char *const contents[] = {
	"string", "concatenated string", "sliced string", "regexp", "number", "bigint", "symbol"
};

static bool count_node(struct snapshot *s)
{
	uint64_t kind = s->node[s->type_field], name = s->node[s->name_field];
	uint64_t hash;
	uint32_t at;

	if (kind >= s->kind_count || name >= SNAPSHOT_NAMELESS)
		return false;
	if (s->nameless[kind])
		name = SNAPSHOT_NAMELESS;
	hash = hash_keys(kind, name);
	at = hash_table_find(&s->table, hash, i,
			     s->rows.at[i].kind == kind && s->rows.at[i].name == name);
	if (at == HASH_NONE) {
		at = (uint32_t)s->rows.count;
		if (at == SNAPSHOT_ROWS)
			return false;
		*vec_push(&s->rows) = (struct snapshot_row){ (uint32_t)kind, (uint32_t)name, 0, 0 };
		hash_table_add(&s->table, hash, at);
	}
	s->rows.at[at].count++;
	s->rows.at[at].bytes += s->node[s->size_field];
	s->nodes++;
	return true;
}

ORDER_BY(by_name, struct snapshot_row, ORDER_UP(name) ?: ORDER_UP(kind))

static void sort(struct snapshot *s)
{
	if (s->rows.count)
		qsort(s->rows.at, s->rows.count, sizeof(*s->rows.at), by_name);
	hash_table_deinit(&s->table);
}

static void keep(struct snapshot *s, const struct snapshot_row *row, const char *text,
		 size_t length)
{
	struct count_row *out = vec_push(&s->dump->rows);

	*out = (struct count_row){ .kind = s->kinds[row->kind],
				   .name = counts_name(s->counts, text, length),
				   .count = row->count,
				   .bytes = row->bytes };
}

static bool take_string(struct snapshot *s, const char *text, size_t length)
{
	for (; s->next_row < s->rows.count && s->rows.at[s->next_row].name == s->next_string;
	     s->next_row++)
		keep(s, &s->rows.at[s->next_row], text, length);
	s->next_string++;
	return true;
}

static bool take_field(struct snapshot *s, const char *text, size_t length)
{
	if (s->field_count == SNAPSHOT_FIELDS)
		return false;
	if (json_stream_is(text, length, "type"))
		s->type_field = s->field_count;
	else if (json_stream_is(text, length, "name"))
		s->name_field = s->field_count;
	else if (json_stream_is(text, length, "self_size"))
		s->size_field = s->field_count;
	s->field_count++;
	return true;
}

static bool take_kind(struct snapshot *s, const char *text, size_t length)
{
	if (s->kind_count == SNAPSHOT_KINDS)
		return false;
	for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++)
		s->nameless[s->kind_count] |= json_stream_is(text, length, contents[i]);
	s->kinds[s->kind_count++] = counts_name(s->counts, text, length);
	return true;
}

static bool value(void *context, const struct json_stream *json, enum json_kind kind,
		  const char *text, size_t length)
{
	struct snapshot *s = context;

	switch (s->part) {
	case SNAPSHOT_NODES:
		if (kind != JSON_NUMBER)
			return false;
		s->node[s->field++] = json_stream_number(text, length);
		if (s->field < s->field_count)
			return true;
		s->field = 0;
		return count_node(s);
	case SNAPSHOT_STRINGS:
		return kind == JSON_TEXT && take_string(s, text, length);
	case SNAPSHOT_NODE_FIELDS:
		return kind == JSON_TEXT && take_field(s, text, length);
	case SNAPSHOT_NODE_TYPES:
		return kind == JSON_TEXT && take_kind(s, text, length);
	default:
		return true;
	}
}

/* True if the container that was opened or is being closed is the array at these keys. */
static bool array_at(const struct json_stream *json, unsigned depth, const char *const *keys)
{
	if (json->depth != depth + 1 || !json->array[depth])
		return false;
	for (unsigned i = 0; i < depth; i++)
		if (strcmp(json->keys[i], keys[i]) != 0)
			return false;
	return true;
}

static bool open(void *context, const struct json_stream *json)
{
	struct snapshot *s = context;

	if (s->part != SNAPSHOT_OTHER)
		return false; /* these arrays hold plain values only */
	if (array_at(json, 1, (const char *const[]){ "nodes" })) {
		s->part = SNAPSHOT_NODES;
		return !s->nodes && s->kind_count && s->type_field < s->field_count &&
		       s->name_field < s->field_count && s->size_field < s->field_count;
	}
	if (array_at(json, 1, (const char *const[]){ "strings" })) {
		if (s->named || !s->nodes)
			return false;
		s->part = SNAPSHOT_STRINGS;
		s->named = true;
		sort(s);
	} else if (array_at(json, 3, (const char *const[]){ "snapshot", "meta", "node_fields" }) &&
		   !s->field_count) {
		s->part = SNAPSHOT_NODE_FIELDS;
	} else if (array_at(json, 4,
			    (const char *const[]){ "snapshot", "meta", "node_types", "" }) &&
		   !s->kind_count) {
		/* the first array in it; the types of the other fields are words */
		s->part = SNAPSHOT_NODE_TYPES;
	}
	return true;
}

static bool close(void *context, const struct json_stream *json)
{
	struct snapshot *s = context;
	bool whole = s->part != SNAPSHOT_NODES || s->field == 0;

	s->part = SNAPSHOT_OTHER;
	return whole;
}

void snapshot_init(struct snapshot *s, struct counts *counts)
{
	struct json_sink sink = { .context = s, .value = value, .open = open, .close = close };

	memset(s, 0, sizeof(*s));
	s->counts = counts;
	s->dump = counts_add(counts);
	s->dump->snapshot = true;
	s->type_field = s->name_field = s->size_field = SNAPSHOT_FIELDS;
	json_stream_init(&s->json, &sink);
}

bool snapshot_feed(struct snapshot *s, const char *text, size_t length)
{
	return json_stream_feed(&s->json, text, length);
}

struct shiny_err *snapshot_end(struct snapshot *s)
{
	static const char what[] = "the heap snapshot";
	struct shiny_err *err = json_stream_end(&s->json, what);

	if (err)
		return err;
	if (!s->named)
		return shiny_err(SHINY_ERR_OTHER, "%s cannot be read: it has no objects", what);
	for (; s->next_row < s->rows.count; s->next_row++) {
		if (s->rows.at[s->next_row].name != SNAPSHOT_NAMELESS)
			return shiny_err(SHINY_ERR_OTHER, "%s cannot be read: names are missing",
					 what);
		keep(s, &s->rows.at[s->next_row], "", 0);
	}
	return NULL;
}

void snapshot_deinit(struct snapshot *s)
{
	json_stream_deinit(&s->json);
	hash_table_deinit(&s->table);
	free(s->rows.at);
}
