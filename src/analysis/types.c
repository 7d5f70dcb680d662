/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "types.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire.h>

#include "../base/text.h"

static int compare(const void *left, const void *right, void *context)
{
	const struct type_row *a = left, *b = right;
	enum order order = *(enum order *)context;
	uint64_t x = sums_by(&a->sums, order, 0), y = sums_by(&b->sums, order, 0);

	if (order != ORDER_NAME && x != y)
		return x < y ? 1 : -1;
	if (order != ORDER_NAME && a->sums.allocs != b->sums.allocs)
		return a->sums.allocs < b->sums.allocs ? 1 : -1;
	return strcmp(a->type ? a->type : "", b->type ? b->type : "");
}

static struct shiny_err *read_row(struct types *types, const struct query *q, const char *match)
{
	struct type_row *row;

	if (match && !text_matches(match, query_text(q, 0)) && !text_matches(match, query_text(q, 1)))
		return NULL;
	row = rows_push(&types->rows, &types->count, &types->room, sizeof *row);
	if (!row || !copy_column(q, 0, &row->type) || !copy_column(q, 1, &row->module) || !copy_column(q, 2, &row->source))
		return SHINY_NO_MEMORY;
	row->class_bytes = (uint64_t)query_number(q, 3);
	row->at_least = (uint64_t)query_number(q, 4);
	row->sites = (uint64_t)query_number(q, 5);
	row->processes = (uint64_t)query_number(q, 6);
	sums_read(&row->sums, q, 7);
	sums_add(&types->total, &row->sums);
	if (row->type)
		sums_add(&types->typed, &row->sums);
	return NULL;
}

struct shiny_err *types_load(struct store *store, const struct scope *scope, const char *match, enum order order, struct types *out)
{
	struct types types = {0};
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(store, &q,
		"SELECT v.type, MIN(m.path), COALESCE(v.source, 'none'), MAX(v.class_bytes), "
		"SUM(CASE WHEN s.vtable AND s.reading & 7 = %d THEN s.allocs ELSE 0 END), COUNT(DISTINCT NULLIF(s.site, 0)), COUNT(DISTINCT s.process), "
		SUMS_SQL " FROM site_stat s LEFT JOIN vtable v ON v.id = s.vtable LEFT JOIN module m ON m.id = v.module "
		"WHERE %s GROUP BY v.type, COALESCE(v.source, 'none')",
		SHINY_VPTR_FREE, scope->where);

	while (!err && !(err = query_step(q, &row)) && row)
		err = read_row(&types, q, match);
	query_end(q);
	if (err) {
		types_deinit(&types);
		return err;
	}
	if (types.count)
		qsort_r(types.rows, types.count, sizeof *types.rows, compare, &order);
	*out = types;
	return NULL;
}

void types_deinit(struct types *types)
{
	for (size_t i = 0; i < types->count; i++) {
		free(types->rows[i].type);
		free(types->rows[i].module);
		free(types->rows[i].source);
	}
	free(types->rows);
}
