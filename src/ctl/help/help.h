/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h: help on the terminal, the manual pages, the completions and the tables of docs/. All are
 * made from the texts in src/ctl/help (help_text.h) and from verbs.def, options.def and
 * variables.def.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_HELP_H
#define SHINY_HELP_H

#include "../../answer/table.h"
#include "../verbs.h"

extern const char *const help_groups[VERB_GROUPS]; /* titles of the groups */

void help_first(const struct style *style); /* what one needs daily; other verbs by name */
void help_all(const struct style *style);
void help_verb(const struct style *style, enum verb_id verb);
void help_topic(const struct style *style, const char *text);
void help_markdown(FILE *out);

/* in help_schema.c: the JSON Schema of a verb's document; false: its members are text only */
bool help_schema(FILE *out, enum verb_id verb);

/* in help_man.c: the manual page of shinyctl, and of one verb */
void help_man(FILE *out);
void help_man_verb(FILE *out, enum verb_id verb);

/* in help_completion.c */
enum help_shell { HELP_BASH, HELP_ZSH, HELP_FISH }; /* in the order of options.def */
void help_completion(FILE *out, enum help_shell shell);

#endif
