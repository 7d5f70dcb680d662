/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair.h: opens two sessions to compare, the older one first.
 *
 * Runs: CLI. Signals: no. Allocates: two stores. Threads: one.
 */
#ifndef SHINY_CTL_PAIR_H
#define SHINY_CTL_PAIR_H

#include "ctl.h"

struct session_pair {
	struct store *stores[2]; /* base, new; base NULL: none */
	struct filter filters[2];
	const char *paths[2];
	struct losses losses[2]; /* after pair_losses() */
};

/* Opens both. `base` may be NULL. Loads the filter of --process, --tag and --between for each. On
 * an error only the paths are set. */
SHINY_MUST_CHECK struct shiny_err *pair_open(const struct ctl *ctl, const char *base,
					     const char *new, struct session_pair *out);
/* Loads the losses of each, for fields that have them; sets the status for --strict. */
SHINY_MUST_CHECK struct shiny_err *pair_losses(struct ctl *ctl, struct session_pair *pair);
void pair_close(struct session_pair *pair);

/* Writes the change from `base` to `new`, "+1.2 MiB" or "-3", into UNITS_TEXT + 1 bytes. */
typedef char *pair_units_fn(char *out, uint64_t n);
char *pair_change(char *out, pair_units_fn *units, uint64_t base, uint64_t new);
/* Writes "+5.0 %"; empty without a change, or from 0. */
char *pair_share(char *out, uint64_t base, uint64_t new);

#endif
