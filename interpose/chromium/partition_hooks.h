/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_hooks.h: the functions that stand in for those of PartitionAlloc's dispatch table.
 *
 * Runs:      inside: in place of the allocator's, once partition_alloc.c has put them there.
 * Signals:   as the program's malloc.
 * Allocates: nothing.
 * Threads:   any. What they call is written once, before they can be called.
 */
#ifndef SI_PARTITION_HOOKS_H
#define SI_PARTITION_HOOKS_H

#include "../hook/hooks.h"
#include "partition_layouts.h"

typedef uintptr_t si_slot_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* Which of the four sets: chosen when attaching, so that no call has to ask. */
enum si_way {
	SI_WAY_PLAIN = 0,
	SI_WAY_SELF = 1,     /* the table is the first argument */
	/* bit: observer hooks are installed too, and must hold still while the allocator runs */
	SI_WAY_OBSERVED = 2,
	SI_WAY_SELF_OBSERVED = 3,
	SI_WAYS = 4,
};

/* Our function for a slot; NULL: it is left as it is. */
si_slot_fn *si_partition_hook_of(enum si_slot slot, enum si_way way);

/* Before the first hook runs: what lies below the one for `slot`, and the table that functions with
 * `self` get. */
void si_partition_below(enum si_slot slot, uintptr_t function);
void si_partition_self(uintptr_t table);

/* Return addresses in [start, start + bytes) are an exported function's: its blocks have this api,
 * and its caller is the call site. */
bool si_partition_caller(enum si_slot slot, uintptr_t start, uintptr_t bytes, enum shiny_api api);
void si_partition_forget_callers(void);

/* This thread is inside the allocator on behalf of one of the hooks (observed ways only). */
bool si_partition_inside(void);

#endif
