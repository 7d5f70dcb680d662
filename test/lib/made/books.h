/* SPDX-License-Identifier: Apache-2.0 */
/*
 * books.h: what a made-up program did, counted as a session counts it, and as the reports must have
 * it.
 *
 * Runs: CLI, in tests. Allocates: 120 MB. Threads: one.
 */
#ifndef TEST_MADE_BOOKS_H
#define TEST_MADE_BOOKS_H

#include "../../../src/store/store.h"
#include "plan.h"
#include "program.h"

enum { BINS = STORE_LIFETIME_BINS, BUCKETS = 400 };

struct fate { uint64_t destroyed, persistent, elsewhere, temporary; };
struct bin { uint64_t bytes, count; };
struct books { /* by process, stack, and whether a vptr was seen */
	struct store_stat (*stats)[STACKS + 1][2];
	struct bin (*bins)[STACKS + 1][2][BINS];
	struct store_peak (*peaks)[STACKS + 1];
	struct store_bucket *buckets[PROCESSES + 1];
	struct fate by_type[TYPES + 1], by_site[STACKS + 1];
	struct { uint64_t blocks, bytes; } live[PROCESSES + 1], (*site_live)[STACKS + 1];
	uint64_t live_now, live_most, bucket_ns;
};

extern struct books books;

void books_begin(uint64_t events);
void books_live(const struct block *block, int sign); /* a block more, or fewer: what began counts
                                                       * itself */
void books_began(const struct block *block);
/* `by`: thread. */
void books_ended(const struct block *block, uint8_t by, bool by_realloc);
/* It is live at the end. */
void books_stayed(const struct block *block);
/* The lines that session_make.c describes. */
void books_print(void);

#endif
