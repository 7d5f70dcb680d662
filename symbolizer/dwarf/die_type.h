/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_type.h: a type, as DWARF describes it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 *
 * Spelling. Names are made from DIEs, never taken apart: scopes joined by "::", "(anonymous
 * namespace)", template arguments from their own DIEs where the name has none
 * (-gsimple-template-names), and normalised so that gcc, clang and the demangler agree:
 * "std::vector<int, std::allocator<int>>" has no blank between closing brackets, integers no
 * suffix, "unsigned long" for "long unsigned int". die_type_normalize() does the same to a
 * demangled name.
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
	DIE_CLASS /* class, struct */,
	DIE_UNION,
	DIE_ENUM,
	DIE_POINTER /* references too */,
	DIE_ARRAY,
	DIE_FUNCTION
};

struct die_type {
	enum die_kind kind;
	Dwarf_Die die;      /* typedefs, const and volatile peeled; a declaration is replaced by its
	                     * definition where there is one */
	const char *name;   /* normalised; of a typedef to an unnamed struct: the typedef's. "" for
	                     * a nameless one */
	uint64_t bytes;     /* 0 unknown */
	bool polymorphic;   /* it has a vptr */
	bool trailing_array; /* its last member is an array: blocks of it may be longer (C's
	                      * flexible array, and [0] and [1]) */
};

/* The type that `die`'s DW_AT_type names (a missing one is void). False: absurd or cyclic DWARF. */
bool die_type_of(struct debug_units *units, Dwarf_Die *die, struct die_type *out);
/* `die` itself is a type. */
bool die_type(struct debug_units *units, Dwarf_Die *die, struct die_type *out);
/* What a pointer or array type is made of. */
bool die_type_target(struct debug_units *units, const struct die_type *type, struct die_type *out);

/* The type parameter number `index` of a class or function; the value_type that a typedef `member`
 * of it names. */
bool die_type_argument(struct debug_units *units, Dwarf_Die *die, unsigned index,
		       struct die_type *out);
bool die_type_typedef(struct debug_units *units, Dwarf_Die *die, const char *member,
		      struct die_type *out);

/* The class that a member function belongs to, through specification and abstract origin. */
bool die_type_class_of(struct debug_units *units, Dwarf_Die *function, struct die_type *out);
/* A function's name without template arguments, and with its scopes but without theirs:
 * "std::vector::push_back". Interned; NULL: none. */
const char *die_function_path(struct debug_units *units, Dwarf_Die *function);
/* Is it a constructor (its name is its class's)? */
bool die_is_constructor(struct debug_units *units, Dwarf_Die *function, struct die_type *class);

/* The names of all classes that lie at offset 0 of `type`: its bases and first members, theirs in
 * turn. Returns their number. */
size_t die_type_leading(struct debug_units *units, const struct die_type *type, const char **out,
			size_t room);
/* The member that holds byte `offset` of `type` and is a pointer there (through nested members).
 * Not through unions: then false. */
bool die_type_member_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
			struct die_type *out, const char **name);
/* The pointers that may be at byte `offset` of `type` where unions are in between: one for each
 * alternative that has one there. 0: there are none, or more than `room`. */
size_t die_type_union_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
			 struct die_type *out, size_t room);

/* Layout, as pahole shows it: each row a member, base class, vptr, hole or padding, in order of
 * offset; nested ones have depth > 0. */
struct die_member {
	const char *name, *type; /* NULL name: a base class; type "hole" and "padding" for what
	                          * isn't used */
	uint64_t offset, bytes;  /* offset from the start of the whole object; bits: bit offset and
	                          * size, bytes 0 */
	unsigned depth, bit_offset, bit_size;
	enum { DIE_MEMBER, DIE_BASE_CLASS, DIE_VPTR, DIE_HOLE, DIE_PADDING } what;
};
typedef bool die_member_fn(void *context, const struct die_member *member); /* false: enough */
void die_type_layout(struct debug_units *units, const struct die_type *type, die_member_fn *each,
		     void *context);

/* A demangled name in the spelling of this module, interned. NULL: no memory. */
const char *die_type_normalize(struct names *names, const char *name);
/* Can two normalised names mean the same type? Lambdas and unnamed types, which everybody numbers
 * or places in another way, are taken for the same one: "Task<f::{lambda at a.cc:3}>",
 * "Task<f::{lambda()#1}>" and "Task<f::$_0>". */
bool die_type_alike(const char *a, const char *b);

#endif
