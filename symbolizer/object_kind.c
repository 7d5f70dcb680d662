/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_kind.c: the type of a kind of garbage-collected objects, from what stands for the kind in the executable.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one a context.
 */
#include <inttypes.h>
#include <stdio.h>

#include "../src/base/text.h"
#include "module.h"
#include "sym.h"

void sym_object_kind(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out)
{
	char label[512];

	*out = (struct sym_vtable){ .source = SYM_VTABLE_KIND, .address_point = vaddr };
	snprintf(label, sizeof label, "%s!kind+0x%" PRIx64, module->label, vaddr);
	out->type = names_text(&module->sym->names, label);
}
