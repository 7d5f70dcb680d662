/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_text.h: reads the template arguments in a class's DW_AT_name.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the written text. Threads: any.
 */
#ifndef SHINY_SYM_TEMPLATE_TEXT_H
#define SHINY_SYM_TEMPLATE_TEXT_H

#include <stdbool.h>

#include "name_text.h"

/* Returns the number of arguments of "name<a, b>"; 0: none in brackets. */
unsigned template_text_count(const char *name);

/* Appends argument number `index`, normalised. False: there is none. */
bool template_text_write(const char *name, unsigned index, struct name_text *out);

#endif
