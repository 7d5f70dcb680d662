/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_step.h: the effect of one instruction on the places that hold the pointer.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_FLOW_STEP_H
#define SHINY_SYM_FLOW_STEP_H

#include "flow_values.h"

/* The instructions that may run next. */
struct flow_next {
	uint64_t to[2]; /* the fall-through first */
	unsigned count;
	bool ends;   /* count 0: the function ends here (false: the program ends, or an exception is
	              * thrown); count 1: the other arm ends the function */
};

/* The parts of a function; high 0: unknown. */
struct flow_bounds {
	uint64_t low, high, cold_low, cold_high;
	const char *name; /* the function's symbol, or NULL */
};

/* Sets `machine` to the state behind the call that returns a block to `ret`. */
void flow_begin(const struct flow_code *code, const struct flow_bounds *bounds, uint64_t ret,
		struct flow_machine *machine);

/* Advances `machine` over the instruction, and emits its facts. */
struct flow_next flow_step(const struct flow_code *code, const struct flow_bounds *bounds,
			   struct flow_machine *machine, const struct flow_instruction *instruction,
			   flow_emit *emit, void *context);

#endif
