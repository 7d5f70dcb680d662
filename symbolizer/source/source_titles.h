/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_titles.h: finds functions of a file without symbols whose code names them in a text of its
 * own, without a path.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a reference while it searches. Threads: some
 * of its own while it searches.
 */
#ifndef SHINY_SYM_SOURCE_TITLES_H
#define SHINY_SYM_SOURCE_TITLES_H

#include "source_functions.h"

/* Adds `functions->titles`. False: there are more references than a program has. */
bool source_titles_find(const struct flow_code *code, struct source_functions *functions);

/* Returns the name in a text, and its length; *sure: the text is a whole declaration. NULL: there
 * is none. */
const char *source_title_in(const char *text, size_t *length, bool *sure);

#endif
