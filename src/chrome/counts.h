/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.h: a browser's own numbers, held in memory until the session file is finished, then
 * written to it.
 *
 * Runs: CLI. Signals: no. Allocates: each name once, and a struct count_row for each allocator or
 * kind of objects of each dump. Threads: one.
 */
#ifndef SHINY_COUNTS_H
#define SHINY_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "../base/mem.h"
#include "../base/texts.h"

enum { COUNTS_NAME = 2048 }; /* bytes of a name; longer ones are cut */

/* An allocator in a dump, or objects of one kind and name in a snapshot. */
struct count_row {
	uint32_t name, kind; /* indexes of `names`, plus 1; kind 0: an allocator */
	uint64_t count, bytes, effective; /* effective: allocators only */
};
struct counts_dump {
	bool snapshot;
	uint32_t pid;       /* as the browser sees it; 0 unknown */
	uint64_t time;      /* ns, CLOCK_BOOTTIME */
	char title[128];    /* the process's role in the browser's words, or the page's address */
	VEC(struct count_row) rows;
};
struct counts {
	struct texts names;
	VEC(struct counts_dump *) dumps;
};

uint32_t counts_name(struct counts *counts, const char *text, size_t length);
struct counts_dump *counts_add(struct counts *counts); /* owned by counts */
void counts_drop(struct counts *counts, size_t from);  /* frees the dumps from this index on */
void counts_deinit(struct counts *counts);

/* Appends everything to the finished session in one transaction. */
SHINY_MUST_CHECK struct shiny_err *counts_store(const struct counts *counts, const char *path);

#endif
