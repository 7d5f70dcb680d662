/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_rule.h: what people write down that a session must keep to.
 *
 * Runs: CLI. Signals: no. Allocates: a rule's text and patterns. Threads: any.
 *
 *   rule        [each] {SELECTOR.}MEASURE COMPARISON
 *   SELECTOR    type(P) | site(P) | component(P) | role(P): only blocks of these. P is the whole
 *               name, or a pattern with * and ?; in "" where its parentheses do not pair
 *               tag(P) | between(FROM..TO): only blocks that were born under these tags, in this
 *               interval, as filter.h understands them; once each in a rule, and then in place of
 *               what --tag and --between say for all rules
 *   COMPARISON  OP VALUE, against a number;
 *               [OP] CHANGE, against the base: +5%, -10%, +64KB, +5%+64KB, +0; without OP: at most
 *   OP          <= < >= > == !=
 *   VALUE       24MB, 1.5k, 10ms: units.h's, as fits the measure
 *
 * A rule is about the sum over all that its selectors mean; with `each`, about every single type,
 * site, … that the last of them means. So "type(net::*).bytes +5%" lets all of net's types together
 * request 5 % more than in the base, "each type(net::*).bytes +5%" each of them.
 */
#ifndef SHINY_CHECK_RULE_H
#define SHINY_CHECK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "breakdown.h"

enum check_measure {
#define CHECK_MEASURE(ID, name, unit, of, about) CHECK_##ID,
#include "check_measure.def"
#undef CHECK_MEASURE
	CHECK_MEASURES
};
enum check_unit { CHECK_IN_COUNT, CHECK_IN_BYTES, CHECK_IN_TIME };
enum check_source {
	CHECK_OF_SUMS,	  /* of blocks; known without events */
	CHECK_OF_EVENTS,  /* of blocks; events have to be followed */
	CHECK_OF_SESSION, /* of the whole session: takes no selector */
};
extern const struct check_measure_spec {
	const char *name, *about;
	enum check_unit unit;
	enum check_source source;
} check_measures[CHECK_MEASURES];

enum check_op { CHECK_LE, CHECK_LT, CHECK_GE, CHECK_GT, CHECK_EQ, CHECK_NE };
extern const char *const check_ops[]; /* "<=" */

enum { CHECK_SELECTORS = 4 };
struct check_selector {
	enum breakdown_by by;
	char *pattern;
};
struct check_rule {
	char *text;            /* as written */
	char *file;            /* of rules it stands in; NULL: the command line */
	unsigned line;
	bool each; /* row by row of the last selector */
	struct check_selector selectors[CHECK_SELECTORS];
	size_t selector_count;
	char *tags, *between;  /* of tag() and between(); NULL: there is none */
	enum check_measure measure;
	enum check_op op;
	bool relative;         /* the limit is base + share * base + amount; else amount */
	double share, amount;
};
struct check_rules {
	struct check_rule *at;
	size_t count, room;
};

/* Whether there is such a value of the blocks of tags, and of those of an interval. */
bool check_of_subset(enum check_measure measure, bool tags, bool between);

/* Adds a rule. A wrong one is a usage error in one line that says where: "rule 'live_byte<=1',
 * column 1: …". */
SHINY_MUST_CHECK struct shiny_err *check_rules_add(struct check_rules *rules, const char *text);
/* Adds the rules of a file, one a line; empty lines and those that begin with # are none. */
SHINY_MUST_CHECK struct shiny_err *check_rules_read(struct check_rules *rules, const char *path);
void check_rules_deinit(struct check_rules *rules);

/* The limit, given the base's value: a whole number, as values are; and whether a value keeps to
 * it. */
double check_limit(const struct check_rule *rule, double base);
bool check_holds(const struct check_rule *rule, double value, double base);

#endif
