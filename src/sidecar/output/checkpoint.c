/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c: see checkpoint.h. */
#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/row_order.h"
#include "../state/session_stream.h"
#include "carried_sums.h"

enum { CHECKPOINTS = 4 /* in the time that is kept */ };

struct live_block {
	struct entry entry;
	const struct process *process;
};
struct live_blocks {
	VEC(struct live_block) list;
	const struct process *process; /* of those being added */
};

ORDER_BY(by_birth, struct live_block, ORDER_UP(entry.birth) ?: ORDER_UP(entry.address))

static void add_block(void *context, const struct entry *entry)
{
	struct live_blocks *blocks = context;

	*vec_push(&blocks->list) = (struct live_block){ *entry, blocks->process };
}

/* Adds the block of a realloc that has begun: it is in no registry, and lives. */
static void add_begun(struct live_blocks *blocks, const struct begun_realloc *begun,
		      const struct process *process)
{
	blocks->process = process;
	if (process && begun->address && begun->block.address)
		add_block(blocks, &begun->block);
}

static const struct process *heap_of(const struct process *process, unsigned api)
{
	while (process && process->heap != api)
		process = process->above;
	return process;
}

static void find_blocks(const struct session *session, struct live_blocks *blocks)
{
	const struct people *people = &session->people;

	for (size_t i = 0; i < people->all.count; i++) {
		blocks->process = people->all.at[i];
		if (!blocks->process->settled)
			registry_each(&blocks->process->registry, add_block, blocks);
	}
	for (size_t i = 0; i < session->rings.streams.count; i++) {
		const struct stream *s = session->rings.streams.at[i];

		add_begun(blocks, &s->realloc, s->process);
		add_begun(blocks, &s->move,
			  heap_of(s->process->above, s->move.block.flags & ENTRY_API));
	}
	if (blocks->list.count)
		qsort(blocks->list.at, blocks->list.count, sizeof(*blocks->list.at), by_birth);
}

static void put_block(struct output *output, const struct live_block *block)
{
	const struct entry *entry = &block->entry;
	const struct site_stats *site = &block->process->stats.sites.at[entry->site];
	unsigned flags = entry->flags;
	bool collected = (flags & ENTRY_API) == SHINY_API_COLLECTED;
	struct event events[2] = {
		{ .time = ticks_ns(&output->ticks, entry->birth),
		  .address = entry->address,
		  .size = entry->size,
		  .process = block->process->id,
		  .stack = site->stack,
		  .vtable = collected ? entry->vtable : 0,
		  .tag = site->tag,
		  .kind = flags & ENTRY_REALLOC ? EVENT_REALLOC : EVENT_ALLOC,
		  .api = (uint8_t)((flags & ENTRY_API) | EVENT_CARRIED |
				   (flags & ENTRY_INHERITED ? EVENT_INHERITED : 0)),
		  .level = (uint8_t)(flags >> ENTRY_LEVEL_SHIFT) },
	};

	if (entry->vtable && !collected) {
		events[1] = events[0];
		events[1].kind = EVENT_VPTR;
		events[1].size = events[1].stack = events[1].tag = 0;
		events[1].vtable = entry->vtable;
		events[1].api =
			(uint8_t)(EVENT_CARRIED |
				  (flags & ENTRY_READING) >> ENTRY_READING_SHIFT |
				  (flags & ENTRY_SECOND_WORD ? SHINY_VPTR_SECOND_WORD : 0) |
				  (flags & ENTRY_DOUBTED ? EVENT_VPTR_DOUBTED : 0));
	}
	OUTPUT_PUT(output, store_put_events, events, events[1].kind ? 2 : 1);
}

static void put_sums(struct session *session, uint64_t number)
{
	struct carried_bytes sums = { 0 };

	for (size_t i = 0; i <= session->people.all.count; i++) {
		carried_pack(session, i ? session->people.all.at[i - 1] : NULL, &sums);
		OUTPUT_PUT(&session->output, store_put_kept, number, (uint32_t)i, sums.bytes.at,
			   sums.bytes.count);
	}
	free(sums.bytes.at);
}

/* Returns when something happened last, ns. */
static uint64_t last_event(const struct session *session)
{
	uint64_t last = 0;

	for (size_t i = 0; i < session->people.all.count; i++)
		if (session->people.all.at[i]->last > last)
			last = session->people.all.at[i]->last;
	return last ? ticks_ns(&session->output.ticks, last) : 0;
}

/* Lets readers begin with the latest checkpoint that is old enough. */
static void move_on(struct output *output, uint64_t keep, uint64_t last)
{
	size_t old = 0;

	while (old < output->kept.later.count && last >= keep &&
	       output->kept.later.at[old].time <= last - keep)
		old++;
	if (!old)
		return;
	OUTPUT_PUT(output, store_keep_from, &output->kept.later.at[old - 1]);
	output->kept.later.count -= old;
	memmove(output->kept.later.at, output->kept.later.at + old,
		output->kept.later.count * sizeof(*output->kept.later.at));
}

void checkpoint_take(struct session *session)
{
	struct output *output = &session->output;
	uint64_t keep = session->options->keep, now, last;
	struct store_checkpoint made = { .number = output->kept.count + 1 };
	struct live_blocks blocks = { 0 };
	size_t later = output->kept.later.count;
	uint64_t rest;

	if (!keep || !session->options->with_events || !output->store || output->err ||
	    output->applied_until == UINT64_MAX)
		return;
	now = made.time = ticks_ns(&output->ticks, output->applied_until);
	/* a child that has not got its parent's blocks yet would not be carried with them */
	if (now < output->kept.next || session->people.next_fork != UINT64_MAX)
		return;
	last = last_event(session);
	if (later && last < output->kept.later.at[later - 1].time)
		return; /* nothing has happened since */
	OUTPUT_PUT(output, store_put_number, "keep_ns", keep);
	OUTPUT_PUT(output, store_put_checkpoint, made.number, &made.block);
	find_blocks(session, &blocks);
	for (size_t i = 0; i < blocks.list.count && !output->err; i++)
		put_block(output, &blocks.list.at[i]);
	free(blocks.list.at);
	OUTPUT_PUT(output, store_put_checkpoint, 0, &rest);
	put_sums(session, made.number);
	*vec_push(&output->kept.later) = made;
	output->kept.count++;
	output->kept.next = now + keep / CHECKPOINTS;
	move_on(output, keep, last);
}
