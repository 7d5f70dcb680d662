/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_members.h: finds the members of a class at an offset.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DIE_MEMBERS_H
#define SHINY_SYM_DIE_MEMBERS_H

#include "die_type.h"

/* Lists the names of all classes at offset 0 of `type`: its bases and first members, and theirs in
 * turn. Returns their number. */
size_t die_members_leading(struct debug_units *units, const struct die_type *type, const char **out,
			   size_t room);
/* Finds the member that holds byte `offset` of `type` and is a pointer there, through nested
 * members. False: there is none, or a union is on the way. */
bool die_members_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
		    struct die_type *out, const char **name);
/* Lists the pointers that may be at byte `offset` of `type` if unions are on the way: one for each
 * alternative that has one there. 0: there are none, or more than `room`. */
size_t die_members_of_union(struct debug_units *units, const struct die_type *type, uint64_t offset,
			    struct die_type *out, size_t room);

#endif
