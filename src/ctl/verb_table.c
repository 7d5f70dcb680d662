/* SPDX-License-Identifier: Apache-2.0 */
#include "verb_table.h"

#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	extern const struct verb_body verb_##name;
#define SHINY_BODY(ID, body, verb, document, input) extern const struct verb_body verb_##body;
#define SHINY_WORD(ID, word, verb, operand, count)  extern const struct verb_body verb_##word;
#include "verbs.def"

const struct verb_body *const verb_table[QUESTION_COUNT] = {
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) [VERB_##ID] = &verb_##name,
#define SHINY_BODY(ID, body, verb, document, input) [VERB_##ID] = &verb_##body,
#define SHINY_WORD(ID, word, verb, operand, count) [VERB_##ID] = &verb_##word,
#include "verbs.def"
};

struct shiny_err *verb_table_run(struct ctl *ctl)
{
	return verb_body_run(ctl, verb_table[ctl->options.question]);
}
