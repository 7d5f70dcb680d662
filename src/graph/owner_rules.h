/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner_rules.h: loads a file that selects blocks and variables as owners, for `shinyctl
 * retained --owners`.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: read-only after loading.
 *
 *   owner NAME KIND PATTERN   all matches are one owner
 *   each KIND PATTERN         each match is an owner of its own
 *   common KIND PATTERN       matches have no owner, and pointers from them give none
 *
 * KIND is type, site, component or root. The first line that matches a block counts. A pattern
 * extends to the end of the line, and matches the whole name; * and ? are wildcards. # begins a
 * comment.
 */
#ifndef SHINY_OWNER_RULES_H
#define SHINY_OWNER_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/err.h"

enum owner_rule_what { OWNER_RULE_OWNER, OWNER_RULE_EACH, OWNER_RULE_COMMON, OWNER_RULES };
enum owner_rule_kind {
	OWNER_BY_TYPE,
	OWNER_BY_SITE,
	OWNER_BY_COMPONENT,
	OWNER_BY_ROOT,
	OWNER_KINDS
};
struct owner_rule {
	enum owner_rule_what what;
	enum owner_rule_kind kind;
	char *name; /* for OWNER_RULE_OWNER, else NULL */
	char *pattern;
};
struct owner_rules { /* zeroed: empty */
	struct owner_rule *at;
	size_t count, room;
};

/* A wrong line, and a file without a rule, is a usage error that says which and why. */
SHINY_MUST_CHECK struct shiny_err *owner_rules_load(const char *path, struct owner_rules *out);
void owner_rules_deinit(struct owner_rules *rules);

/* Returns the first rule of this kind that matches the name; SIZE_MAX: none. */
size_t owner_rules_find(const struct owner_rules *rules, enum owner_rule_kind kind,
			const char *name);

#endif
