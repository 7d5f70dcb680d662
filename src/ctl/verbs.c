/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs.h"

const struct verb verbs[VERB_COUNT] = {
#define SHINY_VERB(ID, word, takes, min, max, rest, what, part) \
	{ .name = #word,                                         \
	  .operands = takes,                                     \
	  .least = min,                                          \
	  .most = max,                                           \
	  .rest_is_program = rest,                               \
	  .input = VERB_READS_##what,                            \
	  .group = VERBS_##part },
#include "verbs.def"
};
