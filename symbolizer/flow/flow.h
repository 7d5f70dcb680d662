/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: where does a pointer go, from the instruction behind the call that returned it?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: bounded, in flow_follow(). Threads: one at a time a
 * flow.
 *
 * A flow is the forward walk over the machine code of one function, both arms of each branch, at
 * most FLOW_STEPS instructions in all. Its values are "the pointer plus a constant", followed
 * through registers and through the slots of the frame. What it meets are facts; the rules decide
 * what they mean: a constructor, a typed variable (infer/).
 */
#ifndef SHINY_SYM_FLOW_H
#define SHINY_SYM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_fact.h"

/* flow_state's rsp where it isn't known, as behind `and $-16, %rsp`. */
#define FLOW_RSP_UNKNOWN INT64_MIN

enum { FLOW_STEPS = 260, FLOW_FACTS = 96, FLOW_SLOTS = 8 };

/* A place that holds the pointer. Slots are named by a register and a displacement that were valid
 * at the flow's start: rsp or rbp. */
struct flow_slot {
	unsigned base; /* FLOW_RSP or FLOW_RBP, as at the start */
	int64_t displacement, offset;
};
/*
 * What holds the pointer in front of one instruction. Single-stepped through 2,170 blocks of clang:
 * 136,000 times a register was said to hold it and 34,000 times a slot, and did.
 */
struct flow_state {
	uint64_t vaddr;
	uint16_t registers;                /* bit r: register r holds the pointer + offsets[r],
	                                    * whatever path led here */
	uint16_t possible;                 /* likewise, on one path at least: `v = found ? found :
	                                    * p`. A superset */
	int32_t offsets[FLOW_REGISTERS];
	int64_t rsp;                       /* rsp's distance from its value at the start;
	                                    * FLOW_RSP_UNKNOWN */
	struct flow_slot slots[FLOW_SLOTS];
	unsigned slot_count;
	uint64_t successors[2];            /* where the walk went on from here; 0 none */
};

struct flow {
	struct flow_fact facts[FLOW_FACTS]; /* nearest first, in instructions from the start; of two
	                                     * as near the fall-through arm's */
	size_t fact_count;
	int64_t written;                    /* the highest offset of a FLOW_WRITE; INT64_MIN: there
	                                     * was none */
	struct flow_state *states;          /* by vaddr; a place visited twice keeps what both
	                                     * visits agree on */
	size_t state_count;
};

/*
 * Follows what is in rax at `start` (a return address). `low` and `high` bound the function's main
 * part; a jump out of it ends an arm, except into `cold_low` … `cold_high` (0, 0: none). False: no
 * memory. flow_deinit() in both cases.
 */
bool flow_follow(const struct flow_code *code, uint64_t start, uint64_t low, uint64_t high,
		 uint64_t cold_low, uint64_t cold_high, struct flow *out);
void flow_deinit(struct flow *flow);

/* The state in front of the instruction at `vaddr`; NULL: the walk did not reach it. */
const struct flow_state *flow_at(const struct flow *flow, uint64_t vaddr);

/* Is there a path from the instruction at `from` to the one at `to` (not from one to itself, unless
 * around a loop)? */
bool flow_reaches(const struct flow *flow, uint64_t from, uint64_t to);

#endif
