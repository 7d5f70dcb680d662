/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_result.h: the result of one rule, with the rows that are its evidence.
 *
 * Runs: CLI. Signals: no. Allocates: a name a part. Threads: any.
 */
#ifndef SHINY_CHECK_RESULT_H
#define SHINY_CHECK_RESULT_H

#include "check_rule.h"

enum check_state { CHECK_HOLDS, CHECK_FAILS, CHECK_UNKNOWN };
extern const char *const check_states[]; /* "holds" */

enum { CHECK_PARTS = 50 };
struct check_part { /* a row of the evidence */
	char *name;
	double base, value;
	bool relative; /* the rule is about a change: `base` counts */
};
struct check_result {
	struct check_rule rule;  /* whose texts the rules own */
	enum check_state state;
	bool nothing;            /* no block of either session matches its selectors */
	char *why;               /* for UNKNOWN: the missing data; else NULL */
	double base, value, limit; /* for `each` rules: those of the worst row */
	double low, high;        /* range of a lifetime or an estimate; else 0 */
	bool divided;            /* the rule holds for only a part of that range */
	char *worst;             /* name of the worst row of an `each` rule; else NULL */
	uint64_t rows, broken;   /* `each`: rows checked, and rows over the limit */
	struct check_part *parts; /* of a rule that fails; at most CHECK_PARTS */
	size_t part_count, part_total;
};
struct component_rules;
struct check_options {
	const struct component_rules *components;
	const char *suppressions; /* a file (suppressions.h), or NULL */
	bool full_names, progress;
};

/* Adds a part; the result owns `name` from now on. */
void check_part_add(struct check_result *r, char *name, double base, double value);
/* Sorts the parts, those with the most weight first; drops those beyond CHECK_PARTS, all
 * unless the rule fails. */
void check_parts_sort(struct check_result *r, const struct check_rule *rule);

#endif
