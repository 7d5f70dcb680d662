/* SPDX-License-Identifier: Apache-2.0 */
/* type_origins.c: see type_origins.h. */
#include "type_origins.h"
#include "../../base/row_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

ORDER_BY(heaviest_origin, struct type_origin,
	 ORDER_VALUES(b->sums.allocs + b->sums.inherited, a->sums.allocs + a->sums.inherited)
		 ?: ORDER_UP(type))

static void add_origin(struct type_origins *out, const struct query *q)
{
	uint32_t type = (uint32_t)query_number(q, 2);
	struct type_origin *row = NULL;
	struct sums sums;

	sums_read(&sums, q, 14);
	for (size_t i = 0; i < out->count && !row; i++)
		if (out->rows[i].type == type)
			row = &out->rows[i];
	if (!row) { /* the first row of a type is its heaviest: it stands for the type */
		row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));
		row->name = query_copy(q, 8);
		row->container = query_copy(q, 9);
		row->form = query_copy(q, 10);
		row->rule = query_copy(q, 11);
		row->confidence = query_copy(q, 12);
		row->stack = (uint32_t)query_number(q, 0);
		row->vtable = (uint32_t)query_number(q, 1);
		row->type = type;
		row->reading = (uint8_t)query_number(q, 3);
		row->api = (uint8_t)query_number(q, 4);
		row->least = row->least_of_all = (uint64_t)query_number(q, 5);
		row->most = row->most_of_all = (uint64_t)query_number(q, 6);
		row->step = (uint64_t)query_number(q, 7);
		row->or_derived = query_number(q, 13) != 0;
	}
	row->stacks++;
	row->least_of_all = (uint64_t)query_number(q, 5) < row->least_of_all
				    ? (uint64_t)query_number(q, 5)
				    : row->least_of_all;
	row->most_of_all = (uint64_t)query_number(q, 6) > row->most_of_all
				   ? (uint64_t)query_number(q, 6)
				   : row->most_of_all;
	sums_add(&row->sums, &sums);
}

struct shiny_err *origins_load(struct store *store, const struct filter *filter,
			       const struct site_match *place, uint32_t stack, uint32_t vtable,
			       struct type_origins *out)
{
	SHINY_CLEANUP(origins_deinit) struct type_origins origins = { 0 };
	AUTO_QUERY struct query *q = NULL;
	char where[128];
	struct shiny_err *err;

	/* SQLite takes bare columns beside MAX() from the row of the maximum: the heaviest
	 * process's */

	if (stack)
		snprintf(where, sizeof(where), "s.stack = %" PRIu32 " AND s.vtable = %" PRIu32,
			 stack, vtable);
	else if (place->frame)
		snprintf(where, sizeof(where), "x.site = %" PRIu32 " AND x.frame0 = %" PRIu32,
			 place->site, place->frame);
	else
		snprintf(where, sizeof(where), "x.site = %" PRIu32, place->site);
	err = query_format(
		store, &q,
		"SELECT s.stack, s.vtable, s.type, s.reading, s.api, s.min_size, s.max_size, "
		"s.size_step, y.name, y.container, y.form, y.rule, y.confidence, "
		"y.or_derived, " SUMS_SQL
		", MAX(s.allocs + s.inherited) FROM stat s JOIN stack x ON x.id = s.stack LEFT "
		"JOIN type y ON y.id = s.type WHERE %s AND %s "
		"GROUP BY s.stack, s.vtable, s.type ORDER BY SUM(s.allocs + s.inherited) DESC, "
		"s.stack",
		where, filter->where);
	QUERY_EACH (q, err)
		add_origin(&origins, q);
	if (err)
		return err;
	if (origins.count)
		qsort(origins.rows, origins.count, sizeof(*origins.rows), heaviest_origin);
	*out = shiny_steal(origins);
	return NULL;
}

void origins_deinit(struct type_origins *origins)
{
	for (size_t i = 0; i < origins->count; i++) {
		free(origins->rows[i].name);
		free(origins->rows[i].container);
		free(origins->rows[i].form);
		free(origins->rows[i].rule);
		free(origins->rows[i].confidence);
	}
	free(origins->rows);
}

struct shiny_err *stack_calls_load(struct store *store, uint32_t stack, struct stack_calls *out)
{
	SHINY_CLEANUP(stack_calls_deinit) struct stack_calls calls = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT f.module, f.vaddr FROM v_stack_frames r JOIN frame f ON f.id = r.frame "
		"WHERE r.stack = %" PRIu32 " AND r.depth = 0 ORDER BY r.level",
		stack);

	QUERY_EACH (q, err) {
		struct stack_call *call =
			rows_push(&calls.rows, &calls.count, &calls.room, sizeof(*call));

		call->module = (uint32_t)query_number(q, 0);
		call->vaddr = (uint64_t)query_number(q, 1);
	}
	if (err)
		return err;
	*out = shiny_steal(calls);
	return NULL;
}

void stack_calls_deinit(struct stack_calls *calls)
{
	free(calls->rows);
}
