/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "types.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../query/type_name.h"

static const char *const level_names[LEVELS] = {"exact", "high", "medium", "low", "label", "none"};
static const char *const level_meanings[LEVELS] = {
	[LEVEL_EXACT] = "the evidence leaves no other type",
	[LEVEL_HIGH] = "one kind of evidence, nothing against it",
	[LEVEL_MEDIUM] = "a guess that is usually right",
	[LEVEL_LOW] = "a guess",
	[LEVEL_LABEL] = "no type, but where it comes from",
	[LEVEL_NONE] = "not known",
};

/* SQL of a row's name and key, over type y and module m. */
static const struct { const char *name, *key; } groupings[] = {
	[TYPES_BY_BLOCK] = {"y.name", "y.name, y.container, y.form, y.confidence, y.or_derived"},
	[TYPES_BY_TYPE] = {"y.name", "y.name, y.confidence = 'label'"},
	[TYPES_BY_CONTAINER] = {"y.container", "y.container"},
	[TYPES_BY_RULE] = {"COALESCE(y.rule, 'none')", "y.rule"},
	[TYPES_BY_CONFIDENCE] = {"COALESCE(y.confidence, 'none')", "y.confidence"},
	[TYPES_BY_MODULE] = {"m.path", "m.path"},
};

/* SQL of a column that all blocks of a row agree on; NULL if they differ, or have none. */
#define AGREED(column)                                                             \
	"CASE WHEN COUNT(" column ") = COUNT(*) AND MIN(" column ") = MAX(" column \
	") THEN MIN(" column ") END"

static int compare(const void *left, const void *right, void *context)
{
	const struct type_row *a = left, *b = right;
	enum sums_order order = *(enum sums_order *)context;
	int names = strcmp(a->name ? a->name : "", b->name ? b->name : "");

	if (order != ORDER_NAME && a->value != b->value)
		return a->value < b->value ? 1 : -1;
	if (order != ORDER_NAME && a->sums.allocs != b->sums.allocs)
		return a->sums.allocs < b->sums.allocs ? 1 : -1;
	if (names == 0)
		names = strcmp(a->container ? a->container : "", b->container ? b->container : "");
	return names ? names
		     : strcmp(a->confidence ? a->confidence : "",
			      b->confidence ? b->confidence : "");
}

/* Copies a list of SQL's group_concat, "a,b", with blanks. */
static char *copy_list(const struct query *q, int column)
{
	const char *text = query_text(q, column);
	char *list, *at;

	if (!*text)
		return NULL;
	list = at = mem_alloc(2 * strlen(text) + 1);
	for (; *text; text++) {
		*at++ = *text;
		if (*text == ',')
			*at++ = ' ';
	}
	*at = '\0';
	return list;
}

static bool short_matches(const char *match, const char *name)
{
	char *text = type_name_short(name);
	bool yes = text_matches(match, text);

	free(text);
	return yes;
}

static bool wanted(const struct query *q, const char *match)
{
	for (int column = 0; column <= 2; column++) /* name, type, container */
		if (!query_is_null(q, column) && (text_matches(match, query_text(q, column)) ||
						  short_matches(match, query_text(q, column))))
			return true;
	return text_matches(match, query_text(q, 7));
}

