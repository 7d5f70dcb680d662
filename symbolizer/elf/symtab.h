/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symtab.h: finds the symbol that covers an address, from any number of symbol tables.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a symbol. Threads: read-only after
 * symtab_finish().
 */
#ifndef SHINY_SYM_SYMTAB_H
#define SHINY_SYM_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary.h"

struct symbol {
	uint64_t value;
	uint64_t reach; /* largest end of this and all symbols before it: a search backwards may
	                 * stop there */
	const char *name;
	uint32_t size;
	uint16_t section;
	uint8_t rank; /* smaller is better: global, weak, local; then with a type; then with a
	               * size */
};

/* Invariant after symtab_finish(): sorted by value; at one value the best symbol is last. */
struct symbols {
	struct symbol *at;
	size_t count, room;
};

struct symtab {
	struct symbols functions, objects;
	bool failed; /* out of memory: some symbols are missing */
};

/* Adds the symbols of `section` (SHT_SYMTAB, SHT_DYNSYM) of `file`, whose bytes must outlive the
 * table. */
void symtab_add(struct symtab *table, const struct binary *file, const Elf64_Shdr *section);

/* Sorts, and sets the sizes of symbols without one: up to the next symbol, or the end of their
 * section in `file`. */
void symtab_finish(struct symtab *table, const struct binary *file);
void symtab_deinit(struct symtab *table);

/* Returns the innermost symbol that covers `vaddr`; NULL: none. */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t vaddr);

/* True if the symbol is visible outside of its file. */
bool symbol_is_global(const struct symbol *symbol);

#endif
