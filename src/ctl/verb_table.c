/* SPDX-License-Identifier: Apache-2.0 */
#include "verb_table.h"

#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	extern const struct verb_body verb_##name;
#include "verbs.def"
#undef SHINY_VERB

const struct verb_body *const verb_table[VERB_COUNT] = {
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) &verb_##name,
#include "verbs.def"
#undef SHINY_VERB
};

struct shiny_err *verb_table_run(struct ctl *ctl)
{
	return verb_body_run(ctl, verb_table[ctl->options.verb]);
}
