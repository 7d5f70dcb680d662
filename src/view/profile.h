/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h: a session in the form of other profilers: samples (a process, a stack, a type) with
 * their weights, and the functions of each stack, inline functions expanded.
 *
 * Runs: CLI. Signals: no. Allocates: 160 bytes a sample (mem.h), and what stack_paths.h says.
 * Threads: one a store.
 *
 * Each block is counted in exactly one sample: over all samples the weights add up to the sums of
 * the session, or of the filter.
 */
#ifndef SHINY_PROFILE_H
#define SHINY_PROFILE_H

#include "../analysis/attribute/groups.h"
#include "../analysis/attribute/stack_paths.h"
#include "../answer/estimated.h"

struct profile_sample {
	uint32_t process, stack, type; /* ids; 0: unknown */
	uint32_t tag;		       /* id, with PROFILE_TAGS; 0: none */
	struct sums sums;
	uint64_t peak, peak_bytes; /* live at the session's peak, with PROFILE_PEAK */
};

struct profile {
	struct stack_paths code; /* its texts include those of types */
	struct profile_sample *samples; /* one a process, stack and type, and tag */
	size_t sample_count, sample_room;
	struct groups groups; /* of samples: group n is samples[n - 1]; empty with PROFILE_TAGS */
	uint32_t *types; /* type id → text of its name; [0] "(no type)" */
	size_t type_limit;
	struct sums total;
	uint64_t duration;                    /* ns, duration of the session */
	uint64_t time;                        /* when it was taken, ns since 1970; 0: not said */
	struct estimated at_peak;             /* with PROFILE_PEAK */
	uint64_t peak_time;                   /* likewise */
};

/* PROFILE_TAGS: blocks of several tags are several samples. Not with PROFILE_PEAK. */
enum { PROFILE_PEAK = 1, PROFILE_FULL_NAMES = 2, PROFILE_PROGRESS = 4, PROFILE_TAGS = 8 };

/* Loads a session. `sums`: the store with the filter's sums (subset.h), or `store`. PROFILE_PEAK
 * needs events. */
SHINY_MUST_CHECK struct shiny_err *profile_load(struct store *store, struct store *sums,
						const struct filter *filter, unsigned flags,
						struct profile *out);
void profile_deinit(struct profile *profile);

static inline const char *profile_text(const struct profile *profile, uint32_t text)
{
	return stack_paths_text(&profile->code, text);
}

/* Returns the command line and the pid of the session's first process. The caller frees
 * *command. */
SHINY_MUST_CHECK struct shiny_err *profile_command(struct store *store, char **command,
						   uint32_t *pid);

/* Returns the name of the program that a command line starts; the caller frees it. */
char *profile_service(const char *command);

/* Makes the session's loss line; the caller frees it. */
SHINY_MUST_CHECK struct shiny_err *profile_loss(struct store *store, char **text);

/* The weight of a sample: live bytes, allocated bytes, allocations, or bytes at the peak. */
enum profile_measure { MEASURE_LIVE, MEASURE_BYTES, MEASURE_ALLOCS, MEASURE_PEAK, MEASURES };
uint64_t profile_weight(const struct profile_sample *sample, enum profile_measure measure);
uint64_t profile_total(const struct profile *profile, enum profile_measure measure);

#endif
