/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_vtables.h: finds the vtable that the objects of a site get.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_PROBE_VTABLES_H
#define SHINY_SYM_PROBE_VTABLES_H

#include "probe_eval.h"

/*
 * Returns the last constant that is stored at `vptr_at` of the object that the call before `vaddr`
 * returned, until the object's header, `header_at` bytes before it, is marked as finished. Follows
 * called constructors. 0: none was seen.
 */
uint64_t site_vtable(const struct eval_world *world, uint64_t vaddr, uint32_t vptr_at,
		     uint32_t header_at);

#endif
