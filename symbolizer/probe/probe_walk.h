/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_walk.h: all ways through a small function, with its arguments as symbols.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any; a walker is its caller's.
 */
#ifndef SHINY_SYM_PROBE_WALK_H
#define SHINY_SYM_PROBE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_eval.h"

enum { WALK_ARMS = 16, WALK_STORES = 12 };

/* A value was stored at an address. */
struct walk_store {
	struct eval_value address, value;
	unsigned bytes;
};

/* One way, as far as it has come. */
struct walk_way {
	struct eval eval;
	uint64_t vaddr;
	struct walk_store stores[WALK_STORES]; /* the last ones to each address */
	unsigned store_count;
	uint16_t limits[EVAL_ARGUMENTS]; /* argument n was compared with this power of two; 0: with
	                                  * none */
	uint8_t sized, overhead;         /* the first argument that 8 to 31 was added to, by lea or
	                                  * add; 0, 0: none */
	unsigned steps;
};

struct walker {
	struct flow_code code;
	struct walk_way arms[WALK_ARMS];
	unsigned arm_count, steps;
};

/* In front of `in`. True: this is it, the walk ends. */
typedef bool walk_fn(const struct walk_way *way, const struct flow_instruction *in, void *context);

/*
 * Walks from `vaddr`, both arms of each branch, the one that goes straight on first, until
 * `at_return` or `at_call` accept. `at_call` is asked at calls and at indirect jumps. Either may be
 * NULL. False: neither did, within bounds.
 */
bool walk_function(struct walker *walker, const struct eval_world *world, uint64_t vaddr,
		   walk_fn *at_return, walk_fn *at_call, void *context);

/* Does the instruction only write its first operand, in memory, from its second? */
bool walk_is_store(const struct flow_instruction *in);

#endif
