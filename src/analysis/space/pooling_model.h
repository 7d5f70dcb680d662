/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling_model.h: the blocks of a session, put into the pools of pooling.h.
 *
 * Runs: CLI. Signals: no. Allocates: see pooling.h. Threads: one a store.
 */
#ifndef SHINY_POOLING_MODEL_H
#define SHINY_POOLING_MODEL_H

#include "../../base/hash_table.h"
#include "../replay/process_ends.h"
#include "../time/lifetimes.h"
#include "page_refs.h"
#include "pages.h"
#include "place_map.h"
#include "pool.h"
#include "pooling_constants.h"
#include "size_class.h"
#include "used_pages.h"

/* Groups: a size bucket and a lifetime each. */
enum { POOLING_GROUPS = PAGES_BUCKETS * POPULATIONS };

struct pool_counts {
	uint64_t blocks, bytes, ended, freed; /* freed: of the ended, by a call of free */
	uint64_t slow_begun, slow_ended;
	uint64_t objects, destroyed;
};
struct pooled { /* a cache line: every event comes to two of them */
	struct pool pool;
	uint32_t process, of;	    /* `of`: a group; POOLING_GROUPS + type group */
	uint64_t slot;		    /* bytes */
	uint32_t blocks, destroyed; /* that were in it; objects among them that ended */
};
/* Which pools blocks of one call stack, slot and bucket begin in, as long as they have no vptr:
 * what most ask again. */
struct pooling_recent {
	uint32_t process, stack;
	uint64_t slot;
	uint32_t bucket, pools[PLACE_POOLS];
};
enum { POOLING_RECENT = 32768 };

/* Pages at a moment; [0] without pools, [1] with. */
struct pool_held {
	struct page_refs groups[2], types[2]; /* on which blocks begin or end; who: [0] a group, or
					       * POOLING_GROUPS + type group; [1] a pool */
	uint64_t (*of)[2];		      /* by group, and POOLING_GROUPS + type group */
	uint64_t buckets[PAGES_BUCKETS][2], total[2];
};

struct pooling_model {
	struct groups types, sites;
	struct size_classes allocators;
	const struct pooling_constants *constants;
	bool *no_object, *is_object; /* by type id: known to be none; known to be one */
	size_t type_ids;
	uint32_t (*site_lives)[POPULATIONS]; /* first pass */
	struct {
		uint64_t bytes;
		bool ended;
	} * processes;		  /* first pass, by process id */
	struct process_ends ends; /* likewise */
	uint64_t live, most, peak_time, duration, collected;

	struct pooled *pools;
	size_t pool_count, pool_room;
	struct pool_counts *counts;   /* by group, and POOLING_GROUPS + type group */
	struct hash_table pool_index; /* of pools */
	struct place_map places;
	struct pooling_recent recent[POOLING_RECENT];
	struct used_pages *used; /* by process id; by group */
	size_t process_count;
	struct pool_held peak, end;
};

/* Goes through the session twice. `model` has its constants, and is zero else; it is on the heap,
 * and pooling_model_free frees it, also after an error. */
SHINY_MUST_CHECK struct shiny_err *pooling_model_run(struct pooling_model *model,
						     struct store *store,
						     const struct filter *filter, bool full_names,
						     bool progress);
void pooling_model_free(struct pooling_model *model);
/* A pool's chunk, and how many slots are in it. */
uint64_t pooling_chunk_bytes(const struct pooling_model *model, uint64_t slot, uint64_t *slots);

#endif
