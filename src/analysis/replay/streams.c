/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "streams.h"

#include <shiny/wire/wire.h>

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "replay.h"

struct stream_count {
	struct streams *streams;
	size_t *rows;      /* process id n → rows[n] - 1 is its row; 0: none */
	size_t row_count;
	bool *constructed; /* type id → a constructor ran in blocks of this type */
	size_t type_count;
};

static struct streams_row *row_of(const struct stream_count *c,
				  const struct replay_process *process)
{
	return process->id < c->row_count && c->rows[process->id]
		       ? &c->streams->rows[c->rows[process->id] - 1]
		       : &c->streams->total;
}

static void count_birth(void *context, const struct replay_process *process,
			const struct life *life)
{
	struct streams_row *row = row_of(context, process);

	if (life->api == SHINY_API_COLLECTED)
		row->collected++;
	else
		row->allocations++;
}

static void count_death(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	const struct stream_count *c = context;
	struct streams_row *row = row_of(c, process);
	bool ended = death->end == LIFE_FREED || death->end == LIFE_REALLOCED;
	uint32_t type;

	if (life->api == SHINY_API_COLLECTED) {
		row->finalized += ended;
		return;
	}
	row->deallocations += ended;
	type = life->vtable ? 0 : replay_type(process, life);
	if (life->vtable || (type < c->type_count && c->constructed[type])) {
		row->objects += !life->inherited;
		row->ended_objects += ended;
	}
}

static void count_constructor(void *context, const struct replay_process *process,
			      const struct event *event)
{
	struct streams_row *row = row_of(context, process);

	if (event->kind == EVENT_CONSTRUCT)
		row->constructors++;
	else
		row->destructors++;
}

static struct streams_row *named_row(struct streams *out, const char *name)
{
	struct streams_row *row;

	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->rows[i].name, name) == 0)
			return &out->rows[i];
	row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));
	row->name = mem_text(name);
	return row;
}

static struct shiny_err *load_roles(struct store *store, const struct filter *filter,
				    struct stream_count *c)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(store, &q,
					     "SELECT s.process, COALESCE(NULLIF(s.role, ''), "
					     "s.name) FROM v_processes s WHERE %s",
					     filter->where);

	c->row_count = store_ids(store, "process");
	c->rows = mem_zero(c->row_count, sizeof(*c->rows));
	QUERY_EACH (q, err) {
		struct streams_row *named = named_row(c->streams, query_text(q, 1));

		named->processes++;
		c->rows[query_id(q, 0, c->row_count)] = (size_t)(named - c->streams->rows) + 1;
	}
	return err;
}

static struct shiny_err *load_types(struct store *store, struct stream_count *c)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT id, rule IN ('constructor', 'vptr', 'both') OR (rule = "
			    "'learned' AND confidence IN ('exact', 'high')) "
			    "FROM type",
			    &q);

	c->type_count = store_ids(store, "type");
	c->constructed = mem_zero(c->type_count, sizeof(*c->constructed));
	QUERY_EACH (q, err)
		c->constructed[query_id(q, 0, c->type_count)] = query_number(q, 1) != 0;
	c->constructed[0] = false; /* unknown type */
	return err;
}

/* Sets *recorded if the session has constructors. */
static struct shiny_err *load_recorded(struct store *store, bool *recorded)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT EXISTS (SELECT 1 FROM class)", &q);

	if (!err && !(err = query_step(q, &row)) && row)
		*recorded = query_number(q, 0) != 0;
	return err;
}

static void add_row(struct streams_row *to, const struct streams_row *row)
{
	to->processes += row->processes;
	to->allocations += row->allocations;
	to->deallocations += row->deallocations;
	to->collected += row->collected;
	to->finalized += row->finalized;
	to->objects += row->objects;
	to->ended_objects += row->ended_objects;
	to->constructors += row->constructors;
	to->destructors += row->destructors;
}

ORDER_BY(by_allocations, struct streams_row,
	 ORDER_VALUES(b->allocations + b->collected, a->allocations + a->collected)
		 ?: ORDER_TEXT(name))

struct shiny_err *streams_load(struct store *store, const struct filter *filter, bool progress,
			       struct streams *out)
{
	SHINY_CLEANUP(streams_deinit) struct streams streams = { 0 };
	struct stream_count counting = { .streams = &streams };
	struct replay_observer observer = { .context = &counting,
					    .birth = count_birth,
					    .death = count_death,
					    .constructor = count_constructor };
	struct shiny_err *err = load_recorded(store, &streams.recorded);

	if (!err)
		err = session_duration(store, &streams.duration);
	if (!err)
		err = load_roles(store, filter, &counting);
	if (!err)
		err = load_types(store, &counting);
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 progress ? "counting the four streams" : NULL);
	free(counting.rows);
	free(counting.constructed);
	if (err)
		return err;
	for (size_t i = 0; i < streams.count; i++)
		add_row(&streams.total, &streams.rows[i]);
	qsort(streams.rows, streams.count, sizeof(*streams.rows), by_allocations);
	*out = shiny_steal(streams);
	return NULL;
}

void streams_deinit(struct streams *streams)
{
	rows_free(streams->rows, streams->count, name);
}
