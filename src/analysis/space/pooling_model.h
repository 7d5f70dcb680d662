/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling_model.h: puts a session's blocks into the pools of pooling.h.
 *
 * Runs: CLI. Signals: no. Allocates: see pooling.h. Threads: one a store; another puts blocks into
 * pools (change_queue.h).
 */
#ifndef SHINY_POOLING_MODEL_H
#define SHINY_POOLING_MODEL_H

#include "../../base/hash_table.h"
#include "../time/site_lives.h"
#include "../replay/change_queue.h"
#include "page_refs.h"
#include "pages.h"
#include "pool.h"
#include "pooling_constants.h"
#include "size_class.h"
#include "used_pages.h"

/* A group is a size bucket and a lifetime. */
enum { POOLING_GROUPS = PAGES_BUCKETS * POPULATIONS };

struct pool_counts {
	uint64_t blocks, bytes, ended, freed; /* freed: those of `ended` that a free ended */
	uint64_t slow_begun, slow_ended;
	uint64_t objects, destroyed;
};
struct pooled { /* a cache line: each event touches two */
	struct pool pool;
	uint32_t process, of;	    /* of: a group, or POOLING_GROUPS + a type's group */
	uint64_t slot;		    /* bytes */
	uint32_t blocks, destroyed; /* blocks that were in it; objects among them that ended */
};
/* The pools of a block: that of its group, and that of its type. */
enum { PLACE_POOLS = 2 };
/* The pools of blocks of one process, slot, group and type, as last found: most look-ups repeat
 * one. */
struct pooling_recent {
	uint64_t slot;
	uint32_t process; /* 0: empty */
	uint32_t of[PLACE_POOLS], pools[PLACE_POOLS];
};
enum { POOLING_RECENT = 32768 };
/* The slots of a live block in its pools. */
struct pool_place {
	struct {
		uint32_t pool; /* index of model.pools */
		uint32_t slot : 31;
		uint32_t slow : 1; /* the block has a mapping of its own */
	} in[PLACE_POOLS];
};

/* The pages held at a moment; [0] without pools, [1] with. */
struct pool_held {
	struct page_refs groups[2], types[2]; /* pages where blocks begin or end; `who`: [0]: a
					       * group, or POOLING_GROUPS + a type's; [1]: a pool */
	uint64_t (*of)[2];		      /* by group, and POOLING_GROUPS + type's group */
	uint64_t buckets[PAGES_BUCKETS][2], total[2];
};

struct pooling_model {
	struct groups types;
	const struct site_lives *lives;
	unsigned kinds; /* kinds of pools: 1: those of groups only; PLACE_POOLS */
	struct size_classes allocators;
	const struct pooling_constants *constants;
	bool *no_object, *is_object; /* by type id: known to be no object; known to be one */
	size_t type_ids;
	uint8_t *site_lifetime; /* by site: enum population */

	struct pooled *pools;
	size_t pool_count, pool_room;
	struct pool_counts *counts;   /* by group, and POOLING_GROUPS + type's group */
	struct hash_table pool_index; /* index of `pools` */
	struct change_queue *changes;
	struct pool_place *places; /* by life.place */
	size_t place_room;
	struct pooling_recent recent[POOLING_RECENT];
	struct used_pages *used; /* by process id; its groups are pool groups */
	size_t process_count;
	struct pool_held peak, end;
};

/*
 * Runs the model in a pass. `flags`: enum pooling_flags. `model` has its constants and `lives`, and
 * is zero otherwise; it must be on the heap, and pooling_model_free() frees it, also after an
 * error.
 */
SHINY_MUST_CHECK struct shiny_err *pooling_model_run(struct pooling_model *model,
						     struct store *store,
						     const struct filter *filter, unsigned flags);
void pooling_model_free(struct pooling_model *model);
/* Returns the bytes of a pool's chunk; *slots: the slots in it. */
uint64_t pooling_chunk_bytes(const struct pooling_model *model, uint64_t slot, uint64_t *slots);

#endif
