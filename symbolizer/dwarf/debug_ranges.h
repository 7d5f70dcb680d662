/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_ranges.h: finds the ranges that cover an address, if ranges nest.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a range (mem.h). Threads: read-only once
 * sorted.
 */
#ifndef SHINY_SYM_DEBUG_RANGES_H
#define SHINY_SYM_DEBUG_RANGES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/base/mem.h"
#include "../elf/binary.h"

/* One range of one owner. Invariant: sorted by low, at one low the larger first; reach is the
 * largest high of this range and all before it. */
struct code_range {
	uint64_t low, high, reach;
	uint32_t owner; /* index of a scope or of a unit: the caller's choice */
	uint32_t order; /* position in the order of adding: an outer scope comes before an inner
	                 * one */
};
struct code_ranges {
	VEC(struct code_range) all;
};

/* Adds the ranges of `die` that are code of `file`. False: there are none. */
bool debug_ranges_add(struct code_ranges *ranges, const struct binary *file, Dwarf_Die *die,
		      uint32_t owner);
void debug_ranges_sort(struct code_ranges *ranges);

/* Finds the last range that covers `vaddr` among those before `*at`; start with the count. False:
 * there is none. The innermost range comes first. */
bool debug_ranges_next(const struct code_ranges *ranges, uint64_t vaddr, size_t *at);
void debug_ranges_free(struct code_ranges *ranges);

#endif
