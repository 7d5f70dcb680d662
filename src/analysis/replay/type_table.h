/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_table.h: finds table stat's types, as derived at the end of the recording, by process, stack
 * and vtable.
 *
 * Runs: CLI. Signals: no. Allocates: 16 to 32 bytes a type of a stack, as much again for each
 * vtable of it. Threads: one a table.
 *
 * Every block that is born is looked up, nearly all of them before their vtable is known: these
 * have a table for each process, of 8 bytes a cell, so that a look-up compares one number and the
 * cells in use stay in the cache. At most half of the cells are full: a processor cannot predict
 * the length of a search, and so it is mostly one cell.
 */
#ifndef SHINY_TYPE_TABLE_H
#define SHINY_TYPE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "../../base/hash.h"
#include "../../store/store.h"

struct type_cell { /* the type of a stack's blocks without a vtable */
	uint32_t stack, type; /* type 0: empty */
};
struct type_seen { /* the type of blocks with a vtable */
	uint32_t process, stack, vtable, type; /* process 0: empty */
};
struct type_table { /* zeroed: empty */
	/* process id - 1 → 2^(64 - shift) cells */
	struct { struct type_cell *cells; unsigned shift; } *processes;
	size_t process_count;
	struct type_cell *cells; /* of all processes */
	size_t cell_count;
	struct type_seen *seen;
	size_t seen_room; /* a power of two */
};

SHINY_MUST_CHECK struct shiny_err *type_table_load(struct store *store, size_t processes,
						   struct type_table *out);
void type_table_deinit(struct type_table *table);

static inline size_t type_table_home(uint32_t stack, unsigned shift)
{
	return stack * UINT64_C(0x9e3779b97f4a7c15) >> shift;
}

/* Prefetches for type_table_find(). `process`: 1 to process_count. */
static inline __attribute__((always_inline)) void type_table_expect(const struct type_table *table,
								    uint32_t process,
								    uint32_t stack)
{
	__builtin_prefetch(
		&table->processes[process - 1]
			 .cells[type_table_home(stack, table->processes[process - 1].shift)]);
}

static inline size_t type_table_seen_home(const struct type_table *table, uint32_t process,
					  uint32_t stack, uint32_t vtable)
{
	return hash_pair((uint64_t)process << 32 | stack, vtable) & (table->seen_room - 1);
}
static inline __attribute__((always_inline)) void type_table_expect_vtable(
	const struct type_table *table, uint32_t process, uint32_t stack, uint32_t vtable)
{
	__builtin_prefetch(&table->seen[type_table_seen_home(table, process, stack, vtable)]);
}

uint32_t type_table_find_vtable(const struct type_table *table, uint32_t process, uint32_t stack,
				uint32_t vtable);

/* Returns an id in table type; 0: unknown. */
static inline uint32_t type_table_find(const struct type_table *table, uint32_t process,
				       uint32_t stack, uint32_t vtable)
{
	const struct type_cell *cells = table->processes[process - 1].cells;
	unsigned shift = table->processes[process - 1].shift;
	size_t mask = ((size_t)1 << (64 - shift)) - 1, i = type_table_home(stack, shift);

	if (vtable)
		return type_table_find_vtable(table, process, stack, vtable);
	while (cells[i].type && cells[i].stack != stack)
		i = (i + 1) & mask;
	return cells[i].type;
}

#endif
