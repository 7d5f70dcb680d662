/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtable.h: the class that a vtable belongs to.
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

/* The type, of any kind, of the type_info object at `vaddr`; NULL: there is none. */
const char *vtable_type_info(const struct vtable_reader *reader, uint64_t vaddr);
/* Likewise of a type_info in another file, by its symbol. */
const char *vtable_type_import(struct names *names, const char *symbol);

#endif
