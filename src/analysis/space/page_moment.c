/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_moment.c: see page_moment.h.
 *
 * At the moment it stores only the address of every live block. A block's death gives its type and
 * end; replay.h reports one also for blocks that never end. Blocks born after the moment have
 * higher numbers, so no look-up is needed to leave out their deaths.
 */
#include "page_moment.h"

#include <stdlib.h>

#include "../../base/cleanup.h"
#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"

ORDER_BY(by_address, struct page_block, ORDER_UP(address))

static struct page_space *space_of(struct page_moment *m, const struct replay_process *p)
{
	if (!m->spaces) {
		m->count = p->replay->process_count;
		m->spaces = mem_zero(m->count, sizeof(*m->spaces));
	}
	return &m->spaces[p->id - 1];
}

/* Clamps a size: a damaged session may have any, and every 2 MiB of it would cost memory. */
static uint64_t size_of(uint64_t size)
{
	return size < PAGE_MOMENT_LARGEST ? size : PAGE_MOMENT_LARGEST;
}

/* Returns P, or Z for a block that is known to be unused. */
static enum page_state persistent(const struct page_block *block)
{
	return block->untouched ? PAGE_ZOMBIE : PAGE_PERSISTENT;
}

/* Reserves memory for the process's live blocks. */
static void reserve(struct page_space *space, const struct replay_process *p)
{
	space->blocks = mem_alloc((p->blocks.count + 1) * sizeof(*space->blocks));
}

/* Adds a block. `reading`: of its process, for the moment. */
static struct page_block *push(const struct page_moment *m, struct page_space *space,
			       const struct touched_reading *reading, const struct life *life)
{
	space->blocks[space->count] =
		(struct page_block){ .address = life->address,
				     .size = size_of(life->size),
				     .untouched = touched_never(m->touched, reading, life->address,
								life->size, life->birth) };
	return &space->blocks[space->count++];
}

/* Stores the blocks that are live now. */
static void take(struct page_moment *m, const struct replay *replay)
{
	m->taken = true;
	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];
		struct page_space *space = space_of(m, p);
		const struct touched_reading *reading = touched_at(m->touched, p->id, m->time);

		if (!p->wanted || space->ended)
			continue;
		space->births = p->births;
		reserve(space, p);
		replay_each(p, life)
		{
			const struct page_block *block = push(m, space, reading, life);

			if (m->history)
				page_history_mark(&space->history, life->address,
						  size_of(life->size), persistent(block));
		}
		if (space->count)
			qsort(space->blocks, space->count, sizeof(*space->blocks), by_address);
	}
}

static enum page_state state_of(enum life_end end)
{
	return end == LIFE_FREED || end == LIFE_REALLOCED ? PAGE_DESTROYED
	       : end == LIFE_NEVER			  ? PAGE_PERSISTENT
							  : PAGE_REUSED;
}

static void tell(const struct page_moment *m, struct page_block *block,
		 const struct replay_process *process, const struct life *life,
		 enum page_state fate)
{
	block->fate = fate == PAGE_PERSISTENT ? persistent(block) : fate;
	block->type = groups_find(m->types, process, life);
	block->site = groups_find(m->sites, process, life);
}

/* ---- blocks that a collection moved since the moment ---- */

static uint32_t find_moved(const struct page_space *space, uint64_t address)
{
	return hash_table_find(&space->moved_index, hash_key(address), i,
			       space->moved.at[i].address == address);
}

/* Returns the moment's block that is now at this address; NULL: a younger block. */
static struct page_block *block_of(const struct page_space *space, const struct life *life,
				   uint64_t address)
{
	struct page_block key = { .address = address };
	uint32_t moved;

	if (!space->count || (!life->inherited && life->number > space->births))
		return NULL;
	moved = find_moved(space, address);
	if (moved != HASH_NONE)
		return space->moved.at[moved].block;
	return bsearch(&key, space->blocks, space->count, sizeof(key), by_address);
}

/* An entry for an address never becomes stale: another block of the moment gets there only by a
 * later move, which replaces it, and younger blocks are not looked up. */
