/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_hooks.h: the functions that replace those of PartitionAlloc's dispatch table.
 *
 * Runs: inside: in place of the allocator's, once partition_alloc.c has installed them. Signals: as
 * the program's malloc. Allocates: nothing. Threads: any. The functions that they call are written
 * once, before the hooks can be called.
 */
#ifndef SI_PARTITION_HOOKS_H
#define SI_PARTITION_HOOKS_H

#include "../hook/hooks.h"
#include "partition_layouts.h"

typedef uintptr_t si_slot_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* The signature of the hooks. It is chosen when attaching, so that no call has to decide. */
enum si_way {
	SI_WAY_PLAIN = 0,
	SI_WAY_SELF = 1,     /* the table is the first argument */
	/* bit: observer hooks are installed too, and must do nothing while the allocator runs */
	SI_WAY_OBSERVED = 2,
	SI_WAY_SELF_OBSERVED = 3,
	SI_WAYS = 4,
};

/* Returns our function for a slot; NULL: the slot is not hooked. */
si_slot_fn *si_partition_hook_of(enum si_slot slot, enum si_way way);

/* Sets the function that our one for `slot` calls; before the first hook runs. */
void si_partition_below(enum si_slot slot, uintptr_t function);
/* Sets the table that functions with `self` get; before the first hook runs. */
void si_partition_self(uintptr_t table);

/* Notes that return addresses in [start, start + bytes) belong to an exported function: its blocks
 * have this api, and its caller is the call site. */
bool si_partition_caller(enum si_slot slot, uintptr_t start, uintptr_t bytes, enum shiny_api api);
void si_partition_forget_callers(void);

/* True if this thread is inside the allocator on behalf of one of the hooks (observed ways
 * only). */
bool si_partition_inside(void);

#endif
