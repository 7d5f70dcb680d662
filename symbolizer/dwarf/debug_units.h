/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_units.h: compilation units, scopes and variables of an address, from DWARF 4 and 5.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, bounded: see DWARF_BUDGET in the source.
 * Threads: one at a time.
 *
 * DIEs that come out are valid until the next question (a question may close everything to keep the
 * budget): use them, keep no copy. dwarf_units_hold() suspends that for the length of one piece of
 * work.
 */
#ifndef SHINY_SYM_DWARF_UNITS_H
#define SHINY_SYM_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/symbol_names.h"

struct dwarf_units;

/* `path` is the file with the DWARF, which may be `file`'s debug file; `file` says which addresses
 * are code. NULL: it has none. */
struct dwarf_units *dwarf_units_create(const char *path, const struct elf_file *file,
				       struct names *names, const char *const *debug_dirs);
void dwarf_units_destroy(struct dwarf_units *units); /* accepts NULL */
/* Where the module is whose debug file `path` is: its .dwp and .dwo files may be beside it. */
void dwarf_units_set_module(struct dwarf_units *units, const char *module_path);
void dwarf_units_hold(struct dwarf_units *units, bool hold);

/* A function or an inlined one that covers an address. */
struct dwarf_scope {
	Dwarf_Die die;      /* DW_TAG_subprogram or DW_TAG_inlined_subroutine with the addresses */
	const char *name;   /* demangled with its scopes and, where known, parameters; NULL
	                     * unknown */
	bool bare;          /* the name isn't a demangled one: it has no parameters, a C function's
	                     * or one that gcc gives no linkage name */
	bool inlined;       /* into the next scope */
	bool earlier;       /* dwarf_units_inlined_behind(): other code of it lies before the
	                     * address */
	uint32_t call_file, call_line; /* of an inlined one: where it was called */
	uint64_t low, high; /* the range that covers the address */
	uint32_t id;        /* of the scope in its unit, to compare: the same scope has the same
	                     * id */
};
/* Innermost first; returns their number, at most `room`. */
size_t dwarf_units_scopes(struct dwarf_units *units, uint64_t vaddr, struct dwarf_scope *out,
			  size_t room);

/*
 * The inlined scopes whose parent is the scope `parent` (as dwarf_units_scopes gave it) and that
 * have code at or behind `vaddr` in the part of the function that `parent`'s range is in; low and
 * high are the first such piece. By address. Compilers mix the pieces of neighbours: those in the
 * parent's own range are preferred, and `earlier` is said of that range then, else of the whole
 * part.
 */
size_t dwarf_units_inlined_behind(struct dwarf_units *units, uint64_t vaddr,
				  const struct dwarf_scope *parent, struct dwarf_scope *out,
				  size_t room);

/* The other part of a function that the compiler has split into a hot and a cold one: of its pieces
 * but the one at `low` the largest. False: it is in one piece. */
bool dwarf_units_other_part(const struct dwarf_scope *function, uint64_t *low, uint64_t *high);

/* The line of an address, 0 unknown; with its file (interned). */
uint32_t dwarf_units_line(struct dwarf_units *units, uint64_t vaddr);
bool dwarf_units_place(struct dwarf_units *units, uint64_t vaddr, const char **file,
		       uint32_t *line);

/* The path that a scope's call_file stands for, interned; NULL unknown. */
const char *dwarf_units_call_file(struct dwarf_units *units, struct dwarf_scope *scope);

/* Where a variable lives at an address. */
enum dwarf_place {
	DWARF_PLACE_REGISTER,
	DWARF_PLACE_MEMORY, /* at `reg` + displacement */
	DWARF_PLACE_STATIC, /* at address displacement */
	DWARF_PLACE_VALUE,  /* nowhere: its value is `reg` + displacement */
};
struct dwarf_variable {
	Dwarf_Die die, type; /* DW_TAG_variable or DW_TAG_formal_parameter; its type as written */
	const char *name;    /* NULL: none */
	bool parameter;
	enum dwarf_place place;
	unsigned reg;        /* DWARF's number; a frame base is resolved to rsp or rbp at `vaddr` by
	                      * the call frame information */
	int64_t displacement;
	unsigned depth;      /* 0: of the innermost scope that covers `vaddr`, 1: of the one around
	                      * it, … */
};
/* Variables and parameters that have a place at `vaddr`, of all scopes and lexical blocks that
 * cover it. Returns their number. */
size_t dwarf_units_variables(struct dwarf_units *units, uint64_t vaddr, struct dwarf_variable *out,
			     size_t room);

/* The global or static variable at an address; false: none. */
bool dwarf_units_global(struct dwarf_units *units, uint64_t vaddr, struct dwarf_variable *out);

/* The function that begins at `vaddr` (its DW_TAG_subprogram); false: none. */
bool dwarf_units_function_at(struct dwarf_units *units, uint64_t vaddr, Dwarf_Die *out);

/* The definition of a class or struct by its qualified name as die_type_name() spells it; false:
 * none. */
bool dwarf_units_definition(struct dwarf_units *units, const char *name, Dwarf_Die *out);

#endif
