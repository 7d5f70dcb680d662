/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.h: what pools would save: allocator calls, cycles and pages, without and with. A model:
 * only the part without is recorded.
 *
 * Runs: CLI. Signals: no. Allocates: see cost. Threads: one a store, and one of its own.
 *
 * After F10 and the cost model of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026):
 * blocks of one size class and similar lifetime get a pool.
 *
 * The pools. A pool holds blocks of one process, one size class of its allocator (its slots are as
 * large; glibc has bins: size_class.h), one of F10's size buckets (as requested) and one lifetime:
 * short, middle or tail (lifetimes.h). A block does not say at its birth how long it will live, so
 * what counts is its call site: the lifetime that most blocks of the site had. The pool hands out
 * its lowest free slot (pool.h); when none is free, it takes a chunk of `chunk` bytes, or of one
 * slot if that is larger, from the allocator, and keeps it until the process ends. For the rows by
 * type, types have pools of their own: of one process, size class and type.
 *
 * What is counted, without pools (as it was) and with:
 *   calls      of the allocator. Without: one a block that began, one a block that was freed; a
 *              realloc is one. With: one a chunk.
 *   slow       of the calls, those that enter the system. Without: blocks with a mapping of their
 *              own, begin and end. With: all.
 *   cycles     without: alloc a block that began, free one that was freed or realloced, slow
 *              instead where the system is entered; with: slow a chunk, reuse each time the pool
 *              hands out or takes back a block
 *   destructors  of objects that ended, as it was. *Deferred*: a slot is constructed over in place,
 *                and what is in it is only destroyed with
 *              its pool: one a slot that was ever used, if that is fewer. An object is a block with
 *              a vptr; one from new, unless its type says that it is none (nor a container's node);
 *              one from what may be new or malloc, if its type says that it is.
 *   pages      of 4 KiB that hold at least a byte of the blocks, as requested: without, where they
 *              lay; with, where their pools would have put them; when most bytes were live in all,
 *              and at the end
 *   reclaimable  pages on which a block ever lay and none does any more at the end: used - end.
 *                With: what of the used ones the pools do not
 *              need at the end.
 * A bucket's pages, without, may be another bucket's as well; the sum counts each once.
 *
 * Constants: pooling_constants.h.
 *
 * Left out: garbage-collected objects, blocks that a fork brought along, and what exec replaced is
 * not there at the end.
 *
 * Cost: two passes over the events (replay.h); 16 bytes a live block, and at the two moments as
 * much again; a bit a slot, 100 bytes a pool, 2 KiB a range of 2 MiB that was ever used.
 */
#ifndef SHINY_POOLING_H
#define SHINY_POOLING_H

#include "../time/site_lives.h"
#include "pages.h"
#include "pooling_constants.h"
#include "size_class.h"

struct pooling_side { /* without pools, or with */
	uint64_t calls, slow, cycles; /* cycles: of the calls, and of the pools */
	uint64_t peak_pages, end_pages;
};
struct pooling_row {
	char *name;                   /* of a type; else NULL */
	uint64_t blocks, bytes;       /* that began */
	uint64_t most;                /* slots that its pools had in use at once, each at its own
	                               * time */
	uint64_t pools;
	uint64_t used_pages;          /* on which one ever lay; of types 0: not counted */
	uint64_t objects, destroyed;  /* of the blocks; of these, ended */
	uint64_t deferred;            /* destructors with deferred destruction */
	struct pooling_side without, with;
};
struct pooling {
	struct pooling_constants constants;
	/* by size bucket and lifetime of the pool */
	struct pooling_row groups[PAGES_BUCKETS][POPULATIONS];
	struct pooling_row buckets[PAGES_BUCKETS];             /* pages_bucket_up_to */
	struct pooling_row total;
	struct pooling_row *types;     /* that match; most cycles saved first */
	size_t type_count;
	uint64_t duration, peak_time;  /* ns; of the session; when most bytes were live */
	uint64_t collected;            /* objects that are left out */
};

/* `match`: of the types' names; NULL all. `flags`: enum pooling_flags. */
SHINY_MUST_CHECK struct shiny_err *pooling_load(struct store *store, const struct filter *filter,
						const struct pooling_constants *constants,
						const char *match, unsigned flags,
						struct pooling *out);
/* The same, where what its first pass finds out is known: one pass. */
SHINY_MUST_CHECK struct shiny_err *pooling_load_known(struct store *store,
						      const struct filter *filter,
						      const struct site_lives *lives,
						      const struct pooling_constants *constants,
						      const char *match, unsigned flags,
						      struct pooling *out);
void pooling_deinit(struct pooling *pooling);

/* Cycles that pools save; below 0: they cost more. */
static inline int64_t pooling_saved(const struct pooling_row *row)
{
	return (int64_t)(row->without.cycles - row->with.cycles);
}
/* All cycles of the model: calls, constructors, and so many destructors. */
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

#endif
