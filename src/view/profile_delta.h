/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_delta.h: what a profile has beyond an earlier one of the same session: allocations and
 * their bytes. What is live stays.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes a sample (mem.h). Threads: one a store.
 *
 * Two profiles are of two files, whose ids differ. So a sample is known by the hash of its process,
 * tag and stack, and that of its type. What is allocated there is counted once and never less,
 * whichever the type; a type may change, when a vtable pointer is read. So the differences of a
 * process, tag and stack add up to that of their sum, and are given to the types that grew.
 */
#ifndef SHINY_PROFILE_DELTA_H
#define SHINY_PROFILE_DELTA_H

#include "profile.h"

struct profile_row {
	uint64_t place, type; /* hashes */
	uint64_t allocs, bytes;
};
struct profile_base { /* zeroed: of no profile */
	struct profile_row *at; /* by place and type */
	size_t count;
};

/* Makes the sums of `profile` those since `base`; `now`: what it had, the base of a later one. */
SHINY_MUST_CHECK struct shiny_err *profile_delta(struct store *store, struct profile *profile,
						 const struct profile_base *base,
						 struct profile_base *now);
void profile_base_deinit(struct profile_base *base);

#endif
