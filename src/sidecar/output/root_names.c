/* SPDX-License-Identifier: Apache-2.0 */
/* root_names.c: see root_names.h. */
#include "root_names.h"

#include <inttypes.h>
#include <stdlib.h>

void root_names_put(struct output *output, struct sym_module **modules)
{
	for (size_t i = 0; i < output->variables.count; i++) {
		struct store_root row = output->variables.at[i];
		uint64_t offset = 0;
		const char *symbol = sym_variable(modules[row.module], row.vaddr, &offset);
		char *name;

		if (!symbol)
			continue;
		name = offset ? mem_format("%s+0x%" PRIx64, symbol, offset) : mem_text(symbol);
		row.name = name;
		OUTPUT_PUT(output, store_put_root, &row);
		free(name);
	}
}
