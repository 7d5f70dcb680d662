/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_name.h: names of types and functions from their DIEs, and the small questions to DIEs that
 * naming shares with die_type.c.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DIE_NAME_H
#define SHINY_SYM_DIE_NAME_H

#include "die_normalize.h"
#include "die_type.h"

/* The name with its scopes of a class, enumeration, typedef, namespace or function, interned. NULL:
 * no memory, or absurd. */
const char *die_name(struct debug_units *units, Dwarf_Die *die);

/* The text of any type, interned; NULL `die`: void. `written`: with its typedefs as in the source.
 * NULL: absurd. */
const char *die_type_text(struct debug_units *units, Dwarf_Die *die, bool written);

/* Length of a name in front of its template arguments. */
size_t die_bare_length(const char *name);

bool die_is_class(int tag); /* union too */
bool die_named_by_typedef(Dwarf_Die *die); /* it is unnamed, and the typedef in front of it is its
                                            * name: not so for a lambda */
/* The DIE that an attribute of `die` names. */
bool die_reference(Dwarf_Die *die, unsigned attribute_name, Dwarf_Die *out);
/* Elements of one dimension; false: it doesn't say (a flexible array). */
bool die_subrange(Dwarf_Die *subrange, uint64_t *count);
/* Where a member or base lies in its class, in bits; false: nowhere (static), or it depends on the
 * object (virtual bases). die_type.c */
bool die_member_offset(Dwarf_Die *member, uint64_t *bits);

#endif
