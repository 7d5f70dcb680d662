/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair.h: two sessions that are compared, the older one first.
 *
 * Runs: CLI. Signals: no. Allocates: two stores. Threads: one.
 */
#ifndef SHINY_CTL_PAIR_H
#define SHINY_CTL_PAIR_H

#include "ctl.h"

struct session_pair {
	struct store *stores[2]; /* base, new; base NULL: there is none */
	struct filter filters[2];
};

/* `base` may be NULL. Scopes are what --process, --tag and --between mean in each. */
SHINY_MUST_CHECK struct shiny_err *pair_open(const struct ctl *ctl, const char *base,
					     const char *new, struct session_pair *out);
void pair_close(struct session_pair *pair);

/* "+1.2 MiB", "-3": from `base` to `new`; UNITS_TEXT + 1 bytes. */
typedef char *pair_units_fn(char *out, uint64_t n);
char *pair_change(char *out, pair_units_fn *units, uint64_t base, uint64_t new);
/* "+5.0 %"; empty without a change, and from nothing. */
char *pair_share(char *out, uint64_t base, uint64_t new);

#endif
