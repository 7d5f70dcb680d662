/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_eval.h: checks a session against rules, and finds the rows behind the value of a rule that
 * fails.
 *
 * Runs: CLI. Signals: no. Allocates: what breakdown.h, match.h and tracker.h say; a tracker a rule
 * and row. Threads: one a store.
 *
 * A rule holds, fails, or is unknown, if the session lacks data (events, with --no-events). The
 * evidence of a rule that fails is the rows behind its value, the worst first: of `each` rules the
 * rows over the limit; else call sites (for a rule about sites: types) by their gain over the base,
 * or without a base by their value, for a peak by their part of it; for a measure of the whole
 * session what it counts. With a base, rows are matched as in diff.
 *
 * The value and the base's value stay separate numbers (struct check_result): a comparison of more
 * than two runs can pass a better base value to check_limit().
 *
 * Cost: one pass over the events of each session if a rule needs them, one more for the evidence of
 * such rules that fail; and the same again for each different tag() and between(), with one more
 * pass for the sums of an interval (subset.h).
 */
#ifndef SHINY_CHECK_EVAL_H
#define SHINY_CHECK_EVAL_H

#include "../../store/loss.h"
#include "check_result.h"
#include "match.h"

struct check_results {
	struct check_result *at; /* one for each rule */
	size_t count;
	uint64_t lost[2];        /* sums of all losses' counts; base, new */
	struct loss_sum losses[2]; /* the losses by unit */
	bool complete[2];
};

/* Checks all rules. `stores`: base (NULL: none; then no rule may be relative) and new. `names`: the
 * filter of rules without tag() or between() of their own. */
SHINY_MUST_CHECK struct shiny_err *check_eval(struct store *const stores[2],
					      const struct filter_names *names,
					      const struct check_rules *rules,
					      const struct check_options *options,
					      struct check_results *out);
void check_results_deinit(struct check_results *results);

#endif
