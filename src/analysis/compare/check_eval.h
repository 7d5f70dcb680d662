/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_eval.h: whether a session keeps to rules, and where it does not, what makes up the value.
 *
 * Runs: CLI. Signals: no. Allocates: what breakdown.h, match.h and tracker.h say; a tracker a rule
 * and row. Threads: one a store.
 *
 * A rule holds, fails, or is unknown: what it needs is not in the session (events, where it was
 * recorded with --no-events). The evidence of a rule that fails are the rows that make up its
 * value, those that broke it first: of `each` rules the rows that are over the limit; else call
 * sites (of a rule about sites: types) by how much more they have than in the base, or by how much
 * they have, of a peak by what they had at that moment; of what is about the whole session what it
 * counts. With a base, rows are matched as in diff.
 *
 * The value that a rule is about, and the base's, are numbers by themselves (struct check_result):
 * what compares more than two runs can put something better than the base's value into
 * check_limit().
 *
 * Cost: one pass over the events of each session where a rule needs them, one more for the evidence
 * of such rules that fail; and all of it again for each different tag() and between(), with one
 * more pass for the sums of an interval (subset.h).
 */
#ifndef SHINY_CHECK_EVAL_H
#define SHINY_CHECK_EVAL_H

#include "../../store/loss.h"
#include "check_result.h"
#include "match.h"

struct check_results {
	struct check_result *at; /* a rule each */
	size_t count;
	uint64_t lost[2];        /* counts of all losses; of base and new */
	struct loss_sum losses[2]; /* the same by unit */
	bool complete[2];
};

/* `stores`: base (NULL: none; then no rule may be relative) and new. `names`: what all rules are
 * about that do not say otherwise. */
SHINY_MUST_CHECK struct shiny_err *check_eval(struct store *const stores[2],
					      const struct filter_names *names,
					      const struct check_rules *rules,
					      const struct check_options *options,
					      struct check_results *out);
void check_results_deinit(struct check_results *results);

#endif
