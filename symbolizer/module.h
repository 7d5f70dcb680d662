/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h: what a context and a module are made of. For the rooms of symbolizer/ only; others
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
	struct binary file, debug, embedded; /* data is NULL: not there */
	char *path, *debug_path, *breakpad_path, *note, *label;
	struct symtab symbols;
	bool symbols_read, dwarf_tried, settled;
	/* What is found out about its functions may be kept on disk: it stays what it is as long as
	 * the cache's key does. Not where a part of the debug information is in other files, which
	 * may come and go. Final once it is settled. */
	bool keeps;
	struct debug_units *dwarf; /* NULL: none */
	struct reloc_index relocs;
	struct breakpad *breakpad; /* functions and lines without debug information; NULL: none */
	struct type_cache *types; /* NULL: not asked for yet */
	struct probe *probe;      /* of its garbage collector; NULL: not asked for yet, or there is
	                           * none */
	bool probed;
	struct source_places *places; /* of a file without names; NULL: not asked for, or none */
	bool placed;
};

enum { NORMALIZED_BITS = 10 };

struct sym {
	struct names names;
	struct normalized {
		const char *from, *to; /* interned; one spelling for a class's name,
		                        * type_combine.c */
	} normalized[1 << NORMALIZED_BITS];
	struct sym_module *modules;
	char **debug_dirs; /* NULL-terminated copy, or NULL */
	struct fetch *fetch;
	bool trouble_told; /* of the servers: once */
	struct packages *packages;
	bool no_dwarf, no_cache, blind;
	char *cache_dir; /* NULL: the user's */
	struct container_rules *rules;
	uint64_t rules_hash; /* of the rules, written and built in; 0: not known yet */
};

static inline const char *module_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- module_debug.c ---- */

/* Sets what is missing, one line. */
void module_note(struct sym_module *module, const char *format, ...) SHINY_PRINTF(2, 3);
/* Opens the debug file or the Breakpad symbol file of a module that has just been opened. */
void module_find_debug(struct sym_module *module);
bool module_has_dwarf(const struct binary *file);

/* The parts of a module that are made when they are needed first. */
const struct symtab *module_symbols(struct sym_module *module);
struct debug_units *module_units(struct sym_module *module); /* NULL: it has no debug information */
struct type_cache *module_types(struct sym_module *module);  /* stack_types.c */

/* What blocks are for that the code at `vaddr` allocates, as a rule about the whole file says.
 * NULL: none does. */
enum { SYM_LABEL_TEXT = 128 };
const char *module_label(struct sym_module *module, uint64_t vaddr);

#endif