static void read_row(struct types *types, const struct query *q, enum types_by by,
		     const char *match, enum sums_order order)
{
	struct type_row *row;

	if (match && !wanted(q, match))
		return;
	row = rows_push(&types->rows, &types->count, &types->room, sizeof(*row));
	row->name = query_copy(q, 0);
	row->type = query_copy(q, 1);
	row->container = query_copy(q, 2);
	row->form = query_copy(q, 3);
	row->confidence = query_copy(q, 4);
	row->rules = copy_list(q, 5);
	row->sources = copy_list(q, 6);
	row->module = query_copy(q, 7);
	row->or_derived = by <= TYPES_BY_TYPE && query_number(q, 8) != 0;
	row->class_bytes = (uint64_t)query_number(q, 9);
	row->at_least = (uint64_t)query_number(q, 10);
	row->sites = (uint64_t)query_number(q, 11);
	row->processes = (uint64_t)query_number(q, 12);
	row->least_size = (uint64_t)query_number(q, 13);
	row->most_size = (uint64_t)query_number(q, 14);
	types->typed_allocs += (uint64_t)query_number(q, 15);
	types->typed_live_bytes += (uint64_t)query_number(q, 16);
	sums_read(&row->sums, q, 17);
	row->value = sums_by(&row->sums, order, 0);
	row->by = by;
	sums_add(&types->total, &row->sums);
}

static struct shiny_err *load_levels(struct store *store, const struct filter *filter,
				     struct types *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT COALESCE(y.confidence, 'none'), " SUMS_SQL
		" FROM site_stat s LEFT JOIN type y ON y.id = s.type WHERE %s GROUP BY 1",
		filter_blocks(filter));

	for (size_t level = 0; level < LEVELS; level++)
		out->levels[level] = (struct type_level){ .name = level_names[level],
							  .meaning = level_meanings[level] };
	QUERY_EACH (q, err) {
		struct sums sums;

		sums_read(&sums, q, 1);
		for (size_t level = 0; level < LEVELS; level++)
			if (strcmp(level_names[level], query_text(q, 0)) == 0) {
				sums_add(&out->levels[level].sums, &sums);
				sums_add(&out->all_levels, &sums);
			}
	}
	return err;
}

struct shiny_err *types_load(struct store *store, const struct filter *filter, enum types_by by,
			     const char *match, enum sums_order order, struct types *out)
{
	SHINY_CLEANUP(types_deinit) struct types types = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT %s, " AGREED("y.name") ", " AGREED("y.container") ", " AGREED(
			"y.form") ", " AGREED("y.confidence") ", "
							      "group_concat(DISTINCT y.rule), "
							      "group_concat(DISTINCT y.source), "
							      AGREED("m.path") ", "
							      "MAX(y.or_derived), "
							      "MAX(y.bytes), "
							      "SUM(CASE WHEN s.vtable AND "
							      "s.reading & 7 = %d THEN s.allocs "
							      "ELSE 0 END), COUNT(DISTINCT "
							      "NULLIF(s.site, 0)), "
							      "COUNT(DISTINCT s.process), "
							      "MIN(s.min_size), MAX(s.max_size), "
							      "SUM(CASE WHEN y.confidence <> "
							      "'label' THEN s.allocs ELSE 0 END), "
							      "SUM(CASE WHEN y.confidence <> "
							      "'label' THEN s.live_bytes ELSE 0 "
							      "END), " SUMS_SQL
							      " FROM site_stat s LEFT JOIN type y "
							      "ON y.id = s.type LEFT JOIN site i "
							      "ON i.id = s.site LEFT JOIN module m "
							      "ON m.id = i.module "
							      "WHERE %s GROUP BY %s",
		groupings[by].name, SHINY_VPTR_FREE, filter_blocks(filter), groupings[by].key);

	QUERY_EACH (q, err)
		read_row(&types, q, by, match, order);
	types.value = sums_by(&types.total, order, 0);
	types.share = sums_order_share(order);
	if (!err)
		err = load_levels(store, filter, &types);
	if (err)
		return err;
	if (types.count)
		qsort_r(types.rows, types.count, sizeof(*types.rows), compare, &order);
	*out = shiny_steal(types);
	return NULL;
}

void types_deinit(struct types *types)
{
	for (size_t i = 0; i < types->count; i++) {
		struct type_row *row = &types->rows[i];

		free(row->name);
		free(row->type);
		free(row->container);
		free(row->form);
		free(row->confidence);
		free(row->rules);
		free(row->sources);
		free(row->module);
	}
	free(types->rows);
}
