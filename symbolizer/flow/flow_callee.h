/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_callee.h: a file with code, and what a call in it goes to.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CALLEE_H
#define SHINY_SYM_FLOW_CALLEE_H

#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/reloc.h"
#include "../elf/symtab.h"

/* What flow and the rules know of a file. `relocs` and `symbols` may grow lazily. */
struct flow_code {
	const struct binary *file;
	struct reloc_index *relocs;
	const struct symtab *symbols;
};

/* What a call goes to. */
struct flow_callee {
	uint64_t vaddr; /* in this file; 0: imported, or not known before run time */
	const char *symbol; /* mangled, without a version; NULL: it has none. Of a PLT stub or a GOT
	                     * slot: the import's */
};

#endif
