/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h: the members of a context and of a module. For the rooms of symbolizer/ only; others
 * include sym.h.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time a context.
 */
#ifndef SHINY_SYM_MODULE_H
#define SHINY_SYM_MODULE_H

#include <string.h>

#include "../src/base/mem.h"
#include "infer/containers.h"
#include "dwarf/debug_frames.h"
#include "elf/binary.h"
#include "elf/breakpad.h"
#include "elf/symbol_names.h"
#include "elf/reloc.h"
#include "sym.h"
#include "elf/symtab.h"
#include "infer/type_cache.h"

struct source_places;

struct sym_module {
	struct sym_module *next;
	struct sym *sym;
	struct sym_module_info info;
	struct binary file, debug, embedded; /* data is NULL: not open */
	char *path, *debug_path, *breakpad_path, *note, *label;
	struct symtab symbols;
	bool symbols_read, dwarf_tried, settled;
	/* Findings about its functions may be cached on disk: they stay true as long as the cache's
	 * key. False if other files, which may come and go, hold a part of the debug information.
	 * Final once settled. */
	bool keeps;
	struct debug_units *dwarf; /* NULL: none */
	struct reloc_index relocs;
	struct breakpad *breakpad; /* functions and lines where debug information is missing; NULL:
	                            * none */
	struct type_cache *types; /* NULL: not opened yet */
	struct probe *probe;      /* of its garbage collector; NULL: not opened yet, or none */
	bool probed;
	struct source_places *places; /* of a file without names; NULL: not opened yet, or none */
	bool placed;
};

enum { NORMALIZED_BITS = 10 };

struct sym {
	struct names names;
	struct normalized {
		const char *from, *to; /* interned; `to` is the normal spelling of class name
		                        * `from`, type_combine.c */
	} normalized[1 << NORMALIZED_BITS];
	struct sym_module *modules;
	char **debug_dirs; /* NULL-terminated copy, or NULL */
	struct fetch *fetch;
	bool trouble_told; /* server trouble is reported once */
	struct packages *packages;
	bool no_dwarf, no_cache, blind;
	char *cache_dir; /* NULL: the user's cache directory */
	struct container_rules *rules;
	uint64_t rules_hash; /* of the user's and the built-in rules; 0: not computed yet */
};

static inline const char *module_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- module_debug.c ---- */

/* Sets the note, one line: what is missing. */
void module_note(struct sym_module *module, const char *format, ...) SHINY_PRINTF(2, 3);
/* Opens the debug file or the Breakpad symbol file of a module that has just been opened. */
void module_find_debug(struct sym_module *module);
bool module_has_dwarf(const struct binary *file);

/* Lazily created parts of a module. */
const struct symtab *module_symbols(struct sym_module *module);
struct debug_units *module_units(struct sym_module *module); /* NULL: it has no debug information */
struct type_cache *module_types(struct sym_module *module);  /* stack_types.c */

/* Returns the purpose of blocks that the code at `vaddr` allocates, from a rule about the whole
 * file. NULL: no rule applies. */
enum { SYM_LABEL_TEXT = 128 };
const char *module_label(struct sym_module *module, uint64_t vaddr);

#endif
