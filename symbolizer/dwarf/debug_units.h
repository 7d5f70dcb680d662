/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_units.h: compilation units, scopes and variables of an address, from DWARF 4 and 5.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, bounded: see DEBUG_BUDGET in the source.
 * Threads: one at a time.
 *
 * DIEs that come out are valid until the next question (a question may close everything to keep the
 * budget): use them, keep no copy. debug_units_hold() suspends that for the length of one piece of
 * work.
 */
#ifndef SHINY_SYM_DEBUG_UNITS_H
#define SHINY_SYM_DEBUG_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/symbol_names.h"

struct debug_units;

/* `path` is the file with the DWARF, which may be `file`'s debug file; `file` says which addresses
 * are code. NULL: it has none. */
struct debug_units *debug_units_create(const char *path, const struct binary *file,
				       struct names *names, const char *const *debug_dirs);
void debug_units_destroy(struct debug_units *units); /* accepts NULL */
/* Where the module is whose debug file `path` is: its .dwp and .dwo files may be beside it. */
void debug_units_set_module(struct debug_units *units, const char *module_path);
void debug_units_hold(struct debug_units *units, bool hold);

/* A function or an inlined one that covers an address. */
struct debug_scope {
	Dwarf_Die die;      /* DW_TAG_subprogram or DW_TAG_inlined_subroutine with the addresses */
	const char *name;   /* demangled with its scopes and, where known, parameters; NULL
	                     * unknown */
	bool bare;          /* the name isn't a demangled one: it has no parameters, a C function's
	                     * or one that gcc gives no linkage name */
	bool inlined;       /* into the next scope */
	bool earlier; /* debug_units_inlined_behind(): other code of it lies before the
	                     * address */
	uint32_t call_file, call_line; /* of an inlined one: where it was called */
	uint64_t low, high; /* the range that covers the address */
	uint32_t id;        /* of the scope in its unit, to compare: the same scope has the same
	                     * id */
};
/* Innermost first; returns their number, at most `room`. */
size_t debug_units_scopes(struct debug_units *units, uint64_t vaddr, struct debug_scope *out,
			  size_t room);

/*
 * The inlined scopes whose parent is the scope `parent` (as debug_units_scopes gave it) and that
 * have code at or behind `vaddr` in the part of the function that `parent`'s range is in; low and
 * high are the first such piece. By address. Compilers mix the pieces of neighbours: those in the
 * parent's own range are preferred, and `earlier` is said of that range then, else of the whole
 * part.
 */
size_t debug_units_inlined_behind(struct debug_units *units, uint64_t vaddr,
				  const struct debug_scope *parent, struct debug_scope *out,
				  size_t room);

/* The other part of a function that the compiler has split into a hot and a cold one: of its pieces
 * but the one at `low` the largest. False: it is in one piece. */
bool debug_units_other_part(const struct debug_scope *function, uint64_t *low, uint64_t *high);

/* The line of an address, 0 unknown; with its file (interned). */
uint32_t debug_units_line(struct debug_units *units, uint64_t vaddr);
bool debug_units_place(struct debug_units *units, uint64_t vaddr, const char **file,
		       uint32_t *line);

/* The path that a scope's call_file stands for, interned; NULL unknown. */
const char *debug_units_call_file(struct debug_units *units, struct debug_scope *scope);

/* Where a variable lives at an address. */
enum debug_place {
	DEBUG_PLACE_REGISTER,
	DEBUG_PLACE_MEMORY, /* at `reg` + displacement */
	DEBUG_PLACE_STATIC, /* at address displacement */
	DEBUG_PLACE_VALUE, /* nowhere: its value is `reg` + displacement */
};
struct debug_variable {
	Dwarf_Die die, type; /* DW_TAG_variable or DW_TAG_formal_parameter; its type as written */
	const char *name;    /* NULL: none */
	bool parameter;
	enum debug_place place;
	unsigned reg;        /* DWARF's number; a frame base is resolved to rsp or rbp at `vaddr` by
	                      * the call frame information */
	int64_t displacement;
	unsigned depth;      /* 0: of the innermost scope that covers `vaddr`, 1: of the one around
	                      * it, … */
};
/* Variables and parameters that have a place at `vaddr`, of all scopes and lexical blocks that
 * cover it. Returns their number. */
size_t debug_units_variables(struct debug_units *units, uint64_t vaddr, struct debug_variable *out,
			     size_t room);

/* The global or static variable at an address; false: none. */
bool debug_units_global(struct debug_units *units, uint64_t vaddr, struct debug_variable *out);

/* The function that begins at `vaddr` (its DW_TAG_subprogram); false: none. */
bool debug_units_function_at(struct debug_units *units, uint64_t vaddr, Dwarf_Die *out);

/* The definition of a class or struct by its qualified name as die_type_name() spells it; false:
 * none. */
bool debug_units_definition(struct debug_units *units, const char *name, Dwarf_Die *out);

#endif
