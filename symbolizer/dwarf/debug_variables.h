/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_variables.h: finds the places of variables at an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the variables of the scopes read, until the units are
 * closed. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_VARIABLES_H
#define SHINY_SYM_DEBUG_VARIABLES_H

#include "debug_units.h"

enum debug_place {
	DEBUG_PLACE_REGISTER,
	DEBUG_PLACE_MEMORY, /* at `reg` + displacement */
	DEBUG_PLACE_STATIC, /* at the address `displacement` */
	DEBUG_PLACE_VALUE, /* in no place: its value is `reg` + displacement */
	DEBUG_PLACE_INDIRECT, /* at the address stored in memory at `reg` + displacement */
};
struct debug_variable {
	Dwarf_Die die, type; /* DW_TAG_variable or DW_TAG_formal_parameter; its type as written */
	const char *name; /* NULL: none */
	bool parameter;
	enum debug_place place;
	/* DWARF's number; a frame base is resolved to rsp or rbp by the call frame information */
	unsigned reg;
	int64_t displacement;
	/* of a variable in pieces: the place is that of the word at this offset; another word may
	 * have a row of its own */
	uint64_t into;
	/* 0: in the innermost scope that covers the address, 1: in the one around it, … */
	unsigned depth;
};

/* Finds the variables and parameters that have a place at `vaddr`, in all scopes and lexical blocks
 * that cover it. Returns their number. */
size_t debug_variables_at(struct debug_units *units, uint64_t vaddr, struct debug_variable *out,
			  size_t room);

/* Reads a variable with a static address, of any size. False: it has none. */
bool debug_variables_static(struct debug_units *units, Dwarf_Die *die, struct debug_variable *out);

#endif
