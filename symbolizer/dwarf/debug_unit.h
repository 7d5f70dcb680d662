/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_unit.h: what debug_units.c, debug_variables.c, debug_definitions.c and the die_*.c files
 * share. Nobody else includes it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_UNIT_H
#define SHINY_SYM_DEBUG_UNIT_H

#include "debug_units.h"

/* Bytes of .debug_info of the loaded units. libdw and the scopes take about 4 times that. */
#define DEBUG_BUDGET ((uint64_t)64 << 20)
#define DEBUG_DEPTH_MAX 512
/* specification, abstract origin, signature: honest chains have up to 4 */
#define DEBUG_HOPS_MAX 16
#define NO_SCOPE UINT32_MAX

/* One range of one scope (or of one unit). Invariant: sorted by low, at one low the larger first;
 * reach as in symtab.h. */
struct code_range {
	uint64_t low, high, reach;
	uint32_t owner; /* index of the scope, or of the unit */
	uint32_t order; /* in which it was met: an outer scope before an inner one */
};

struct code_ranges {
	struct code_range *at;
	size_t count, room;
};

struct unit_scope {
	Dwarf_Die die;
	const char *name; /* demangled; "" unknown; NULL not asked yet */
	uint64_t entry;   /* where its first range begins */
	uint32_t parent;  /* the scope that this one was inlined into; NO_SCOPE for a function */
	uint32_t call_file, call_line;
	bool bare; /* the name isn't a demangled one */
	struct scope_variables *variables; /* debug_variables.c; NULL: not asked yet */
};

/*
 * A namespace, class or function: what stands before "::" in a name. It holds the DIEs whose
 * offsets are in [start, end]; that is how a DIE finds the scopes it is in, for libdw 0.188 has no
 * way up.
 */
struct die_container {
	Dwarf_Off start, end;
	const char *name; /* in the file; NULL: anonymous */
	uint32_t parent;  /* NO_SCOPE: none */
	int tag;
};

struct debug_unit {
	Dwarf_Die skeleton; /* the unit's DIE in the file */
	Dwarf_Die die;      /* the DIE with the content: the same, or the .dwo's */
	uint32_t index; /* in debug_units' units */
	bool loaded;
	struct unit_scope *scopes;
	size_t scope_count, scope_room;
	struct die_container *containers; /* by start */
	size_t container_count, container_room;
	struct code_ranges ranges;
	struct scope_variables *variables; /* of all its scopes, by next */
	/* site_type.c */
	enum { ALLOC_TYPES_NOT_ASKED, ALLOC_TYPES_NONE, ALLOC_TYPES_SOME } alloc_types;
};

struct die_memo;       /* die_name.c: names of types that were asked for */
struct type_memo;      /* die_type.c: what they are */
struct definitions;    /* debug_definitions.c */
struct split;          /* split.c: units from a .dwp, or from a .dwo that libdw doesn't find */

struct debug_units {
	char *path;
	const struct binary *file;
	struct names *names;
	const char *const *debug_dirs;
	char *module_path; /* NULL: the same as path */
	int fd, alt_fd;
	Dwarf *dwarf, *alt; /* NULL: closed */
	struct unpacked *unpacked; /* unpack.c: what libelf could not unpack */
	struct debug_unit **units;
	size_t unit_count, unit_room;
	size_t main_units; /* the first so many are the file's, in its order; the others were met in
	                    * .dwo and alternate files */
	struct cu_entry {
		const void *cu; /* Dwarf_CU; a unit with a .dwo has two */
		struct debug_unit *unit;
	} *by_cu; /* open addressing. Invariant: room is 0 or a power of two, and at least twice the
	           * count */
	size_t by_cu_count, by_cu_room;
	struct code_ranges ranges;
	uint64_t loaded; /* bytes of the units in `units` that are loaded */
	bool hold;
	struct split *split; /* NULL: not needed yet */
	Elf *code; /* `file` for libdw, which wants the call frame information of .eh_frame */
	Dwarf_CFI *cfi; /* of `code` */
	bool code_tried;
	struct die_memo *memo;
	struct type_memo *type_memo;
	unsigned steps; /* that one question about a type may still take: types that contain
	                 * themselves would take for ever */
	struct definitions *definitions;
};

/* Makes room for one more element of `size` bytes in the array that `array` points to. */
bool debug_reserve(void *array, size_t count, size_t *room, size_t size);

/* Opens what is closed, and closes first when too much is loaded. Every question from outside
 * begins with it. False: can't. */
bool debug_units_ready(struct debug_units *units);

/* The unit that a DIE is in, loaded: its scopes and containers are there. NULL: no memory. */
struct debug_unit *debug_unit_of(struct debug_units *units, Dwarf_Die *die);
void debug_unit_load(struct debug_units *units, struct debug_unit *unit);

/* The innermost container around `die` (not itself), as an index of the unit's containers;
 * NO_SCOPE: none. */
uint32_t debug_unit_container(const struct debug_unit *unit, Dwarf_Die *die);
/* Its DIE. */
bool debug_unit_container_die(const struct debug_unit *unit, uint32_t container, Dwarf_Die *out);

/* The last range that covers `vaddr` among those before `*at` (start with the count); false when
 * there is none. */
bool debug_next_range(const struct code_ranges *ranges, uint64_t vaddr, size_t *at);
/* The innermost scope that covers `vaddr`, with its unit and range; NULL: none. */
struct unit_scope *debug_scope_at(struct debug_units *units, uint64_t vaddr,
				  struct debug_unit **unit, const struct code_range **range);

/* The declaration behind specifications and abstract origins: where the name and the class are. */
Dwarf_Die die_origin(Dwarf_Die *die);
bool die_flag(Dwarf_Die *die, unsigned name);
/* A small number; 0 when it isn't there. */
uint32_t die_number(Dwarf_Die *die, unsigned name);

/* The next DIE of the same parent. A DW_AT_sibling that points back ends the row: it would go round
 * for ever. */
static inline bool die_next(Dwarf_Die *die)
{
	const char *at = die->addr;

	return !dwarf_siblingof(die, die) && (const char *)die->addr > at;
}

/* Bytes of a unit's DIEs, from `die`, its first one. */
uint64_t debug_unit_bytes(Dwarf_Die *die);

/* The path of file `number` of the unit that `die` is in, interned; NULL unknown. */
const char *debug_unit_file(struct debug_units *units, Dwarf_Die *die, uint32_t number);

void debug_variables_free(struct scope_variables *variables); /* and those behind it */
/* A variable with a static address, whatever its size; false: it has none. debug_variables.c */
bool debug_static_variable(struct debug_units *units, Dwarf_Die *die, struct debug_variable *out);

/* debug_definitions.c */
/* `near` is a DIE in the unit that classes of an anonymous namespace are looked for in; NULL: they
 * aren't. */
bool debug_definition(struct debug_units *units, const char *name, Dwarf_Die *near, Dwarf_Die *out);
void debug_definitions_free(struct definitions *definitions);

void die_memo_free(struct die_memo *memo);   /* die_name.c */
void type_memo_free(struct type_memo *memo); /* die_type.c */

#endif
