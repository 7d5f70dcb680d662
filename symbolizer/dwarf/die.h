/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.h: reads properties of one DIE, with libdw alone.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a Dwarf.
 *
 * DWARF is hostile input: every chain of references ends after DIE_HOPS_MAX steps, of types after
 * DIE_PEEL_MAX.
 */
#ifndef SHINY_SYM_DIE_H
#define SHINY_SYM_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* Specification, abstract origin, signature: honest chains have up to 4 references. */
#define DIE_HOPS_MAX 16
#define DIE_PEEL_MAX 64

/* Gets the DIE that an attribute of `die` refers to. False: there is none. */
bool die_reference(Dwarf_Die *die, unsigned attribute_name, Dwarf_Die *out);
bool die_flag(Dwarf_Die *die, unsigned attribute_name);
/* Returns a small number; 0: the attribute is missing, or larger than 32 bits. */
uint32_t die_number(Dwarf_Die *die, unsigned attribute_name);

/* Follows specifications and abstract origins to the declaration: it has the name and the class. */
Dwarf_Die die_origin(Dwarf_Die *die);

/* Moves `die` to the next DIE of the same parent. A DW_AT_sibling that points back ends the row;
 * otherwise the walk would never end. */
static inline bool die_next(Dwarf_Die *die)
{
	const char *at = die->addr;

	return !dwarf_siblingof(die, die) && (const char *)die->addr > at;
}

bool die_is_class(int tag); /* class, struct, interface or union */
/* True for a closure class. Lambdas have no name in the source. */
bool die_is_lambda(Dwarf_Die *die);
/* True if the type has no name, so that a typedef of it names it. False for a lambda. */
bool die_named_by_typedef(Dwarf_Die *die);

/* Moves `die` to the target of its typedefs, and from a declaration to its type unit. False: void,
 * or a cycle. */
bool die_peel_typedefs(Dwarf_Die *die);
/* Moves `die` to the target of its typedefs, const and volatile. False: void, or a cycle. */
bool die_peel(Dwarf_Die *die);

/* Counts the elements of one dimension. False: unknown, as of a flexible array. */
bool die_subrange(Dwarf_Die *subrange, uint64_t *count);
/* Gets the offset of a member or base in its class, in bits. False: it has none (a static member),
 * or it depends on the object (a virtual base). */
bool die_member_offset(Dwarf_Die *member, uint64_t *bits);

/* 1: an array that a variable holds by a descriptor, whose first word is its address, like
 * Fortran's allocatable arrays and pointers to arrays; 2: the variable holds that descriptor's
 * address; 0: neither. */
unsigned die_descriptor(Dwarf_Die *array);
/* Returns the size of a Fortran descriptor. */
uint64_t die_descriptor_bytes(Dwarf_Die *array);
/* Gets the size of a Fortran string, and of one of its characters, in bytes. False: its length
 * varies, and *bytes is 0. */
bool die_string(Dwarf_Die *string, uint64_t *bytes, uint64_t *unit);

/* True if the language of the DIE's unit is Ada, or Fortran. */
bool die_is_ada(Dwarf_Die *die);
bool die_is_fortran(Dwarf_Die *die);

/* Returns the bytes of a unit's DIEs; `unit` is the unit's own DIE. */
uint64_t die_unit_bytes(Dwarf_Die *unit);
/* True for type units of DWARF 4, which are in .debug_types, where offsets count from 0 again. */
bool die_in_types_section(Dwarf_Die *die);
/* Gets the DIE at `offset` of the section that holds `unit`. */
bool die_at_offset(Dwarf_Die *unit, Dwarf_Off offset, Dwarf_Die *out);

#endif
