/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_step.h: what one instruction does to the places that hold the pointer.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_FLOW_STEP_H
#define SHINY_SYM_FLOW_STEP_H

#include "flow_code.h"

enum { FLOW_VECTORS = 16, FLOW_PLACES = 16 };

enum value_kind {
	VALUE_NONE,     /* anything */
	VALUE_POINTER,  /* the pointer + number */
	VALUE_CONSTANT, /* the address `number` of this file */
	VALUE_IMPORT,   /* the address of `symbol` of another file + number */
	VALUE_RSP,      /* rsp at the start + number */
	VALUE_RBP,      /* rbp at the start + number */
};
struct flow_value {
	enum value_kind kind;
	int64_t number;
	const char *symbol;
};

/* A word of the frame, named as its address is: VALUE_RSP or VALUE_RBP. */
struct flow_place {
	enum value_kind base;
	int64_t displacement;
	struct flow_value value;
};
struct flow_machine {
	struct flow_value registers[FLOW_REGISTERS];
	struct flow_value vectors[FLOW_VECTORS][2]; /* the two words of xmm0 … xmm15 */
	struct flow_place places[FLOW_PLACES];
	unsigned place_count;
	bool tested; /* the zero flag says whether the pointer is null */
};

/* Where control goes. */
struct flow_next {
	uint64_t to[2]; /* the fall-through first */
	unsigned count;
	bool ends;   /* with count 0: the function does. False: the program or an exception. With count 1: the function, on the other arm */
	bool branch; /* both of `to` are possible */
};

/* The parts of the function. high 0: not known. */
struct flow_bounds {
	uint64_t low, high, cold_low, cold_high;
	const char *name; /* of the function; NULL */
};

typedef void flow_emit(void *context, const struct flow_fact *fact);

void flow_machine_init(struct flow_machine *machine);
bool flow_machine_holds(const struct flow_machine *machine);

/* Keeps in `machine` what `other` says too. True: something was lost. */
bool flow_machine_meet(struct flow_machine *machine, const struct flow_machine *other);

/* Changes `machine` from in front of the instruction to behind it, and emits its facts. */
struct flow_next flow_step(const struct flow_code *code, const struct flow_bounds *bounds, struct flow_machine *machine,
			   const struct flow_instruction *instruction, flow_emit *emit, void *context);

#endif
