/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_entries.h: what a function's own code says it is: does it make an Oilpan object, or
 * register a type, and with which arguments?
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
	uint8_t size, index;     /* numbers of arguments */
	uint8_t used;            /* bit n: argument n is used on the way */
	uint16_t header_at;      /* the 16 bits with the index: bytes in front of the object */
	uint16_t header_shift;   /* and of the index in them */
	uint16_t limit;          /* the index is checked to be below this; 0: it isn't */
	uint16_t overhead;       /* added to the size: header and rounding */
};
bool entry_allocates(const struct eval_world *world, uint64_t vaddr, struct entry_allocates *out);

/*
 * A function that puts its arguments into a GCInfo and calls inner(owner of the table, variable,
 * GCInfo), and returns its result, the index.
 */
struct entry_registers {
	uint8_t slot, trace, finalizer, name; /* numbers of arguments */
	uint64_t global;                      /* the variable that points to the table's owner */
	uint64_t inner;
	uint16_t finalizer_at, trace_at, name_at; /* in the GCInfo */
};
/* Which word is the finalizer's and which the trace function's and the name's is known from the
 * public source: in this order. */
bool entry_registers(const struct eval_world *world, uint64_t vaddr, struct entry_registers *out);

/* What the inner function shows: where its first argument keeps the array's address, and the size
 * of a GCInfo, checked against its limit. */
struct entry_table {
	uint32_t array_at, info_bytes;
	uint16_t limit; /* 0: not seen */
};
bool entry_table(const struct eval_world *world, uint64_t vaddr, struct entry_table *out);

#endif
