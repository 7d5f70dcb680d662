/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs.h"

const struct verb verbs[VERB_COUNT] = {
#define SHINY_VERB(ID, word, takes, min, max, rest, part, line, paragraphs, document) \
	{ .name = #word,                                                              \
	  .run = cmd_##word,                                                          \
	  .operands = takes,                                                          \
	  .least = min,                                                               \
	  .most = max,                                                                \
	  .rest_is_program = rest,                                                    \
	  .group = VERBS_##part,                                                      \
	  .summary = line,                                                            \
	  .description = paragraphs,                                                  \
	  .json = document },
#include "verbs.def"
#undef SHINY_VERB
};
