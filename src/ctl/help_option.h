/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_option.h: what an option or a variable means (src/ctl/help) and takes (options.def,
 * variables.def).
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_HELP_OPTION_H
#define SHINY_HELP_OPTION_H

#include "help_text.h"
#include "options.h"

enum { HELP_TAKES = 240 };

/*
 * The meaning of an option in a verb. The verb's own text comes first, then options.txt, then the
 * text of its variable. false: there is none.
 */
bool help_option(enum verb_id verb, const struct option_spec *spec, struct help_part *out);
bool help_variable(const struct env_spec *spec, struct help_part *out);

/* "a number from 1 to 64; default 16; SHINY_DEPTH"; empty where there is nothing to say. */
void help_option_takes(const struct option_spec *spec, char out[HELP_TAKES]);
void help_variable_takes(const struct env_spec *spec, char out[HELP_TAKES]);

/* The words of a choice, separated by '|'. */
const char *help_choices(const struct option_spec *spec);

/* The verb's exit statuses: its own section, else the common one. */
bool help_statuses(enum verb_id verb, struct help_section *out);
/* A common status that the verb cannot have: 3 without --strict. */
bool help_status_fits(enum verb_id verb, const struct help_part *status);

#endif
