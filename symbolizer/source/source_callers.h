/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_callers.h: functions that direct calls reach, and the origins of these calls.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 12 bytes a function; while it searches, 40. Threads:
 * some of its own while it searches.
 *
 * A template or inline function of a header lies where the first object file that uses it lies, and
 * equal functions are folded into one: the place of such a function says nothing about its callers.
 * It is recognized by its callers in several components.
 */
#ifndef SHINY_SYM_SOURCE_CALLERS_H
#define SHINY_SYM_SOURCE_CALLERS_H

#include "source_order.h"

enum {
	SOURCE_SHARED = 1,  /* has callers in three components or more */
	SOURCE_OUTSIDE = 2, /* has callers in other files than its own */
};
struct source_callee {
	uint64_t start;
	uint32_t flags;
};
struct source_callees {
	VEC(struct source_callee) all; /* sorted by address */
};

/* False: there are more than a program has, and `out` is empty. */
bool source_callees_find(const struct binary *file, const struct source_order *order,
			 struct source_callees *out);
void source_callees_deinit(struct source_callees *callees);

/* Gets the flags of the function around `vaddr`. False: its start is unknown. */
bool source_callees_flags(const struct source_callees *callees, const struct flow_code *code,
			  uint64_t vaddr, uint32_t *flags);

#endif
