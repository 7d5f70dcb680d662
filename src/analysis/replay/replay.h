/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h: follows every block's life through the events of a session, for all analyses over time.
 *
 * Runs: CLI. Signals: no. Allocates: 77 to 90 bytes a live block (life_map.h), 16 to 32 a type of a
 * stack (type_table.h). Threads: one a store.
 *
 * One pass over the events, in the order of the file; observers get a call for each birth and each
 * death. So an analysis takes memory by what it keeps, never by the number of events; for time, see
 * bench/results/replay.txt. Events that the sidecar got late (counter `late`) keep their place in
 * the file, with their own time.
 *
 * Observers see a fork before the first event that lies after it. But events of a ring that the
 * sidecar saw late come after later ones: while a parent has no event yet, a fork waits for its
 * first event or the child's, and so comes after events and moments later than it.
 *
 * A block is born when its allocation has returned and dies when its free is called. Forked
 * children start with copies of their parent's blocks: observers see the deaths of these, or that
 * they are live at the end, with `inherited` set, but no births; they never count as live. A
 * realloc is the death of one block and the birth of another, even at the same address.
 * Garbage-collected objects, however, are resized in place, and moved by the collector.
 *
 * Where older events were dropped (SHINY_KEEP), the blocks that lived then come first, as births at
 * their times, of no thread; forks before that are in them. Moments before that come before them.
 *
 * A filter with an interval or tags (filter.h) selects the blocks that were born in it; observers
 * see their deaths whenever they come.
 */
#ifndef SHINY_REPLAY_H
#define SHINY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../store/store.h"
#include "../query/filter.h"
#include "observer.h"

/* Passes over the session once for all observers. `title`: of the progress line on standard error;
 * NULL: none. Within replay_together(), tasks may share the pass. */
SHINY_MUST_CHECK struct shiny_err *replay_run(struct store *store, const struct filter *filter,
					      struct replay_observer *observers, size_t count,
					      const char *title);
/* The same, never shared with other tasks. */
SHINY_MUST_CHECK struct shiny_err *replay_pass(struct store *store, const struct filter *filter,
					       struct replay_observer *observers, size_t count,
					       const char *title);

/* Returns the id in table type of a block's type, as derived at the end of the recording; 0:
 * unknown. */
uint32_t replay_find_type(const struct replay_process *process, uint32_t stack, uint32_t vtable);
static inline uint32_t replay_type(const struct replay_process *process, const struct life *life)
{
	/* a copy made for its old state may have another vtable; an untyped pass looks up no
	 * types */
	return life->vtable == life->type_vtable
		       ? life->type
		       : replay_find_type(process, life->stack, life->vtable);
}

/* Returns the live block that begins at `address`; NULL: none. */
static inline const struct life *replay_find(const struct replay_process *process, uint64_t address)
{
	uint32_t place = life_map_find(&process->blocks, address, life_hash(address));

	return place ? life_at(process->blocks.pool, place) : NULL;
}

/* Loops over the live blocks of a process that the filter selects, in no order. `births`, `bytes`
 * and blocks.count include all others. */
#define replay_each(process, life)                                                    \
	for (const struct life *life = life_map_next(&(process)->blocks, NULL); life; \
	     life = life_map_next(&(process)->blocks, life))                          \
		if (!life->outside)

#endif