static void on_move(void *context, const struct replay_process *process, const struct life *life,
		    uint64_t before)
{
	struct page_moment *m = context;
	struct page_space *space = space_of(m, process);
	struct page_block *block;
	uint32_t moved;

	if (m->searching)
		return;
	if (!m->taken) { /* up to the end, if that is the moment */
		if (m->history && !space->ended)
			page_history_mark(&space->history, before, size_of(life->size),
					  PAGE_REUSED);
		return;
	}
	block = block_of(space, life, before);
	if (!block)
		return;
	moved = find_moved(space, life->address);
	if (moved == HASH_NONE) {
		moved = (uint32_t)space->moved.count;
		vec_push(&space->moved);
		hash_table_add(&space->moved_index, hash_key(life->address), moved);
	}
	space->moved.at[moved] = (struct page_moved){ life->address, block };
}

/* The bytes that an object loses in place become R, like all memory that a collector reuses. */
static void page_moment_on_resize(void *context, const struct replay_process *process,
				  const struct life *life, uint64_t before)
{
	struct page_moment *m = context;
	struct page_space *space = space_of(m, process);

	if (m->history && !m->searching && !m->taken && !space->ended && life->size < before)
		page_history_mark(&space->history, life->address + life->size,
				  size_of(before - life->size), PAGE_REUSED);
}

static void page_moment_on_death(void *context, const struct replay_process *process,
				 const struct life *life, const struct life_death *death)
{
	struct page_moment *m = context;
	struct page_space *space = space_of(m, process);
	enum page_state state = state_of(death->end);

	if (m->when == PAGE_WHEN_END) {
		if (process->early) {
			space->ended = true;
			return;
		}
		if (death->end == LIFE_NEVER) {
			struct page_block *block;

			if (!space->blocks)
				reserve(space, process);
			block = push(m, space, touched_at(m->touched, process->id, TOUCHED_LAST),
				     life);
			tell(m, block, process, life, PAGE_PERSISTENT);
			state = persistent(block);
		}
		if (m->history)
			page_history_mark(&space->history, life->address, size_of(life->size),
					  state);
	} else if (m->taken) {
		struct page_block *block = block_of(space, life, life->address);

		if (block)
			tell(m, block, process, life, state);
	} else if (m->history && !space->ended) {
		page_history_mark(&space->history, life->address, size_of(life->size), state);
	}
}

/* ---- the peak ---- */

static void changed(struct page_moment *m, const struct replay *replay, struct page_space *space,
		    uint64_t more, uint64_t now)
{
	if (space->gone)
		return;
	space->bytes += more;
	m->bytes += more;
	m->most = m->bytes > m->most ? m->bytes : m->most;
	if (!m->taken && m->bytes == m->expected && m->expected) {
		m->time = now;
		take(m, replay);
	}
}

static void sum_birth(void *context, const struct replay_process *process, const struct life *life)
{
	struct page_moment *m = context;

	m->now = life->birth;
	changed(m, process->replay, space_of(m, process), life->size, life->birth);
}

static void sum_resize(void *context, const struct replay_process *process, const struct life *life,
		       uint64_t before)
{
	struct page_moment *m = context;

	page_moment_on_resize(context, process, life, before);
	if (life->inherited)
		return;
	changed(m, process->replay, space_of(m, process), life->size - before, m->now);
}

static void sum_death(void *context, const struct replay_process *process, const struct life *life,
		      const struct life_death *death)
{
	struct page_moment *m = context;
	struct page_space *space = space_of(m, process);

	m->now = death->time;
	if (!m->searching)
		page_moment_on_death(context, process, life, death);
	if (!space->gone && death->end != LIFE_NEVER && !life->inherited) {
		space->bytes -= life->size;
		m->bytes -= life->size;
	}
}

/* Ends processes: their blocks are no longer live. */
static uint64_t end_processes(struct page_moment *m, const struct replay *replay, uint64_t now)
{
	const struct replay_process *p;

	if (!m->ends.order)
		process_ends_init(&m->ends, replay);
	while ((p = process_ends_take(&m->ends, replay, now))) {
		struct page_space *space = space_of(m, p);

		m->bytes -= space->bytes;
		space->gone = true;
		space->ended |= !m->taken;
	}
	return process_ends_time(&m->ends, replay);
}

