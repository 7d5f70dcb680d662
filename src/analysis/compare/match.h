/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: what of one session is what of another: types, call sites, components and roles of a
 * program that was built anew, or only run again.
 *
 * Runs: CLI. Signals: no. Allocates: by names; for call sites without names by distinct frames and
 * calls between them. Threads: one a store.
 *
 * Never by ids, and by addresses only within the very same file (equal build-ids). The program that
 * was recorded is the same whatever its file is called, and libraries are whatever their version
 * (libfoo.so.1.2).
 *
 *   types, components, roles   by name. How surely a type is known is not part of it. A class
 *                              without a name that is called by its vtable's address is matched by
 *                              that in the same file only; otherwise all those of a module count
 *                              together
 *   call sites with names      by module, function and source file. Lines shift when somebody edits
 *                              a file: several sites in one function are paired in the order of the
 *                              source, so that as much as possible of what they make (type, sizes,
 *                              number of blocks, distance from the function's first and last site)
 *                              agrees: the alignment of two sequences, as Needleman and Wunsch have
 *                              it (J. Mol. Biol. 48, 1970). Clones that compilers make (.isra,
 *                              .part) are their function. What is left is tried without parameters
 *                              and file: a function with another signature, or moved
 *   call sites without names   in another build, by the calls around them: match_calls.h
 */
#ifndef SHINY_MATCH_H
#define SHINY_MATCH_H

#include "breakdown.h"

enum match_how {
	MATCH_ONLY,     /* there is none in the other session */
	MATCH_NAME,
	MATCH_ADDRESS,  /* no name; the same file */
	MATCH_ORDER,    /* several sites in a function of this name: by their order */
	MATCH_MOVED,    /* the function has other parameters now, or another file */
	MATCH_CALLS,    /* no name: by what it makes, who calls it and whom it calls */
	MATCH_TOGETHER, /* several that cannot be told apart, counted together */
	MATCH_HOWS
};
extern const char *const match_names[MATCH_HOWS];

struct match_row {
	char *name;      /* as the newer session calls it */
	enum match_how how;
	uint32_t members[2]; /* how many of each session; 0: none */
};
struct match {
	struct match_row *rows;
	size_t count;
	uint32_t *row_of[2]; /* of each session: place in the breakdown's names → row */
};

/* Two sessions, the older one first; without a base (NULL) rows are the other's names. `types`: for
 * sites, what match_load() gave for types. */
SHINY_MUST_CHECK struct shiny_err *match_load(struct store *const stores[2],
					      const struct breakdown *const breakdowns[2],
					      enum breakdown_by by, const struct match *types,
					      struct match *out);
void match_deinit(struct match *match);

#endif
