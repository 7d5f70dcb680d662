/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h: dynamic symbols of loaded modules, found without the loader's dlsym.
 *
 * Runs:      inside; no module may be loaded or unloaded meanwhile: in the constructor, or in a
 *            callback of dl_iterate_phdr.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * dlsym searches from its caller on, and a library that comes before us may replace dlsym itself
 * (overlays of games do): RTLD_NEXT is then the next module after that library, which may be us. It
 * also allocates when a name does not exist. The modules' tables give the answer without either
 * problem.
 */
#ifndef SI_SYMBOLS_H
#define SI_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables of a module's dynamic section; NULL and 0: the module has no such table. */
struct si_symbols {
	uintptr_t bias;
	const ElfW(Sym) *table;
	const char *names, *soname;
	const ElfW(Rela) *rela, *plt;
	size_t rela_bytes, plt_bytes;
	const uint32_t *gnu_hash, *hash;
	const uint16_t *versions; /* one a symbol */
};

/* Returns a module's dynamic section, mapped for as long as the module is; NULL: it has none. */
ElfW(Dyn) *si_dynamic_of(const struct dl_phdr_info *module);

/* Finds the tables. False: the module has no symbols. */
bool si_symbols_read(const ElfW(Dyn) *dynamic, uintptr_t bias, struct si_symbols *out);

/* Returns the symbol that an unversioned reference binds to, if the module defines it; else
 * NULL. */
const ElfW(Sym) *si_symbols_find(const struct si_symbols *symbols, const char *name);

/* Returns the index of the last symbol that a hash table leads to, plus one; 0: there is none. */
uint32_t si_symbols_end(const struct si_symbols *symbols);

/* Returns the address of `module`'s own definition of that name, or NULL. */
void *si_symbol_in(const struct link_map *module, const char *name);

/* True if another module names this one as a library that it needs: it was not preloaded. */
bool si_symbols_needed(const struct link_map *module);

/* Returns the module that contains `address`, or NULL. */
const struct link_map *si_module_of(const void *address);

/* Returns the first of all loaded modules, in the order in which names are looked up. */
const struct link_map *si_first_module(const struct link_map *any);

#endif
