/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_types.h: finds the type of every block by its call site and its vptr.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_BLOCK_TYPES_H
#define SHINY_BLOCK_TYPES_H

#include "../../../symbolizer/sym.h"
#include "../state/output.h"
#include "../state/people.h"

/* Names by the ids of ids.h; [0] is unused. */
struct types_names {
	struct sym *sym;
	struct sym_module *const *modules;
	const struct sym_vtable *vtables;
};

/*
 * Returns, by index in ids.frames, which frames are the immediate callers of allocations; the
 * caller frees it. Call sym_site_warm() for them in the order of their addresses, before
 * types_conclude() asks in the order of stacks: the debug information of a huge program does not
 * stay loaded.
 */
bool *types_innermost(const struct people *people, const struct output *output,
		      const struct sidecar_options *options);

/* Adds rows whose vtable turned out to be none to those of vtable 0; then gives every row its type,
 * and writes the types. */
void types_conclude(const struct people *people, struct output *output,
		    const struct sidecar_options *options, const struct types_names *names);

#endif
