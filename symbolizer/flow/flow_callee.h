/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_callee.h: a file with code, and the callee of a call in it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CALLEE_H
#define SHINY_SYM_FLOW_CALLEE_H

#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/reloc.h"
#include "../elf/symtab.h"

/* A file, as flow and the rules see it. `relocs` and `symbols` may grow lazily. */
struct flow_code {
	const struct binary *file;
	struct reloc_index *relocs;
	const struct symtab *symbols;
};

/* The target of a call. */
struct flow_callee {
	uint64_t vaddr; /* in this file; 0: imported, or unknown before run time */
	const char *symbol; /* mangled, without a version; for a PLT stub or GOT slot the import's;
	                     * NULL: none */
};

#endif
