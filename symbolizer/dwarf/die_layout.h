/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_layout.h: lists the layout of a class, as pahole shows it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names, and the rows of one class at a time. Threads:
 * one at a time.
 */
#ifndef SHINY_SYM_DIE_LAYOUT_H
#define SHINY_SYM_DIE_LAYOUT_H

#include "die_type.h"

/* A row: a member, base class, vptr, hole or padding. Rows come in order of offset; nested ones
 * have depth > 0. */
struct die_member {
	const char *name; /* NULL: a base class */
	const char *type; /* "hole" and "padding" for unused bytes */
	uint64_t offset; /* from the start of the whole object */
	uint64_t bytes; /* 0: the row is bits, see bit_offset and bit_size */
	unsigned depth, bit_offset, bit_size;
	enum { DIE_MEMBER, DIE_BASE_CLASS, DIE_VPTR, DIE_HOLE, DIE_PADDING } what;
};
typedef bool die_member_fn(void *context, const struct die_member *member); /* false: stop */
void die_type_layout(struct debug_units *units, const struct die_type *type, die_member_fn *each,
		     void *context);

#endif
