/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructed.h: the objects of a program by their constructors and destructors (SHINY_CTORS):
 * where they lay and how they ended.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes an object alive, a bit a block, 4 KiB for each 128
 * KiB in which blocks lay. Threads: one a store.
 *
 * A constructor that was entered is an object from then on, with its place: at the beginning of a
 * live block or inside one, on the stack of the thread that made it, in a module's data, or
 * elsewhere (memory that is not malloc's). A base class's part is an object of its class, a member
 * of its. One constructor that hands over to another one of its class makes one object.
 *
 * How it ends: `destroyed`, its destructor was entered (state D of the paper); `reused`, the
 * address was constructed again as the same class, and no destructor was seen (R); `freed`, the
 * block around it was given back and no destructor was seen, as in a ring; `persistent`, none of
 * these (P). A constructor that throws leaves an object that is never destroyed.
 */
#ifndef SHINY_CONSTRUCTED_H
#define SHINY_CONSTRUCTED_H

#include "../replay/replay.h"

enum constructed_place {
	PLACE_START,
	PLACE_INSIDE,
	PLACE_STACK,
	PLACE_STATIC,
	PLACE_ELSEWHERE,
	PLACES
};
extern const char *const constructed_place_names[PLACES]; /* "start" */

struct constructed_row {
	char *name;
	uint64_t bytes; /* of the class, 0 unknown */
	uint64_t constructions, destructions; /* constructors and destructors entered */
	uint64_t delegated; /* constructions by another constructor of the class */
	uint64_t places[PLACES]; /* of constructions - delegated */
	uint64_t fitting;   /* of those in blocks, that lie in it with all of their bytes */
	uint64_t destroyed, reused, freed, persistent; /* sum: constructions - delegated +
	                                                * inherited */
	uint64_t inherited; /* objects that a fork brought along */
	uint64_t stray;     /* destructions of what was not known to be constructed */
	uint64_t constructors, destructors, unpatched; /* functions */
	int64_t inlined;    /* places; -1 not known */
};

struct constructed {
	struct constructed_row *rows; /* the most constructions first */
	size_t count;
	struct constructed_row total; /* of those that match */
	uint64_t allocations, deallocations; /* of blocks, all of the filter's */
};

/* `match` as in shinyctl --match, "" all. An error where no constructors were recorded. */
SHINY_MUST_CHECK struct shiny_err *constructed_load(struct store *store,
						    const struct filter *filter, const char *match,
						    bool progress, struct constructed *out);
void constructed_deinit(struct constructed *constructed);

#endif
