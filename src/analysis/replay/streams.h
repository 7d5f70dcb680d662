/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h: counts the four streams of "Shiny Objects": allocations, deallocations, constructions,
 * destructions; by process role.
 *
 * Runs: CLI. Signals: no. Allocates: a row a role, a byte a type. Threads: one a store.
 *
 * F6 of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026) counts calls of the allocator,
 * and entries of constructors and destructors by a compiler pass. Here, for an unmodified program:
 *   allocations, deallocations   blocks of malloc that began and ended, a realloc is both
 *   collected, finalized         objects that a garbage collector allocated, each with one
 *                                constructor; those that ended with their destructor
 *   objects, ended objects       blocks of malloc in which an object was certainly constructed: a
 *                                vtable was seen in it, or its type, no guess, comes from the
 *                                constructor that got it; those of them that the program freed
 *   constructors, destructors    entered, if they were recorded (SHINY_CTORS); else 0
 * So constructions are collected plus constructors if these were recorded, else collected plus
 * objects. That is a lower bound: constructors of members, bases, objects on the stack and in
 * rings, and inlined ones leave no trace in the heap. Destructions likewise.
 *
 * Cost: one pass over the events (replay.h).
 */
#ifndef SHINY_STREAMS_H
#define SHINY_STREAMS_H

#include "../query/filter.h"

struct streams_row {
	char *name; /* role, or the program's name; NULL for the total */
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
	bool recorded;     /* constructors were recorded */
	uint64_t duration; /* ns, of the session */
};

/* A lower bound, unless constructors were recorded. */
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
