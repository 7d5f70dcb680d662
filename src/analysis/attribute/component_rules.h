/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_rules.h: the table components.rules, and users' own: which function, source file or
 * module belongs to which component.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: read-only after loading.
 */
#ifndef SHINY_COMPONENT_RULES_H
#define SHINY_COMPONENT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/err.h"

enum component_kind { COMPONENT_FUNCTION, COMPONENT_SOURCE, COMPONENT_MODULE, COMPONENT_KINDS };
extern const char *const component_kind_names[COMPONENT_KINDS];

struct component_rule {
	enum component_kind kind;
	const char *pattern;
	const char *component; /* may hold {1} to {9}; NULL: nobody's */
	bool weak, stop;
	bool user;             /* of a user's file: in front of what the session calls boring */
	const char *file;      /* where it stands */
	unsigned line;
};
struct component_rules {
	struct component_rule *at; /* in the order in which they are asked, users' first */
	size_t count, room;
	char **texts; /* what the rules' strings are in */
	size_t text_count;
};

/* Users' files in the order given, then the built-in table. A wrong line is a usage error that says
 * which and why. */
SHINY_MUST_CHECK struct shiny_err *component_rules_load(const char *const *paths, size_t count,
							struct component_rules **out);
void component_rules_free(struct component_rules *rules); /* accepts NULL */

/* The texts that a pattern's stars matched. */
enum { COMPONENT_STARS = 9 };
struct component_match {
	struct { const char *text; size_t length; } stars[COMPONENT_STARS];
};
/* `text` is `length` bytes. Text behind the pattern that begins with < is accepted for
 * functions. */
bool component_pattern_matches(const char *pattern, enum component_kind kind, const char *text,
			       size_t length, struct component_match *out);

/* The rule's component with what the stars stand for; a new text, never empty. */
char *component_rule_name(const struct component_rule *rule, const struct component_match *match);

#endif
