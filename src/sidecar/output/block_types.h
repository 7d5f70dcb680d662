/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_types.h: the type of every block: what its call site says, put together with the vptr that
 * was read of it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_BLOCK_TYPES_H
#define SHINY_BLOCK_TYPES_H

#include "../../../symbolizer/sym.h"
#include "../state/session.h"

/* What names there are, indexed by the ids of ids.h; [0] is unused. */
struct types_names {
	struct sym *sym;
	struct sym_module *const *modules;
	const struct sym_vtable *vtables;
};

/*
 * Which frames are the immediate callers of allocations: [index in ids.frames]. To be asked with
 * sym_site_warm() in the order of their addresses, before types_conclude() asks in the order of
 * stacks: the debug information of a huge program is not kept loaded.
 */
bool *types_innermost(const struct session *session);

/* Rows of words that turned out to be no vtables are added to vtable 0's; then every row gets its
 * type, and the types their rows. */
void types_conclude(struct session *session, const struct types_names *names);

#endif
