/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h: the verbs of shinyctl: verbs.def as a table. What they do is in verb_table.h.
 *
 * Runs: CLI. Signals: no. Allocates: an error. Threads: one.
 */
#ifndef SHINY_VERBS_H
#define SHINY_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/err.h"

/* The verbs; and from VERB_COUNT on, up to QUESTION_COUNT, what their options and words make of
 * them. */
enum verb_id {
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	VERB_##ID,
#include "verbs.def"
	VERB_COUNT,
	VERB_LAST = VERB_COUNT - 1,
#define SHINY_BODY(ID, body, verb, document, input) VERB_##ID,
#define SHINY_WORD(ID, word, verb, operand, count) VERB_##ID,
#include "verbs.def"
	QUESTION_COUNT
};

enum verb_group {
	VERBS_RECORD,
	VERBS_LOOK,
	VERBS_TIME,
	VERBS_SPACE,
	VERBS_COMPARE,
	VERBS_EXPLAIN,
	VERBS_CHROMIUM,
	VERBS_FURTHER,
	VERB_GROUPS
};
enum verb_input { VERB_READS_OTHER, VERB_READS_SESSION };

struct verb {
	const char *name;
	const char *operands; /* as in the usage line */
	size_t least, most;   /* number of operands */
	bool rest_is_program; /* everything from the first operand on belongs to a program */
	enum verb_input input;
	enum verb_group group; /* group in the help */
};
extern const struct verb verbs[VERB_COUNT];

/* Finds a verb by its name; VERB_COUNT: there is none. The error names the new spelling of a word
 * that was a verb (retired.def). */
SHINY_MUST_CHECK struct shiny_err *verb_find(const char *word, enum verb_id *out);

#endif
