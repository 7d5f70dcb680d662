/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: follows a pointer from the instruction after the call that returned it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: bounded, in flow_follow(). Threads: one at a time a
 * flow.
 *
 * A flow walks the machine code of one function forward, both arms of each branch, at most
 * FLOW_STEPS instructions in all. Its values are "the pointer plus a constant", followed through
 * registers and through the slots of the frame. It reports facts; the rules decide what they mean:
 * a constructor, a typed variable (infer/).
 */
#ifndef SHINY_SYM_FLOW_H
#define SHINY_SYM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_fact.h"

/* Value of flow_state's rsp if it is unknown, as after `and $-16, %rsp`. */
#define FLOW_RSP_UNKNOWN INT64_MIN

enum { FLOW_STEPS = 260, FLOW_FACTS = 96, FLOW_SLOTS = 8 };

/* A frame slot that holds the pointer. Its address is a register (rsp or rbp) as it was at the
 * flow's start, plus a displacement. */
struct flow_slot {
	unsigned base; /* FLOW_RSP or FLOW_RBP */
	int64_t displacement, offset;
};
/*
 * Places that hold the pointer before one instruction. Single-stepped through 2,170 blocks of
 * clang: 136,000 times a register was said to hold it and 34,000 times a slot, and did.
 */
struct flow_state {
	uint64_t vaddr;
	uint16_t registers;                /* bit r: register r holds the pointer + offsets[r] on
	                                    * every path */
	uint16_t possible;                 /* the same on at least one path (`v = found ? found :
	                                    * p`): a superset of `registers` */
	int32_t offsets[FLOW_REGISTERS];
	int64_t rsp;                       /* distance of rsp from its value at the start, or
	                                    * FLOW_RSP_UNKNOWN */
	struct flow_slot slots[FLOW_SLOTS];
	unsigned slot_count;
	uint64_t successors[2];            /* next instructions that the walk visited; 0: none */
};

struct flow {
	struct flow_fact facts[FLOW_FACTS]; /* nearest first, in instructions from the start; at
	                                     * equal distance the fall-through arm's first */
	size_t fact_count;
	int64_t written;                    /* highest offset of a FLOW_WRITE; INT64_MIN: none */
	struct flow_state *states;          /* sorted by vaddr; of a place visited twice, what both
	                                     * visits agree on */
	size_t state_count;
};

/*
 * Follows the value of rax at `start` (a return address). [low, high) is the function's main part;
 * a jump out of it ends an arm, except into [cold_low, cold_high) (0, 0: there is no cold part).
 * False: out of memory. Call flow_deinit() in both cases.
 */
bool flow_follow(const struct flow_code *code, uint64_t start, uint64_t low, uint64_t high,
		 uint64_t cold_low, uint64_t cold_high, struct flow *out);
void flow_deinit(struct flow *flow);

/* Returns the state before the instruction at `vaddr`; NULL: the walk did not reach it. */
const struct flow_state *flow_at(const struct flow *flow, uint64_t vaddr);

#endif
