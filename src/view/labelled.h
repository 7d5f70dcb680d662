/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labelled.h: the samples of a profile by stack and labels, for formats whose samples have labels.
 *
 * Runs: CLI. Signals: no. Allocates: 80 bytes a sample (mem.h). Threads: one a store.
 *
 * Samples that differ in nothing that is chosen are one; the sums stay those of the profile.
 */
#ifndef SHINY_LABELLED_H
#define SHINY_LABELLED_H

#include "profile.h"

enum label_kind { LABEL_PROCESS, LABEL_TYPE, LABEL_COMPONENT, LABEL_TAG, LABEL_KINDS };
extern const char *const label_keys[LABEL_KINDS]; /* "process", … */
#define LABEL_PID "pid" /* the key of the number that goes with LABEL_PROCESS */
enum { LABELS_ALL = (1 << LABEL_KINDS) - 1 };

struct label_choice {
	unsigned kinds; /* bit label_kind */
	size_t sets;	/* most sets of labels; those of the fewest bytes become one a process,
			 * with "(other)" as type and component; 0: no limit */
};

struct label_set {
	const char *text[LABEL_KINDS]; /* NULL: it lacks the label */
	uint32_t pid;		       /* with LABEL_PROCESS */
	uint64_t bytes;		       /* live and allocated ones of its samples */
};

enum { HEAP_ALLOCS, HEAP_BYTES, HEAP_LIVE, HEAP_LIVE_BYTES, HEAP_VALUES };
struct value_name {
	const char *name, *unit; /* as Go's heap profiles have them */
};
extern const struct value_name value_names[HEAP_VALUES];

struct labelled_sample {
	uint32_t stack, set; /* set: index of `sets` */
	uint64_t values[HEAP_VALUES];
};

struct labelled { /* zeroed: empty */
	struct labelled_sample *samples; /* by stack and set; each has a value */
	size_t count, room;
	struct label_set *sets;
	size_t set_count, set_room;
	struct texts texts; /* of labels */
	struct texts keys;  /* of sets: number n is sets[n] */
};

/* Loads the samples of a profile with PROFILE_TAGS. On failure, call labelled_deinit() too. */
SHINY_MUST_CHECK struct shiny_err *labelled_load(struct store *store,
						 const struct profile *profile,
						 struct label_choice choice, struct labelled *out);
void labelled_deinit(struct labelled *labelled);

#endif
