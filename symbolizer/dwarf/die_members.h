/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_members.h: which members of a class are at an offset.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DIE_MEMBERS_H
#define SHINY_SYM_DIE_MEMBERS_H

#include "die_type.h"

/* The names of all classes at offset 0 of `type`: its bases and first members, theirs in turn.
 * Returns their number. */
size_t die_members_leading(struct debug_units *units, const struct die_type *type, const char **out,
			   size_t room);
/* The member that holds byte `offset` of `type` and is a pointer there, through nested members.
 * False: there is none, or a union is on the way. */
bool die_members_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
		    struct die_type *out, const char **name);
/* The pointers that may be at byte `offset` of `type` where unions are on the way: one for each
 * alternative that has one there. 0: there are none, or more than `room`. */
size_t die_members_of_union(struct debug_units *units, const struct die_type *type, uint64_t offset,
			    struct die_type *out, size_t room);

#endif
