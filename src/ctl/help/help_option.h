/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_option.h: finds the meaning of an option or variable (src/ctl/help), and its values
 * (options.def, variables.def).
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_HELP_OPTION_H
#define SHINY_HELP_OPTION_H

#include "help_text.h"
#include "../options.h"

enum { HELP_TAKES = 240 };

/* Finds the meaning of an option in a verb: in the verb's own text, else in the text of its
 * variable, else in options.txt (--budget is a variable's in run, and JSON's elsewhere). false:
 * there is none. */
bool help_option(enum verb_id verb, const struct option_spec *spec, struct help_part *out);
bool help_variable(const struct env_spec *spec, struct help_part *out);

/* Writes "a number from 1 to 64; default 16; SHINY_DEPTH; with --cold", the option without which it
 * has no meaning in the verb, or with which its words are others; empty: nothing to say. */
void help_option_takes(enum verb_id verb, const struct option_spec *spec, char out[HELP_TAKES]);
void help_variable_takes(const struct env_spec *spec, char out[HELP_TAKES]);

/* Finds the verb's exit statuses: its own section, else the common one. */
bool help_statuses(enum verb_id verb, struct help_section *out);
/* True if the verb can have this common status: 3 only with --strict, or a section of its own. */
bool help_status_fits(enum verb_id verb, const struct help_part *status);

#endif
