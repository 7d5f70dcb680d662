/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_type.h: describes a type from its DIE.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names, and a memo until the units are closed.
 * Threads: one at a time.
 *
 * die_members.h and die_layout.h describe its members.
 */
#ifndef SHINY_SYM_DIE_TYPE_H
#define SHINY_SYM_DIE_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug_units.h"

enum die_kind {
	DIE_VOID,
	DIE_BASE,
	DIE_CLASS, /* class, struct */
	DIE_UNION,
	DIE_ENUM,
	DIE_POINTER, /* references too, and descriptors of arrays: their targets are elements */
	DIE_ARRAY,
	DIE_FUNCTION
};

struct die_type {
	enum die_kind kind;
	/* without typedefs, const and volatile; a declaration's definition, if there is one */
	Dwarf_Die die;
	/* normalised; an unnamed struct has the name of its typedef; "": nameless */
	const char *name;
	uint64_t bytes; /* 0: unknown */
	bool polymorphic; /* it has a vptr */
	bool by_address; /* a pointer to a descriptor, which is the target and has the same DIE */
	/* its last member is an array (C's flexible array, [0] or [1]), so its blocks may be
	 * longer */
	bool trailing_array;
};

/* Describes the type that `die`'s DW_AT_type names (void if missing). False: absurd or cyclic
 * DWARF. */
bool die_type_of(struct debug_units *units, Dwarf_Die *die, struct die_type *out);
/* Describes `die`, which is a type itself. */
bool die_type(struct debug_units *units, Dwarf_Die *die, struct die_type *out);
/* Describes the target of a pointer, or the element of an array. */
bool die_type_target(struct debug_units *units, const struct die_type *type, struct die_type *out);

/* Describes the type parameter number `index` of a class or function. */
bool die_type_argument(struct debug_units *units, Dwarf_Die *die, unsigned index,
		       struct die_type *out);
/* Describes the target of a class's typedef `member`, "value_type" for instance. */
bool die_type_typedef(struct debug_units *units, Dwarf_Die *die, const char *member,
		      struct die_type *out);

/* Describes the class of a member function, through specification and abstract origin. */
bool die_type_class_of(struct debug_units *units, Dwarf_Die *function, struct die_type *out);
/* True if it is a constructor: it has its class's name. */
bool die_is_constructor(struct debug_units *units, Dwarf_Die *function, struct die_type *class);

#endif
