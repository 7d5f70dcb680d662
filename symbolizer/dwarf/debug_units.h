/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_units.h: opens, loads and closes the compilation units of a file with DWARF 4 or 5.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: bounded by DEBUG_BUDGET. Threads: one at a time.
 *
 * Returned DIEs are valid until the next question from outside, which may close everything to keep
 * the budget: use them, store no copy. debug_units_hold() suspends that for one piece of work.
 *
 * Other modules read the units (debug_scopes.h, debug_lines.h, debug_variables.h,
 * debug_definitions.h, die_name.h, die_type.h); their caches are attached to the units in slots.
 */
#ifndef SHINY_SYM_DEBUG_UNITS_H
#define SHINY_SYM_DEBUG_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/symbol_names.h"

/* Limit of loaded bytes of .debug_info. libdw and the scopes use about 4 times that. */
#define DEBUG_BUDGET ((uint64_t)64 << 20)

struct debug_units;
struct debug_unit;

/* `path` is the file with the DWARF, which may be `file`'s debug file; `file` tells which addresses
 * are code. NULL: it has no DWARF. */
struct debug_units *debug_units_create(const char *path, const struct binary *file,
				       struct names *names, const char *const *debug_dirs);
void debug_units_destroy(struct debug_units *units); /* accepts NULL */
/* Sets the module that has `path` as its debug file: its .dwp and .dwo files may be beside it. */
void debug_units_set_module(struct debug_units *units, const char *module_path);
void debug_units_hold(struct debug_units *units, bool hold);

/* Opens the file if it is closed; closes everything first if too much is loaded. Every question
 * from outside starts with it. False: the file can't be opened. */
bool debug_units_ready(struct debug_units *units);

struct names *debug_units_names(const struct debug_units *units);
const struct binary *debug_units_file(const struct debug_units *units);
Dwarf *debug_units_dwarf(const struct debug_units *units); /* valid after debug_units_ready() */

/* ---- units ---- */

/* Returns the unit that a DIE is in, loaded, with its scopes and containers; NULL: it has none. */
struct debug_unit *debug_units_of(struct debug_units *units, Dwarf_Die *die);
/* Returns unit number `index` of the file, with its content available; NULL: there is none. */
struct debug_unit *debug_units_at(struct debug_units *units, size_t index);

/* Returns the next unit that covers `vaddr`, not loaded. `*at` starts as SIZE_MAX. NULL: there are
 * no more. */
struct debug_unit *debug_units_covering(struct debug_units *units, uint64_t vaddr, size_t *at);
void debug_units_load(struct debug_units *units, struct debug_unit *unit);

/*
 * Calls `each` for every unit of the file until `limit` bytes of .debug_info are passed. Units of
 * the file itself are read through a Dwarf of their own, closed and opened again every DEBUG_BUDGET
 * bytes, since libdw keeps the abbreviations of every unit that it has seen. Units of .dwo files
 * are read through the main Dwarf, up to twice its budget. `die` is valid until `each` returns.
 */
typedef void debug_unit_fn(void *context, size_t index, Dwarf_Die *die, uint64_t bytes);
void debug_units_walk(struct debug_units *units, uint64_t limit, debug_unit_fn *each,
		      void *context);

/* ---- slots: caches of other modules, attached to the units ---- */

struct debug_slot {
	void (*free)(void *kept);
	/* it refers to nothing of libdw's, and remains until the units are destroyed; otherwise it
	 * is freed whenever the DWARF is closed */
	bool stays;
};
/* Returns the place of the module's cache; NULL there: it has none yet. One static debug_slot a
 * module. */
void **debug_units_slot(struct debug_units *units, const struct debug_slot *slot);

#endif
