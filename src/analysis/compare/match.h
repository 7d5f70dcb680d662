/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: matches the types, call sites, components and roles of two sessions of a program that
 * was built again, or only run again.
 *
 * Runs: CLI. Signals: no. Allocates: by names; for call sites without names by distinct frames and
 * calls between them. Threads: one a store.
 *
 * It never matches by ids, and by addresses only within the same file (equal build-ids). The
 * program that was recorded is the same whatever its file is called, and libraries are whatever
 * their version (libfoo.so.1.2).
 *
 *   types, components, roles   by name. A type's confidence is ignored. A class named by its
 *                              vtable's address matches in the same file only; otherwise all those
 *                              of a module count together
 *   call sites with names      by module, function and source file. Lines shift when a file is
 *                              edited: several sites in one function are paired in the order of the
 *                              source, so that their blocks (type, sizes, number) and places
 *                              (distance from the function's first and last site) agree as much as
 *                              possible: the alignment of two sequences, as Needleman and Wunsch
 *                              have it (J. Mol. Biol. 48, 1970). Compilers' clones (.isra, .part)
 *                              count as their function. The rest is matched without parameters and
 *                              file: a function with another signature, or moved
 *   call sites without names   in another build, by the calls around them: match_calls.h
 */
#ifndef SHINY_MATCH_H
#define SHINY_MATCH_H

#include "breakdown.h"

enum match_how {
	MATCH_ONLY,     /* no counterpart in the other session */
	MATCH_NAME,
	MATCH_ADDRESS,  /* no name; by address in the same file */
	MATCH_ORDER,    /* one of several sites in a function of this name: by order */
	MATCH_MOVED,    /* the function has other parameters, or is in another file */
	MATCH_CALLS,    /* no name: by its blocks, callers and callees */
	MATCH_TOGETHER, /* several that cannot be told apart, counted as one */
	MATCH_HOWS
};
extern const char *const match_names[MATCH_HOWS];

struct match_row {
	char *name;      /* of the newer session, if it is there */
	enum match_how how;
	uint32_t members[2]; /* number of members of each session; 0: none */
};
struct match {
	struct match_row *rows;
	size_t count;
	uint32_t *row_of[2]; /* for each session: index of the breakdown's names → row */
};

/* Matches two sessions, the older one first; without a base (NULL), rows are the other's names.
 * `types`: for sites, the result for types. */
SHINY_MUST_CHECK struct shiny_err *match_load(struct store *const stores[2],
					      const struct breakdown *const breakdowns[2],
					      enum breakdown_by by, const struct match *types,
					      struct match *out);
void match_deinit(struct match *match);

#endif
