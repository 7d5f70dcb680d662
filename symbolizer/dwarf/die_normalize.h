/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_normalize.h: one spelling for a type's name; and the text that names are put together in.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the text. Threads: any.
 */
#ifndef SHINY_SYM_DIE_NORMALIZE_H
#define SHINY_SYM_DIE_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "die_type.h"

/* A growing string, zero-terminated once something was added; what doesn't fit into 64 KB is left
 * out. */
struct name_text {
	char *at; /* NULL: empty */
	size_t used, room;
	bool failed; /* no memory: something is missing */
};

void text_add(struct name_text *text, const char *more, size_t bytes);
void text_put(struct name_text *text, const char *more);
void text_free(struct name_text *text);

/* Adds `name` as die_type_normalize() spells it. */
void die_normalize_text(const char *name, struct name_text *out);

/* Bytes of the symbol that follows "operator"; 0: none. */
size_t die_operator_length(const char *at);

#endif
