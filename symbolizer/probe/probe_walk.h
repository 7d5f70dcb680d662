/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_walk.h: walks all ways through a small function, with its arguments as symbols.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any; a walker is its caller's.
 */
#ifndef SHINY_SYM_PROBE_WALK_H
#define SHINY_SYM_PROBE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_eval.h"

enum { WALK_ARMS = 16, WALK_STORES = 12 };

/* A store of a value at an address. */
struct walk_store {
	struct eval_value address, value;
	unsigned bytes;
};

/* One way, up to the current instruction. */
struct walk_way {
	struct eval eval;
	uint64_t vaddr;
	struct walk_store stores[WALK_STORES]; /* the last one to each address */
	unsigned store_count;
	uint16_t limits[EVAL_ARGUMENTS]; /* argument n was compared with this power of two; 0: with
	                                  * none */
	uint8_t sized, overhead;         /* the first argument to which lea or add added 8 to 31,
	                                  * and that number; 0, 0: none */
	unsigned steps;
};

struct walker {
	struct flow_code code;
	struct walk_way arms[WALK_ARMS];
	unsigned arm_count, steps;
};

/* Called before `in` runs. True ends the walk. */
typedef bool walk_fn(const struct walk_way *way, const struct flow_instruction *in, void *context);

/*
 * Walks from `vaddr`, both arms of each forward branch, the one that goes straight on first, until
 * `at_return` or `at_call` accepts. `at_call` is called at calls and at indirect jumps. Either may
 * be NULL. False: neither accepted, within bounds.
 */
bool walk_function(struct walker *walker, const struct eval_world *world, uint64_t vaddr,
		   walk_fn *at_return, walk_fn *at_call, void *context);

/* True if the instruction only writes its first operand, in memory, from its second. */
bool walk_is_store(const struct flow_instruction *in);

#endif
