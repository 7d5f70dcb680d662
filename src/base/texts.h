/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h: different texts, numbered in the order in which they come.
 *
 * Runs: CLI. Signals: no. Allocates: a copy of each, and 16 bytes (mem.h). Threads: one a list.
 */
#ifndef SHINY_TEXTS_H
#define SHINY_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts { /* zeroed: empty */
	char **at;
	size_t count;
	uint32_t *slots; /* places + 1, open addressing; a power of two */
	size_t room;
};

uint32_t texts_put(struct texts *texts, const char *text); /* its place */
void texts_deinit(struct texts *texts);

#endif
