/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructed.h: counts a program's objects by their constructors and destructors (SHINY_CTORS),
 * with place and end of each.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes an object alive, a bit a block, 4 KiB for each 128
 * KiB in which blocks lay. Threads: one a store.
 *
 * Entering a constructor begins an object, with its place: at the beginning of a live block or
 * inside one, on the stack of the thread that made it, in a module's data, or elsewhere (memory
 * that is not malloc's). A part of a base class, and a member, are objects of their own classes. A
 * constructor that delegates to another one of its class makes one object.
 *
 * How it ends: `destroyed`, its destructor was entered (state D of the paper); `reused`, the
 * address was constructed again as the same class, and no destructor was seen (R); `freed`, the
 * block around it was freed and no destructor was seen, as in a ring; `persistent`, none of these
 * (P). A constructor that throws leaves an object that is never destroyed.
 */
#ifndef SHINY_CONSTRUCTED_H
#define SHINY_CONSTRUCTED_H

#include "../../answer/field.h"
#include "../replay/replay.h"

enum constructed_place {
	PLACE_START,
	PLACE_INSIDE,
	PLACE_STACK,
	PLACE_STATIC,
	PLACE_ELSEWHERE,
	PLACES
};

struct constructed_row {
	char *name;
	uint64_t bytes; /* size of the class; 0: unknown */
	uint64_t constructions, destructions; /* constructors and destructors entered */
	uint64_t delegated; /* constructions that another constructor of the class delegated */
	uint64_t places[PLACES]; /* sum: constructions - delegated */
	uint64_t fitting;   /* of those in blocks, objects whose bytes all lie in the block */
	uint64_t destroyed, reused, freed, persistent; /* sum: constructions - delegated +
	                                                * inherited */
	uint64_t inherited; /* objects that a fork copied */
	uint64_t stray;     /* destructions of objects not known to be constructed */
	uint64_t constructors, destructors, unpatched; /* numbers of functions */
	int64_t inlined;    /* inlined calls; -1: unknown */
};

struct constructed {
	struct constructed_row *rows; /* the most constructions first */
	size_t count;
	struct constructed_row total; /* sum of the rows */
	uint64_t allocations, deallocations; /* of all blocks of the filter */
};

/* `match`: as in shinyctl --match, "": all. A session without recorded constructors is an error. */
SHINY_MUST_CHECK struct shiny_err *constructed_load(struct store *store,
						    const struct filter *filter, const char *match,
						    bool progress, struct constructed *out);
void constructed_deinit(struct constructed *constructed);

extern const struct field constructed_fields[]; /* of struct constructed */

#endif
