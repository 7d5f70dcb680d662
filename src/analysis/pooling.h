/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.h: what pools would save: allocator calls, cycles and pages, with and without. A model: only the part without is recorded.
 *
 * Runs: CLI. Signals: no. Allocates: see cost. Threads: one a store.
 *
 * After F10 and the cost model of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026): blocks of one size class and similar
 * lifetime get a pool.
 *
 * The pools. A pool holds blocks of one process, one slot size (size_class.h: no pool makes a block larger than its allocator does) and one
 * lifetime: short, middle or tail (lifetimes.h). A block does not say when it is born how long it will live, so what counts is its call site: the lifetime
 * that most blocks of the site had. The pool hands out its lowest free slot; when none is free, it takes a chunk of `chunk` bytes, or of one
 * slot if that is larger, from the allocator and keeps it until the process ends. Its empty pages go back to the system.
 * Pools of a type, for the rows by type: the same with the type in place of the lifetime.
 *
 * What is counted, each without pools (as it was) and with:
 *   calls      of the allocator: without, one a block that began and one a block that was freed; a realloc is one. With: one a chunk.
 *   slow       of the calls, those that enter the system: without, blocks with a mapping of their own, begin and end; with, all
 *   cycles     without: alloc or free a call (realloc: both), slow instead where the system is entered; with: slow a chunk, reuse a block
 *              that a pool hands out or takes back
 *   destructors  of objects: ended ones, as it was. With *deferred* destruction, a slot's object is only destroyed with its pool: one a
 *              slot that was ever used. Constructors run in any case, in place. A block is an object if it came from new or its type says so
 *              (an object or a container's node)
 *   pages      of 4 KiB that hold at least one of the blocks: without, where they lay; with, where their pools would have put them; when most
 *              bytes were live, and at the end
 *   reclaimable  pages, of those on which one of the blocks ever lay, that hold none of them any more at the end: used - pages. With pools: used -
 *              pages with pools
 * Constants and their source, REFERENCE.md section 1, from the paper: alloc 150, free 100, ctor 300, dtor 200 cycles; a call that enters the
 * system 500 to 5,000: the middle, 2,750. Ours: reuse 0, as the paper charges a pool nothing; chunk 64 KiB.
 *
 * Left out: garbage-collected objects, blocks that a fork brought along. "The end" of a process is when it ended, or the recording did;
 * what exec replaced has none.
 *
 * Cost: three passes over the events (lives.h); 24 bytes a live block, 1 bit and 1 byte a slot of a pool, 16 a page that was ever used, 64 a
 * type and slot size.
 */
#ifndef SHINY_POOLING_H
#define SHINY_POOLING_H

#include "lifetimes.h"
#include "size_class.h"

struct pooling_constants {
	uint64_t alloc, free, slow, ctor, dtor, reuse; /* cycles */
	uint64_t chunk;                                /* bytes */
};
extern const struct pooling_constants pooling_defaults;
enum { POOLING_CONSTANTS = 7 };
struct pooling_constant {
	const char *name, *text; /* "alloc", what it is */
	size_t offset;           /* of a uint64_t in struct pooling_constants */
};
extern const struct pooling_constant pooling_constant_list[POOLING_CONSTANTS];
/* "alloc=150,chunk=1m": those that it names are changed. An unknown name or a bad value is a usage error, and nothing is changed. */
SHINY_MUST_CHECK struct shiny_err *pooling_parse(const char *text, struct pooling_constants *constants);

enum { POOLING_BUCKETS = 6 };
extern const uint64_t pooling_bucket_up_to[POOLING_BUCKETS]; /* F10's: 64, 256, 1 K, 4 K, 16 K, UINT64_MAX; requested bytes */

struct pooling_side { /* without pools, or with */
	uint64_t calls, slow, cycles;  /* cycles: of the calls, and of the pools */
	uint64_t peak_pages, end_pages;
};
struct pooling_row {
	char *name;                    /* of a type; NULL */
	uint64_t blocks, bytes, ended; /* that began; of these, by a free or a realloc */
	uint64_t most;                 /* slots that its pools had in use at once, each at its own time */
	uint64_t pools, chunks;
	uint64_t used_pages;           /* on which one ever lay; of types not counted: 0 */
	uint64_t objects, destroyed;   /* blocks that are objects; of these, ended */
	uint64_t deferred;             /* destructors with deferred destruction */
	struct pooling_side without, with;
};
struct pooling {
	struct pooling_constants constants;
	struct pooling_row groups[POOLING_BUCKETS][POPULATIONS]; /* by size bucket and lifetime of the pool */
	struct pooling_row buckets[POOLING_BUCKETS];
	struct pooling_row total; /* pages: each once */
	struct pooling_row *types; /* most cycles saved first */
	size_t type_count;
	uint64_t duration, peak_time; /* ns; when most bytes were live */
	uint64_t collected, inherited; /* blocks that are left out */
};

SHINY_MUST_CHECK struct shiny_err *pooling_load(struct store *store, const struct scope *scope, const struct pooling_constants *constants,
						const char *match, bool full_names, bool progress, struct pooling *out);
void pooling_deinit(struct pooling *pooling);

/* Reclaimable pages, as defined above. */
static inline uint64_t pooling_reclaimable(const struct pooling_row *row, const struct pooling_side *side)
{
	return row->used_pages > side->end_pages ? row->used_pages - side->end_pages : 0;
}

#endif
