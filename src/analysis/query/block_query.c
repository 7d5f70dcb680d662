/* SPDX-License-Identifier: Apache-2.0 */
/* block_query.c: see block_query.h. */
#include "block_query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"

struct block_search {
	uint64_t address;
	struct blocks_found found;
};

static struct block_found *block_of(struct block_search *search, uint32_t process)
{
	for (size_t i = 0; i < search->found.count; i++)
		if (search->found.rows[i].process == process)
			return &search->found.rows[i];
	return NULL;
}

static void end_block(struct block_search *search, const struct event *event, uint64_t address)
{
	struct block_found *block = block_of(search, event->process);

	if (block && !block->ended && block->address == address) {
		block->ended = event->time ? event->time : 1;
		block->end_thread = event->thread;
	}
}

/* True if the event resizes a collected object that still has the address. */
static bool resized(struct block_search *search, const struct event *event)
{
	struct block_found *block = block_of(search, event->process);

	if (!block || block->ended || block->address != event->old_address ||
	    search->address < event->address ||
	    search->address - event->address >= (event->size ? event->size : 1))
		return false;
	block->address = event->address;
	block->size = event->size;
	return true;
}

static bool note_event(void *context, const struct event *event)
{
	struct block_search *search = context;
	struct block_found *block;

	if (event->kind == EVENT_VPTR) {
		block = block_of(search, event->process);
		if (block && !block->ended && block->address == event->address)
			block->vtable = event->vtable;
		return true;
	}
	if (event->kind == EVENT_REALLOC && event->api == SHINY_API_COLLECTED &&
	    resized(search, event))
		return true;
	if (event->kind == EVENT_REALLOC)
		end_block(search, event, event->old_address);
	if (event->kind == EVENT_FREE)
		end_block(search, event, event->address);
	if (event->kind != EVENT_ALLOC && event->kind != EVENT_REALLOC)
		return true;
	if (search->address < event->address ||
	    search->address - event->address >= (event->size ? event->size : 1))
		return true;
	block = block_of(search, event->process);
	if (!block)
		block = rows_push(&search->found.rows, &search->found.count, &search->found.room,
				  sizeof(*block));
	*block = (struct block_found){ .process = event->process,
				       .stack = event->stack,
				       .thread = event->thread,
				       .address = event->address,
				       .size = event->size,
				       .born = event->time,
				       .api = event->api & EVENT_API,
				       .vtable = event->vtable };
	return true;
}

ORDER_BY(live_then_latest, struct block_found,
	 ORDER_LAST(ended) ?: ORDER_DOWN(born) ?: ORDER_UP(process))

struct shiny_err *blocks_find(struct store *store, const struct filter *filter, uint64_t address,
			      struct blocks_found *out)
{
	struct block_search search = { .address = address };
	struct query *q = NULL;
	struct shiny_err *err = NULL;

	/* one replay for all processes, else one for each: a filter mostly selects one of a
	 * hundred */
	if (strcmp(filter->where, "1") == 0) {
		err = store_each_event(store, 0, 0, UINT64_MAX, note_event, &search);
	} else {
		err = query_format(
			store, &q,
			"SELECT s.process FROM (SELECT id AS process FROM process) s WHERE %s",
			filter->where);
		QUERY_EACH (q, err)
			err = store_each_event(store, (uint32_t)query_number(q, 0), 0, UINT64_MAX,
					       note_event, &search);
		query_end(q);
	}
	if (err) {
		blocks_deinit(&search.found);
		return err;
	}
	if (search.found.count)
		qsort(search.found.rows, search.found.count, sizeof(*search.found.rows),
		      live_then_latest);
	*out = search.found;
	return NULL;
}

void blocks_deinit(struct blocks_found *blocks)
{
	free(blocks->rows);
}

struct shiny_err *block_maker_load(struct store *store, const struct block_found *block,
				   struct block_maker *out)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;

	*out = (struct block_maker){ 0 };
	SHINY_TRY(query_format(store, &q,
			       "SELECT COALESCE(NULLIF(p.role, ''), p.name), p.pid, t.name, t.tid "
			       "FROM process p LEFT JOIN thread t ON t.id = %" PRIu32
			       " WHERE p.id = %" PRIu32,
			       block->thread, block->process));
	SHINY_TRY(query_step(q, &row));
	if (row)
		*out = (struct block_maker){ .process = mem_text(query_text(q, 0)),
					     .pid = query_number(q, 1),
					     .thread = mem_text(query_text(q, 2)),
					     .tid = query_number(q, 3) };
	return NULL;
}

void block_maker_deinit(struct block_maker *maker)
{
	free(maker->process);
	free(maker->thread);
}
