/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h: dynamic symbols of loaded modules, found without the loader's dlsym.
 *
 * Runs:      inside; modules must not come or go meanwhile: in the constructor, or in what
 *            dl_iterate_phdr calls.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * dlsym answers for whoever calls it, and a library that comes before us may stand in for dlsym
 * itself (overlays of games do): RTLD_NEXT is then what comes behind that library, which may be us.
 * It also allocates where a name does not exist. The tables of the modules say the same without
 * either.
 */
#ifndef SI_SYMBOLS_H
#define SI_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a module's dynamic section points to; NULL and 0: the module has no such table. */
struct si_symbols {
	uintptr_t bias;
	const ElfW(Sym) *table;
	const char *names, *soname;
	const ElfW(Rela) *rela, *plt;
	size_t rela_bytes, plt_bytes;
	const uint32_t *gnu_hash, *hash;
	const uint16_t *versions; /* one a symbol */
};

/* A module's dynamic section, mapped for as long as the module is; NULL: it has none. */
ElfW(Dyn) *si_dynamic_of(const struct dl_phdr_info *module);

/* False: the module has no symbols. */
bool si_symbols_read(const ElfW(Dyn) *dynamic, uintptr_t bias, struct si_symbols *out);

/* The symbol that an unversioned reference binds to, if the module defines it; else NULL. */
const ElfW(Sym) *si_symbols_find(const struct si_symbols *symbols, const char *name);

/* One behind the last symbol that a hash table leads to; 0: there is none. */
uint32_t si_symbols_end(const struct si_symbols *symbols);

/* The address of what `module` itself defines under that name, or NULL. */
void *si_symbol_in(const struct link_map *module, const char *name);

/* Whether another module names this one as a library that it needs: it was not preloaded. */
bool si_symbols_needed(const struct link_map *module);

/* The module that `address` lies in, or NULL. */
const struct link_map *si_module_of(const void *address);

/* The first of all loaded modules, in the order in which names are looked up. */
const struct link_map *si_first_module(const struct link_map *any);

#endif
