/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h: the four streams of "Shiny Objects", counted: allocations, deallocations,
 * constructions, destructions; by process role.
 *
 * Runs: CLI. Signals: no. Allocates: a row a role, a byte a type. Threads: one a store.
 *
 * F6 of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026) counts calls of the allocator
 *    and entries of constructors and destructors that a
 * compiler pass put there. Here, of an unmodified program:
 *   allocations, deallocations   blocks of malloc that began and ended, a realloc is both
 *   collected, finalized         objects that a garbage collector made, each by one constructor;
 *                                that ended and their destructor ran
 *   objects, ended objects       blocks of malloc that an object was certainly constructed in: a
 *                                vtable was seen in it, or its type comes from the constructor that
 *                                got it, and is no guess; of these, those that the program freed
 *   constructors, destructors    entered, where they were recorded (SHINY_CTORS); 0 elsewhere
 * So constructions are collected plus constructors where these were recorded, and otherwise
 * collected plus objects, which is a lower bound: constructors of members, bases, objects on the
 * stack and in rings, and all that a compiler inlined, leave no trace in the heap. Destructions
 * likewise.
 *
 * Cost: one pass over the events (replay.h).
 */
#ifndef SHINY_STREAMS_H
#define SHINY_STREAMS_H

#include "../query/filter.h"

struct streams_row {
	char *name; /* role, or the program's name; NULL: the total */
	uint64_t processes;
	uint64_t allocations, deallocations;
	uint64_t collected, finalized;
	uint64_t objects, ended_objects;
	uint64_t constructors, destructors;
};
struct streams {
	struct streams_row *rows; /* most allocations first */
	size_t count, room;
	struct streams_row total;
	bool recorded;     /* constructors were */
	uint64_t duration; /* ns */
};

/* At least so many. */
static inline uint64_t streams_constructions(const struct streams *streams,
					     const struct streams_row *row)
{
	return row->collected + (streams->recorded ? row->constructors : row->objects);
}
static inline uint64_t streams_destructions(const struct streams *streams,
					    const struct streams_row *row)
{
	return row->finalized + (streams->recorded ? row->destructors : row->ended_objects);
}

SHINY_MUST_CHECK struct shiny_err *streams_load(struct store *store, const struct filter *filter,
						bool progress, struct streams *out);
void streams_deinit(struct streams *streams);

#endif
