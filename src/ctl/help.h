/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h: help text, manual page, completion and README tables, all made from verbs.def,
 * options.def and variables.def.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_HELP_H
#define SHINY_HELP_H

#include "table.h"
#include "verbs.h"

#define HELP_DEFINITIONS "definitions" /* the word for `shinyctl help` */

void help_all(const struct style *style);
void help_verb(const struct style *style, enum verb_id verb);
void help_definitions(const struct style *style); /* what live, peak, total are */
void help_man(FILE *out);
void help_completion(FILE *out);
void help_markdown(FILE *out);

#endif
