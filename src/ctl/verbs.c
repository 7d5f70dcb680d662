/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs.h"

#define SHINY_VERB(ID, word, takes, min, max, rest, what, part) \
	{ .run = cmd_##word, VERB(word, takes, min, max, rest, what, part) },
#define SHINY_ROWS(ID, word, takes, min, max, rest, what, part) \
	{ .rows = &rows_##word, VERB(word, takes, min, max, rest, what, part) },
#define VERB(word, takes, min, max, rest, what, part)                                         \
	.name = #word, .operands = takes, .least = min, .most = max, .rest_is_program = rest, \
	.input = VERB_READS_##what, .group = VERBS_##part

const struct verb verbs[VERB_COUNT] = {
#include "verbs.def"
};
#undef SHINY_VERB
