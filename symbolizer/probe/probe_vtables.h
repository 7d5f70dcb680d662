/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_vtables.h: which vtable the objects that a site makes get.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_PROBE_VTABLES_H
#define SHINY_SYM_PROBE_VTABLES_H

#include "probe_eval.h"

/*
 * The last constant that is stored at `vptr_at` of the object that the call in front of `vaddr`
 * returned, until the object's header is marked as that of a finished one, `header_at` in front of
 * it. Constructors that are called are followed. 0: none was seen.
 */
uint64_t site_vtable(const struct eval_world *world, uint64_t vaddr, uint32_t vptr_at,
		     uint32_t header_at);

#endif
