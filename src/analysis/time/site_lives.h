/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_lives.h: counts each call site's blocks by short, middle and long lifetime (lifetimes.h),
 * and finds the time of most live bytes, for analyses that then make a second pass.
 *
 * Runs: CLI. Signals: no. Allocates: 16 bytes a call site, 16 a process. Threads: one a store.
 *
 * pooling.h gives a block the lifetime that most of its site had. diagnose.h follows only the sites
 * that can become its rows: they are few, and events of others cost little. One pass over the
 * events.
 */
#ifndef SHINY_SITE_LIVES_H
#define SHINY_SITE_LIVES_H

#include <shiny/wire/wire.h>

#include "lifetimes.h"

struct site_lives {
	struct groups sites;
	/* by site; without blocks that a fork copied or a collector made */
	uint32_t (*lives)[POPULATIONS];
	uint32_t *short_objects; /* by site: short lives of objects that a collector made */
	uint64_t objects;        /* all objects that a collector made */
	uint64_t peak_time, duration; /* ns; peak_time: of most live bytes, objects left out;
				       * duration: of the session */
};

/* Counts in one pass. `full_names`: sites of one name are one site, as in all analyses. */
SHINY_MUST_CHECK struct shiny_err *site_lives_load(struct store *store,
						   const struct filter *filter,
						   bool full_names, bool progress,
						   struct site_lives *out);
void site_lives_deinit(struct site_lives *lives);

/* Returns the lifetime of most of the site's blocks; of equals the shorter. */
enum population site_lives_usual(const struct site_lives *lives, uint32_t site);
/* Returns a flag for each site: it has at least as many short lives, with objects', as the
 * `most`-th of all that have some. The caller frees it. */
bool *site_lives_shortest(const struct site_lives *lives, size_t most);

/* True if the block counts here, and in pools. */
static inline bool site_lives_counted(const struct life *life)
{
	return !life->inherited && life->api != SHINY_API_COLLECTED;
}

#endif
