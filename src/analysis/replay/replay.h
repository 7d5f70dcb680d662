/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h: every block's life, one after the other, from the events of a session: what all
 * analyses over time are made of.
 *
 * Runs: CLI. Signals: no. Allocates: 77 to 90 bytes a live block (life_map.h), 16 to 32 a type of a
 * stack (type_table.h). Threads: one a store.
 *
 * One pass over the events, in the order of the file; observers get a call for each birth and each
 * death. So an analysis takes memory by what it keeps, never by the number of events; for time, see
 * bench/results/replay.txt. Events that the sidecar got later than others (counter `late`) stay
 * where they stand, with their own time.
 *
 * Observers see a fork before the first event that lies after it. But the events of a ring that the
 * sidecar saw late stand behind later ones: while a parent has no event yet, a fork waits for its
 * first event or the child's, and comes behind events, and moments, that lie after it.
 *
 * A block is born when its allocation has returned and dies when its free is called. Forked
 * children start with what their parent held: observers see those blocks as deaths, or as alive at
 * the end, with `inherited` set, and not as births; they count for nothing that is live. A realloc
 * is the death of one block and the birth of another, even at the same address. Not so of
 * garbage-collected objects, which are resized in place, and moved by the collector.
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

extern const char *const life_end_names[LIFE_ENDS]; /* "freed" */

/* Goes through the session for all observers at once. `title`: what the progress line on standard
 * error says; NULL: none. Within replay_together() the pass may be one of several tasks. */
SHINY_MUST_CHECK struct shiny_err *replay_run(struct store *store, const struct filter *filter,
					      struct replay_observer *observers, size_t count,
					      const char *title);
/* The same, of nobody else's observers. */
SHINY_MUST_CHECK struct shiny_err *replay_pass(struct store *store, const struct filter *filter,
					       struct replay_observer *observers, size_t count,
					       const char *title);

/* Id in table type of what the block is, as concluded at the end of the recording; 0 unknown. */
uint32_t replay_find_type(const struct replay *replay, const struct replay_process *process,
			  uint32_t stack, uint32_t vtable);
static inline uint32_t replay_type(const struct replay *replay,
				   const struct replay_process *process, const struct life *life)
{
	/* a copy may have got another vtable, to know what it was before; an untyped pass has
	 * looked up none */
	return life->vtable == life->type_vtable
		       ? life->type
		       : replay_find_type(replay, process, life->stack, life->vtable);
}

/* The live block that begins there; NULL: none does. */
static inline const struct life *replay_find(const struct replay_process *process, uint64_t address)
{
	uint32_t place = life_map_find(&process->blocks, address, life_hash(address));

	return place ? life_at(process->blocks.pool, place) : NULL;
}

/* Live blocks of a process that the filter is about, in no order. `births`, `bytes` and the count
 * of `blocks` are those of all. */
#define replay_each(process, life)                                                    \
	for (const struct life *life = life_map_next(&(process)->blocks, NULL); life; \
	     life = life_map_next(&(process)->blocks, life))                          \
		if (!life->outside)

#endif
