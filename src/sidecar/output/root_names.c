/* SPDX-License-Identifier: Apache-2.0 */
/* root_names.c: see root_names.h. */
#include "root_names.h"

#include <inttypes.h>
#include <stdlib.h>

void root_names_put(struct session *session, struct sym_module **modules)
{
	for (size_t i = 0; i < session->variables.count; i++) {
		struct store_root row = session->variables.at[i];
		uint64_t offset = 0;
		const char *symbol = sym_variable(modules[row.module], row.vaddr, &offset);
		char *name;

		if (!symbol)
			continue;
		name = offset ? mem_format("%s+0x%" PRIx64, symbol, offset) : mem_text(symbol);
		row.name = name;
		session_fail(session, store_put_root(session->store, &row));
		free(name);
	}
}