static uint64_t page_moment_on_moment(void *context, const struct replay *replay, uint64_t now)
{
	struct page_moment *m = context;
	uint64_t next;

	next = end_processes(m, replay, now);
	if (m->when == PAGE_WHEN_PEAK)
		return next;
	take(m, replay);
	return UINT64_MAX;
}

/* ---- running ---- */

static void empty(struct page_moment *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->spaces[i].blocks);
		free(m->spaces[i].moved.at);
		hash_table_deinit(&m->spaces[i].moved_index);
		page_history_deinit(&m->spaces[i].history);
	}
	free(m->spaces);
	process_ends_deinit(&m->ends);
	m->spaces = NULL;
	m->count = 0;
	m->bytes = 0;
}

/* Loads the peak's bytes as the sidecar saw them, if the filter has all processes; else 0. */
static struct shiny_err *load_expected(struct store *store, const struct filter *filter,
				       uint64_t *expected)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;
	bool row = false;

	if (filter_is_subset(filter) || !filter->whole)
		return NULL;
	SHINY_TRY(query_format(store, &q, "SELECT k.bytes FROM session_peak k WHERE k.id = %u",
			       filter->level));
	err = query_step(q, &row);
	if (row)
		*expected = (uint64_t)query_number(q, 0);
	return err;
}

/*
 * Takes one pass, if the pass confirms the sidecar's peak. Otherwise that pass finds the peak, and
 * another one takes it. A filter without all processes first needs a pass that follows every block.
 */
static struct shiny_err *run_for_peak(struct store *store, const struct filter *filter,
				      struct page_moment *m, struct replay_observer *observers,
				      size_t count, bool progress)
{
	struct shiny_err *err = load_expected(store, filter, &m->expected);
	size_t left = 1;

	m->searching = !m->expected;
	if (!err && m->searching) {
		left = count;
		err = replay_run(store, filter, observers, 1,
				 progress ? "looking for the peak" : NULL);
	} else if (!err) {
		err = replay_run(store, filter, observers, count,
				 progress ? "following every block" : NULL);
	}
	if (err || (!m->searching && m->most == m->expected))
		return err;
	m->searching = m->taken = false;
	m->expected = m->most;
	m->most = 0;
	empty(m);
	return replay_run(store, filter, observers, left,
			  progress ? "following every block" : NULL);
}

struct shiny_err *page_moment_run(struct store *store, const struct filter *filter,
				  struct page_moment *m, const struct replay_observer *others,
				  size_t other_count, bool progress)
{
	AUTO_FREE struct replay_observer *observers = mem_zero(other_count + 1, sizeof(*observers));
	struct shiny_err *err;

	/* only blocks of the moment need a type */
	observers[0] = (struct replay_observer){ .context = m,
						 .death = page_moment_on_death,
						 .resize = page_moment_on_resize,
						 .move = on_move,
						 .untyped = true };
	if (m->when == PAGE_WHEN_PEAK) {
		observers[0] = (struct replay_observer){ .context = m,
							 .birth = sum_birth,
							 .death = sum_death,
							 .resize = sum_resize,
							 .move = on_move,
							 .moment = page_moment_on_moment,
							 .untyped = true };
	} else if (m->when == PAGE_WHEN_TIME) {
		observers[0].moment = page_moment_on_moment;
		observers[0].first_moment = m->time;
	}
	for (size_t i = 0; i < other_count; i++)
		observers[i + 1] = others[i];
	if (m->when == PAGE_WHEN_PEAK)
		err = run_for_peak(store, filter, m, observers, other_count + 1, progress);
	else
		err = replay_run(store, filter, observers, other_count + 1,
				 progress ? "following every block" : NULL);
	for (size_t i = 0; !err && m->when == PAGE_WHEN_END && i < m->count; i++)
		if (m->spaces[i].count)
			qsort(m->spaces[i].blocks, m->spaces[i].count, sizeof(*m->spaces[i].blocks),
			      by_address);
	return err;
}

void page_moment_deinit(struct page_moment *m)
{
	empty(m);
}
