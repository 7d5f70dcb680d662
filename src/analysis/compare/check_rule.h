/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_rule.h: parses the rules that a session is checked against.
 *
 * Runs: CLI. Signals: no. Allocates: a rule's text and patterns. Threads: any.
 *
 *   rule        [each] {SELECTOR.}MEASURE COMPARISON
 *   SELECTOR    type(P) | site(P) | component(P) | role(P): only blocks of these. P is the whole
 *               name, or a pattern with * and ?; in "" if its parentheses do not pair.
 *               tag(P) | between(FROM..TO): only blocks born under these tags, in this interval, as
 *               in filter.h; once each in a rule, where they replace --tag and --between
 *   COMPARISON  OP VALUE, against a number;
 *               [OP] CHANGE, against the base: +5%, -10%, +64KB, +5%+64KB, +0; without OP: at most
 *   OP          <= < >= > == !=
 *   VALUE       24MB, 1.5k, 10ms: units.h's, as fits the measure
 *
 * A rule checks the sum over all blocks that its selectors match; with `each`, every single type,
 * site, … that the last selector matches. So "type(net::*).bytes +5%" lets all of net's types
 * together request 5 % more than in the base, "each type(net::*).bytes +5%" each of them.
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
	CHECK_OF_SUMS,	  /* of blocks; known from sums */
	CHECK_OF_EVENTS,  /* of blocks; needs a pass over the events */
	CHECK_OF_SESSION, /* of the whole session; takes no selector */
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
	char *file;            /* file of the rule; NULL: the command line */
	unsigned line;
	bool each; /* one value for each row of the last selector */
	struct check_selector selectors[CHECK_SELECTORS];
	size_t selector_count;
	char *tags, *between;  /* of tag() and between(); NULL: none */
	enum check_measure measure;
	enum check_op op;
	bool relative;         /* the limit is base + share * base + amount; false: amount */
	double share, amount;
};
struct check_rules {
	struct check_rule *at;
	size_t count, room;
};

/* True if the measure exists for the blocks of tags, or of an interval. */
bool check_of_subset(enum check_measure measure, bool tags, bool between);

/* Adds a rule. A wrong one is a usage error of one line with its place: "rule 'live_byte<=1',
 * column 1: …". */
SHINY_MUST_CHECK struct shiny_err *check_rules_add(struct check_rules *rules, const char *text);
/* Adds the rules of a file, one a line; skips empty lines and those that begin with #. */
SHINY_MUST_CHECK struct shiny_err *check_rules_read(struct check_rules *rules, const char *path);
void check_rules_deinit(struct check_rules *rules);

/* Returns the limit for the base's value, a whole number as values are; check_holds() compares a
 * value with it. */
double check_limit(const struct check_rule *rule, double base);
bool check_holds(const struct check_rule *rule, double value, double base);

#endif
