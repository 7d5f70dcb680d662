/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_rule.h: what people write down that a session must keep to.
 *
 * Runs: CLI. Signals: no. Allocates: a rule's text and patterns. Threads: any.
 *
 *   rule        [each] {SELECTOR.}MEASURE COMPARISON
 *   SELECTOR    type(P) | site(P) | component(P) | role(P): only blocks of these. P is the whole name, or a pattern with * and ?;
 *               in "" where its parentheses do not pair
 *               tag(P) | between(FROM..TO): only blocks that were born under these tags, in this interval, as filter.h understands them; once
 *               each in a rule, and then in place of what --tag and --between say for all rules
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

enum limit_measure {
#define LIMIT_MEASURE(ID, name, unit, of, about) LIMIT_##ID,
#include "check_measure.def"
#undef LIMIT_MEASURE
	LIMIT_MEASURES
};
enum limit_unit { LIMIT_IN_COUNT, LIMIT_IN_BYTES, LIMIT_IN_TIME };
enum limit_source {
	LIMIT_OF_SUMS,    /* of blocks; known without events */
	LIMIT_OF_EVENTS,  /* of blocks; events have to be followed */
	LIMIT_OF_SESSION, /* of the whole session: takes no selector */
};
extern const struct limit_measure_spec {
	const char *name, *about;
	enum limit_unit unit;
	enum limit_source source;
} limit_measures[LIMIT_MEASURES];

enum limit_op { LIMIT_LE, LIMIT_LT, LIMIT_GE, LIMIT_GT, LIMIT_EQ, LIMIT_NE };
extern const char *const limit_ops[]; /* "<=" */

enum { LIMIT_FILTERS = 4 };
struct limit_filter {
	enum census_by by;
	char *pattern;
};
struct limit_rule {
	char *text;            /* as written */
	char *file;            /* of rules it stands in; NULL: the command line */
	unsigned line;
	bool each;             /* row by row of the last filter */
	struct limit_filter filters[LIMIT_FILTERS];
	size_t filter_count;
	char *tags, *between;  /* of tag() and between(); NULL: there is none */
	enum limit_measure measure;
	enum limit_op op;
	bool relative;         /* the limit is base + share * base + amount; else amount */
	double share, amount;
};
struct limit_rules {
	struct limit_rule *at;
	size_t count, room;
};

/* Whether there is such a value of the blocks of tags, and of those of an interval. */
bool limit_narrows(enum limit_measure measure, bool tags, bool between);

/* Adds a rule. A wrong one is a usage error in one line that says where: "rule 'live_byte<=1',
 * column 1: …". */
SHINY_MUST_CHECK struct shiny_err *limit_rules_add(struct limit_rules *rules, const char *text);
/* Adds the rules of a file, one a line; empty lines and those that begin with # are none. */
SHINY_MUST_CHECK struct shiny_err *limit_rules_read(struct limit_rules *rules, const char *path);
void limit_rules_deinit(struct limit_rules *rules);

/* The limit, given the base's value: a whole number, as values are; and whether a value keeps to
 * it. */
double limit_of(const struct limit_rule *rule, double base);
bool limit_holds(const struct limit_rule *rule, double value, double base);

#endif
