/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_rules.h: loads the rules, built-in (components.rules) and users', that map functions,
 * source files and modules to components.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: read-only after loading.
 */
#ifndef SHINY_COMPONENT_RULES_H
#define SHINY_COMPONENT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/err.h"
#include "../../base/glob.h"

enum component_kind { COMPONENT_FUNCTION, COMPONENT_SOURCE, COMPONENT_MODULE, COMPONENT_KINDS };
extern const char *const component_kind_names[COMPONENT_KINDS];

struct component_rule {
	enum component_kind kind;
	const char *pattern;
	const char *component; /* may hold {1} to {9}; NULL: no component */
	bool weak, stop;
	bool user;             /* from a user's file: applies before table boring */
	const char *file;      /* file and line of the rule */
	unsigned line;
};
struct component_rules {
	struct component_rule *at; /* in order, users' first */
	size_t count, room;
	char **texts; /* memory of the rules' strings */
	size_t text_count;
};

/* Loads the users' files in the order given, then the built-in table. A wrong line is a usage error
 * that names the line and the reason. */
SHINY_MUST_CHECK struct shiny_err *component_rules_load(const char *const *paths, size_t count,
							struct component_rules **out);
void component_rules_free(struct component_rules *rules); /* accepts NULL */

/* The texts that a pattern's stars matched. */
enum { COMPONENT_STARS = 9 };
struct component_match {
	struct glob_star stars[COMPONENT_STARS];
};
/* Matches `length` bytes of `text`. For functions, the text may go on behind the pattern with <. */
bool component_pattern_matches(const char *pattern, enum component_kind kind, const char *text,
			       size_t length, struct component_match *out);

/* Returns the rule's component with the stars' texts filled in: never empty, the caller frees
 * it. */
char *component_rule_name(const struct component_rule *rule, const struct component_match *match);

#endif
