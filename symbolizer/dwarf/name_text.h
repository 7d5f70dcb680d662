/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_text.h: a growing text, for composing a name.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the text (mem.h). Threads: any.
 */
#ifndef SHINY_SYM_NAME_TEXT_H
#define SHINY_SYM_NAME_TEXT_H

#include <stddef.h>

/* Zero-terminated once something was appended. A name is cut at 64 KB. */
struct name_text {
	char *at; /* NULL: empty */
	size_t used, room;
};

void name_text_add(struct name_text *text, const char *more, size_t bytes);
void name_text_put(struct name_text *text, const char *more);
/* Inserts `more` before the byte `at`. */
void name_text_insert(struct name_text *text, size_t at, const char *more);
/* Drops all but the first `used` bytes. */
void name_text_cut(struct name_text *text, size_t used);
const char *name_text_string(const struct name_text *text); /* "" if it is empty */
void name_text_free(struct name_text *text);

#endif
