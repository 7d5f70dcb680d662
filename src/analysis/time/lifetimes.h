/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetimes.h: the lifetimes of blocks, by type or call site.
 *
 * Runs: CLI. Signals: no. Allocates: a distribution a row: by distinct types or sites, never by
 * events. Threads: one a store.
 *
 * Definitions, after "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026), section on
 * lifetimes:
 *   D destroyed   the program ended it: free, delete, realloc, a collected object's destructor
 *   R reused      another block took its place without any of these; or its memory went back to
 *                 the system
 *   P persistent  neither happened before its process, or the recording, ended. Its lifetime is
 *                 right-censored: distribution.h
 * Algorithm 1 of the paper assigns these in one pass here: an address's map entry is its last
 * birth. Blocks that a fork copied count only in the process in which they began.
 *
 * A *temporary* was freed before its process allocated anything else. *Elsewhere*: freed by another
 * thread than the one that allocated it.
 *
 * Populations, by the share of the session's duration that a block has lived: short up to 1 %,
 * middle up to 50 %, tail above. A persistent block counts by the age that it reached.
 */
#ifndef SHINY_LIFETIMES_H
#define SHINY_LIFETIMES_H

#include "../../answer/estimated.h"
#include "../query/distribution.h"
#include "../attribute/groups.h"

enum population { POPULATION_SHORT, POPULATION_MIDDLE, POPULATION_TAIL, POPULATIONS };
extern const char *const population_names[POPULATIONS];
/* Returns the population of a block with this lifetime so far, in a session of this duration; both
 * in ns. */
enum population population_of(uint64_t age, uint64_t duration);

struct lifetime_row {
	char *name;
	char *full_name; /* not shortened; NULL: same as `name` */
	struct estimated began;
	uint64_t destroyed, reused, persistent; /* began = their sum */
	uint64_t temporary, elsewhere;    /* of the destroyed */
	uint64_t population[POPULATIONS]; /* blocks */
	uint64_t population_bytes[POPULATIONS];
	struct distribution ages;         /* lifetimes, ns */
};
struct lifetimes {
	struct lifetime_row *rows;
	size_t count;
	struct lifetime_row total; /* sum of the rows that match; name NULL */
	struct distribution_octaves octaves; /* of the total's ages */
	uint64_t duration;         /* of the session, ns */
	uint64_t length;           /* of the part of it in which the blocks began, ns */
};

enum lifetimes_order {
	LIFETIMES_BY_BLOCKS,
	LIFETIMES_BY_BYTES,
	LIFETIMES_BY_PERSISTENT,
	LIFETIMES_BY_SHORT,
	LIFETIMES_BY_NAME
};

/* Loads the rows. `match`: pattern of row names (text_matches()); NULL: all. */
SHINY_MUST_CHECK struct shiny_err *lifetimes_load(struct store *store, const struct filter *filter,
						  enum group_by by, const char *match,
						  enum lifetimes_order order, bool full_names,
						  bool progress, struct lifetimes *out);
/* Loads rows of the call sites in `sites` only, indexed by groups of groups.h; NULL: all. */
SHINY_MUST_CHECK struct shiny_err *lifetimes_load_sites(struct store *store,
							const struct filter *filter,
							const bool *sites,
							enum lifetimes_order order,
							bool full_names, bool progress,
							struct lifetimes *out);
void lifetimes_deinit(struct lifetimes *lifetimes);

extern const struct field lifetime_fields[];  /* of struct lifetime_row */
extern const struct field lifetimes_fields[]; /* of struct lifetimes, without the rows */

#endif
