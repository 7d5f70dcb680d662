/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h: the verbs of shinyctl: verbs.def as a table, and the functions.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_VERBS_H
#define SHINY_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/err.h"

enum verb_id {
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	VERB_##ID,
#include "verbs.def"
#undef SHINY_VERB
	VERB_COUNT
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

struct ctl;       /* in ctl.h */
struct rows_verb; /* in rows_verb.h */

struct verb {
	const char *name;
	struct shiny_err *(*run)(struct ctl *ctl); /* NULL: it is `rows` */
	const struct rows_verb *rows;
	const char *operands; /* as in the usage line */
	size_t least, most;   /* number of operands */
	bool rest_is_program; /* everything from the first operand on belongs to a program */
	enum verb_input input;
	enum verb_group group; /* group in the help */
};
extern const struct verb verbs[VERB_COUNT];

#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	SHINY_MUST_CHECK struct shiny_err *cmd_##name(struct ctl *ctl);
#define SHINY_ROWS(ID, name, operands, least, most, rest, input, group) \
	extern const struct rows_verb rows_##name;
#include "verbs.def"
#undef SHINY_VERB

#endif
