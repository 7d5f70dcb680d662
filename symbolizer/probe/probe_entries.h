/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_entries.h: tells from a function's own code whether it creates Oilpan objects, or registers
 * types, and with which arguments.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_PROBE_ENTRIES_H
#define SHINY_SYM_PROBE_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_eval.h"

enum { ENTRY_NONE = 0xff }; /* no such argument */

/* A function that writes an object's header, with its size and type, and returns the object. */
struct entry_allocates {
	uint8_t size, index;     /* argument numbers */
	uint8_t used;            /* bit n: the function uses argument n */
	uint16_t header_at;      /* bytes from the 16 bits with the index to the object */
	uint16_t header_shift;   /* shift of the index in them */
	uint16_t limit;          /* the index is checked to be below this; 0: no check */
	uint16_t overhead;       /* bytes added to the size: header and rounding */
};
bool entry_allocates(const struct eval_world *world, uint64_t vaddr, struct entry_allocates *out);

/*
 * A function that puts its arguments into a GCInfo, calls inner(owner of the table, variable,
 * GCInfo), and returns its result, the index.
 */
struct entry_registers {
	uint8_t slot, trace, finalizer, name; /* argument numbers */
	uint64_t global;                      /* the variable that points to the table's owner */
	uint64_t inner;
	uint16_t finalizer_at, trace_at, name_at; /* offsets in the GCInfo */
};
/* The order of the words is known from the public source: finalizer, trace function, name. */
bool entry_registers(const struct eval_world *world, uint64_t vaddr, struct entry_registers *out);

/* Facts from the inner function: the offset of the array's address in its first argument, and the
 * size of a GCInfo, checked against its limit. */
struct entry_table {
	uint32_t array_at, info_bytes;
	uint16_t limit; /* 0: no check seen */
};
bool entry_table(const struct eval_world *world, uint64_t vaddr, struct entry_table *out);

#endif
