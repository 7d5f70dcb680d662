/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_variables.h: where variables live at an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: what was asked for, until the units are closed.
 * Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_VARIABLES_H
#define SHINY_SYM_DEBUG_VARIABLES_H

#include "debug_units.h"

enum debug_place {
	DEBUG_PLACE_REGISTER,
	DEBUG_PLACE_MEMORY, /* at `reg` + displacement */
	DEBUG_PLACE_STATIC, /* at address displacement */
	DEBUG_PLACE_VALUE, /* nowhere: its value is `reg` + displacement */
	DEBUG_PLACE_INDIRECT, /* at the address that is in memory at `reg` + displacement */
};
struct debug_variable {
	Dwarf_Die die, type; /* DW_TAG_variable or DW_TAG_formal_parameter; its type as written */
	const char *name; /* NULL: none */
	bool parameter;
	enum debug_place place;
	/* DWARF's number; the call frame information turns a frame base into rsp or rbp at the
	 * address */
	unsigned reg;
	int64_t displacement;
	/* the place is that of the word at this offset of a variable in pieces; another
	 * word may have a row of its own */
	uint64_t into;
	/* 0: of the innermost scope that covers the address, 1: of the one around it, … */
	unsigned depth;
};

/* Variables and parameters that have a place at `vaddr`, of all scopes and lexical blocks that
 * cover it. Returns their number. */
size_t debug_variables_at(struct debug_units *units, uint64_t vaddr, struct debug_variable *out,
			  size_t room);

/* Reads a variable with a static address, of any size; false: it has none. */
bool debug_variables_static(struct debug_units *units, Dwarf_Die *die, struct debug_variable *out);

#endif
