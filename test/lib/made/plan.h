/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: what a made-up program can do: its call sites with what they make and how long that
 * stays, and the routines that call them.
 *
 * Runs: CLI, in tests. Allocates: nothing. Threads: one.
 *
 * Routines are fixed sequences of allocations, and three times of four are followed by the same
 * one; 10,000 call sites make 2,000 types. All choices, here and later, come from one generator
 * with a fixed seed.
 */
#ifndef TEST_MADE_PLAN_H
#define TEST_MADE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { STACKS = 10000, TYPES = 2000, FREERS = 2000, ROUTINES = 3000, VPTR_EVERY = 4 };

enum stays { FEW_EVENTS, SOME_EVENTS, MANY_EVENTS, OFTEN_FOR_EVER };

struct plan { /* of a call site */
	uint32_t type, size;
	enum stays stays;
	uint8_t api, freed;
	bool varies, grows, untyped; /* untyped: only a vptr tells its blocks' type */
};
struct routine { uint32_t first, count, next; };

extern struct plan plans[STACKS + 1]; /* by stack id, which is the call site's */
extern struct routine routines[ROUTINES];
extern uint32_t steps[ROUTINES * 8]; /* stacks, of one routine after the other */

void plans_make(void);

/* The type of its blocks as far as it is known, 0 unknown. Types with numbers that VPTR_EVERY
 * divides have vptrs. */
static inline uint32_t plan_type(uint32_t stack, bool vptr)
{
	return plans[stack].untyped && !vptr ? 0 : plans[stack].type;
}

uint32_t chance_below(uint32_t limit);
bool chance_one_in(uint32_t n);
/* Exponentially distributed, at least 1. */
uint64_t chance_about(double mean);

#endif
