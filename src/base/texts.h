/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h: distinct texts, numbered in the order in which they are added.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: a copy of each text, and 20 to 40 bytes (mem.h).
 * Threads: one a list.
 */
#ifndef SHINY_TEXTS_H
#define SHINY_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "hash_table.h"

struct texts { /* zeroed: empty */
	char **at;
	size_t count, room;
	struct hash_table index;
};

/* Returns the text's index in `at`; a new text is copied and added. */
uint32_t texts_put(struct texts *texts, const char *text);
void texts_deinit(struct texts *texts);

#endif
