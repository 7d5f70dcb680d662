/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_result.h: the answer to one rule, with the rows that are its evidence.
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
};
struct check_result {
	enum check_state state;
	bool nothing;            /* its selectors mean nothing in either session */
	char *why;               /* UNKNOWN: what is missing; else NULL */
	double base, value, limit; /* of `each` rules: of the row that is worst */
	double low, high;        /* a lifetime's value is known to lie there; else 0 */
	bool divided;            /* the rule holds for some of what may be its value, not for all */
	char *worst;             /* that row's name; else NULL */
	uint64_t rows, broken;   /* `each`: rows that were looked at, and that are over the limit */
	struct check_part *parts; /* at most CHECK_PARTS */
	size_t part_count, part_total;
};
struct component_rules;
struct check_options {
	const struct component_rules *components;
	const char *suppressions; /* path, or NULL */
	bool full_names, progress;
};

/* `name` becomes the result's. */
void check_part_add(struct check_result *r, char *name, double base, double value);
/* The parts with the most weight first; those beyond CHECK_PARTS are dropped. */
void check_parts_sort(struct check_result *r, const struct check_rule *rule);

#endif
