/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_step.h: what one instruction does to the places that hold the pointer.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_FLOW_STEP_H
#define SHINY_SYM_FLOW_STEP_H

#include "flow_values.h"

/* Where control goes. */
struct flow_next {
	uint64_t to[2]; /* the fall-through first */
	unsigned count;
	bool ends;   /* with count 0: the function does. False: the program or an exception. With
	              * count 1: the function, on the other arm */
};

/* The parts of the function. high 0: not known. */
struct flow_bounds {
	uint64_t low, high, cold_low, cold_high;
	const char *name; /* of the function; NULL */
};

/* Changes `machine` from in front of the instruction to behind it, and emits its facts. */
struct flow_next flow_step(const struct flow_code *code, const struct flow_bounds *bounds,
			   struct flow_machine *machine, const struct flow_instruction *instruction,
			   flow_emit *emit, void *context);

#endif
