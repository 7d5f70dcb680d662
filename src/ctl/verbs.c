/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs.h"

#include <string.h>

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

static const struct {
	const char *word, *now;
} retired[] = {
#define SHINY_RETIRED(word, now) { #word, now },
#include "retired.def"
};

struct shiny_err *verb_find(const char *word, enum verb_id *out)
{
	*out = 0;
	while (*out < VERB_COUNT && strcmp(word, verbs[*out].name) != 0)
		++*out;
	for (size_t i = 0; i < sizeof(retired) / sizeof(*retired); i++)
		if (strcmp(word, retired[i].word) == 0)
			return shiny_err(SHINY_ERR_USAGE, "'%s' is now 'shinyctl %s'", word,
					 retired[i].now);
	return NULL;
}
