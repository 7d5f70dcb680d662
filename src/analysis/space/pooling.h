/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.h: models the allocator calls, cycles and pages that pools would save. Only the side
 * without pools is recorded.
 *
 * Runs: CLI. Signals: no. Allocates: see cost. Threads: one a store, and one of its own.
 *
 * After F10 and the cost model of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026):
 * blocks of one size class and similar lifetime get a pool.
 *
 * The pools. A pool holds blocks of one process, one size class of its allocator (its slots are as
 * large; glibc has bins: size_class.h), one of F10's size buckets (as requested) and one lifetime:
 * short, middle or tail (lifetimes.h). A block's lifetime is unknown at its birth, so its call site
 * decides: the lifetime that most blocks of the site had. The pool hands out its lowest free slot
 * (pool.h); when none is free, it takes a chunk of `chunk` bytes, or of one slot if that is larger,
 * from the allocator, and keeps it until the process ends. For the rows by type, types have pools
 * of their own: of one process, size class and type.
 *
 * Counts, without pools (as recorded) and with:
 *   calls      of the allocator. Without: one a block that began, one a block that was freed; a
 *              realloc is one. With: one a chunk.
 *   slow       of the calls, those that enter the system. Without: blocks with a mapping of their
 *              own, begin and end. With: all.
 *   cycles     without: alloc a block that began, free one that was freed or realloced, slow
 *              instead where the system is entered; with: slow a chunk, reuse each time the pool
 *              hands out or takes back a block
 *   destructors  of objects that ended, as it was. *Deferred*: a slot is constructed over in place,
 *                and its last object destroyed only with the pool: one a slot that was ever used,
 *                if that is fewer. An object is a block with a vptr; one from new, unless by its
 *                type it is none (nor a container's node); one from a function that may be new or
 *                malloc, if by its type it is one.
 *   pages      of 4 KiB that hold at least a byte of the blocks, as requested: without, at their
 *              addresses; with, in the slots of their pools; at the time of most live bytes, and at
 *              the end
 *   reclaimable  pages on which a block ever lay and none does any more at the end: used - end.
 *                With: the used ones that the pools do not need at the end. Without, a page may
 *                count in several buckets; the sum counts each once.
 *
 * Constants: pooling_constants.h.
 *
 * Left out: garbage-collected objects, blocks that a fork copied, and at the end blocks of programs
 * that exec replaced.
 *
 * Cost: two passes over the events (replay.h); 16 bytes a live block, and at the two moments as
 * much again; a bit a slot, 100 bytes a pool, 2 KiB a range of 2 MiB that was ever used.
 */
#ifndef SHINY_POOLING_H
#define SHINY_POOLING_H

#include "../../answer/field.h"
#include "../time/site_lives.h"
#include "pages.h"
#include "pooling_constants.h"
#include "size_class.h"

struct pooling_side { /* the sums without pools, or with */
	uint64_t calls, slow, cycles; /* cycles: of the calls and the pools */
	uint64_t peak_pages, end_pages;
};
struct pooling_row {
	char *name;                   /* of a type; else NULL */
	uint64_t blocks, bytes;       /* blocks that began */
	uint64_t most;                /* most slots of its pools in use at once, each pool at its
				       * own time */
	uint64_t pools;
	uint64_t used_pages;          /* pages where one ever lay; 0 for types: not counted */
	uint64_t objects, destroyed;  /* blocks that are objects; those that ended */
	uint64_t deferred;            /* number of destructors with deferred destruction */
	struct pooling_side without, with;
	unsigned bucket;              /* of all but types: pages_bucket_up_to */
	const char *lifetime;         /* of population_names; NULL: of all */
};
struct pooling_bucket {
	struct pooling_row all, lifetimes[POPULATIONS]; /* lifetimes: of the pools */
};
struct pooling_way { /* without pools; with them; with deferred destructors, too */
	const char *text;
	struct pooling_side side;
	uint64_t destructors, cycles, reclaimable; /* cycles: pooling_cycles() */
};
enum { POOLING_AS_WAS, POOLING_POOLS, POOLING_DEFERRED, POOLING_WAYS };
struct pooling {
	struct pooling_constants constants;
	struct pooling_bucket sizes[PAGES_BUCKETS];
	struct pooling_row total;
	struct pooling_way ways[POOLING_WAYS]; /* of the total */
	struct pooling_row *types;     /* those that match; most cycles saved first */
	size_t type_count;
	uint64_t duration, peak_time;  /* ns; of the session; time of most live bytes */
	uint64_t collected;            /* objects left out: the garbage collector's */
};

/* Runs the model in two passes. `match`: pattern of types' names; NULL: all. `flags`: enum
 * pooling_flags. */
SHINY_MUST_CHECK struct shiny_err *pooling_load(struct store *store, const struct filter *filter,
						const struct pooling_constants *constants,
						const char *match, unsigned flags,
						struct pooling *out);
/* The same in one pass, given the results of the first. */
SHINY_MUST_CHECK struct shiny_err *pooling_load_known(struct store *store,
						      const struct filter *filter,
						      const struct site_lives *lives,
						      const struct pooling_constants *constants,
						      const char *match, unsigned flags,
						      struct pooling *out);
void pooling_deinit(struct pooling *pooling);

/* Returns the cycles that pools save; below 0: they cost more. */
static inline int64_t pooling_saved(const struct pooling_row *row)
{
	return (int64_t)(row->without.cycles - row->with.cycles);
}
/* Returns all cycles of the model: calls, constructors, and this many destructors. */
static inline uint64_t pooling_cycles(const struct pooling *pooling,
				      const struct pooling_side *side, uint64_t destructors)
{
	return side->cycles + pooling->total.objects * pooling->constants.ctor +
	       destructors * pooling->constants.dtor;
}
static inline uint64_t pooling_reclaimable(const struct pooling_row *row,
					   const struct pooling_side *side)
{
	return row->used_pages > side->end_pages ? row->used_pages - side->end_pages : 0;
}

extern const struct field pooling_fields[];

#endif
