/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.h: small questions to one DIE, with libdw alone.
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

/* The DIE that an attribute of `die` names. */
bool die_reference(Dwarf_Die *die, unsigned attribute_name, Dwarf_Die *out);
bool die_flag(Dwarf_Die *die, unsigned attribute_name);
/* A small number; 0: the attribute is missing. */
uint32_t die_number(Dwarf_Die *die, unsigned attribute_name);

/* The declaration behind specifications and abstract origins: where the name and the class are. */
Dwarf_Die die_origin(Dwarf_Die *die);

/* Moves `die` to the next DIE of the same parent. A DW_AT_sibling that points back ends the row;
 * otherwise the walk would never end. */
static inline bool die_next(Dwarf_Die *die)
{
	const char *at = die->addr;

	return !dwarf_siblingof(die, die) && (const char *)die->addr > at;
}

bool die_is_class(int tag); /* class, struct, interface or union */
/* A closure class. Lambdas have no name in the source. */
bool die_is_lambda(Dwarf_Die *die);
/* The type has no name, so the typedef in front of it names it. False for a lambda. */
bool die_named_by_typedef(Dwarf_Die *die);

/* Moves on to what typedefs name, and from a declaration to its type unit. False: void, or a
 * cycle. */
bool die_peel_typedefs(Dwarf_Die *die);
/* Moves on to what typedefs, const and volatile are around. False: likewise. */
bool die_peel(Dwarf_Die *die);

/* Elements of one dimension. False: unknown, as of a flexible array. */
bool die_subrange(Dwarf_Die *subrange, uint64_t *count);
/* Where a member or base lies in its class, in bits. False: nowhere (a static member), or it
 * depends on the object (a virtual base). */
bool die_member_offset(Dwarf_Die *member, uint64_t *bits);

/* 1: an array that a variable holds by a descriptor, the first word of which is its address, as
 * Fortran's allocatable arrays and pointers to arrays; 2: the variable holds that descriptor's
 * address; 0: neither. */
unsigned die_descriptor(Dwarf_Die *array);
/* Of a descriptor of Fortran's. */
uint64_t die_descriptor_bytes(Dwarf_Die *array);
/* The size of a string of Fortran's, and of one of its characters, in bytes. False: its length
 * varies, and *bytes is 0. */
bool die_string(Dwarf_Die *string, uint64_t *bytes, uint64_t *unit);

/* The languages of the unit that has the DIE. */
bool die_is_ada(Dwarf_Die *die);
bool die_is_fortran(Dwarf_Die *die);

/* Bytes of a unit's DIEs; `unit` is the unit's own DIE. */
uint64_t die_unit_bytes(Dwarf_Die *unit);
/* DWARF 4 keeps its type units in .debug_types, where offsets count from 0 again. */
bool die_in_types_section(Dwarf_Die *die);
/* The DIE at `offset` of the section that holds `unit`. */
bool die_at_offset(Dwarf_Die *unit, Dwarf_Off offset, Dwarf_Die *out);

#endif
