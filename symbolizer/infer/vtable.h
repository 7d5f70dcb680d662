/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtable.h: finds the class that a vtable belongs to.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_VTABLE_H
#define SHINY_SYM_VTABLE_H

#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/symbol_names.h"
#include "../elf/reloc.h"
#include "../sym.h"
#include "../elf/symtab.h"

struct vtable_reader {
	const struct binary *file;
	struct reloc_index *relocs;
	const struct symtab *symbols;
	struct names *names;
	const char *label; /* the module's name in labels */
};

void vtable_read(const struct vtable_reader *reader, uint64_t vaddr, struct sym_vtable *out);

/* Returns the type, of any kind, that the type_info object at `vaddr` describes; NULL: none is
 * there. */
const char *vtable_type_info(const struct vtable_reader *reader, uint64_t vaddr);
/* The same for a type_info in another file, by its symbol. */
const char *vtable_type_import(struct names *names, const char *symbol);

#endif
