/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_judge.h: finds the component of a name by the first rule that matches.
 *
 * Runs: CLI. Signals: no. Allocates: each component's name once. Threads: one a judge.
 *
 * An owner is a rule and the name that it gives: {1} and its like make many names of one rule.
 */
#ifndef SHINY_COMPONENT_JUDGE_H
#define SHINY_COMPONENT_JUDGE_H

#include <stdint.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/texts.h"
#include "component_rules.h"

/* A component, with the rule that names it. */
struct component_owner {
	uint32_t name; /* index of the judge's names */
	const struct component_rule *rule; /* NULL: no stack, or no module in it */
	uint64_t value, variance, rows; /* over all processes of the filter; rows of table stat */
};

/* Owners without a rule. Their names have the same numbers. */
enum { OWNER_NOBODY, OWNER_NO_STACK, OWNER_NO_MODULE };
#define RULE_NONE UINT32_MAX

/* The first rule that a name matches, and the owner that it names. */
struct component_verdict {
	uint32_t rule;  /* its number in the order; RULE_NONE: none matches */
	uint32_t owner; /* OWNER_NOBODY: the rule names no component */
	bool weak, stop;
	bool guess; /* the function's name is a guess from a text in its code */
};

struct component_judge {
	const struct component_rules *rules;
	struct component_rules boring; /* the session's table boring, as rules */
	size_t user_count;             /* number of users' rules, which come first */
	struct texts names;
	VEC(struct component_owner) owners;
	struct hash_table owner_index;
};

/* The rules must outlive the judge. */
void component_judge_begin(struct component_judge *judge, const struct component_rules *rules);
/* Adds a boring pattern: names that match have no component, unless a user's rule matches. */
void component_judge_pass_over(struct component_judge *judge, enum component_kind kind,
			    const char *pattern);
/* Judges `length` bytes of `text`. */
struct component_verdict component_judge(struct component_judge *judge,
					      enum component_kind kind, const char *text,
					      size_t length);
/* Returns the owner of a module, for stacks without an owner in any frame. */
uint32_t component_of_module(struct component_judge *judge, const char *text);
void component_judge_end(struct component_judge *judge);

#endif
