/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_draw.h: draws live blocks of a process at random, with known probabilities.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: the loop's.
 *
 * Design. A stratum is a site with live blocks that are not inherited by fork. A draw takes a
 * stratum first, by one of three ways with equal probability: each stratum alike, so that rare
 * types are seen; by its live blocks; by its live bytes. Then a block of it: each alike
 * (PICK_BLOCK), or by its size and in it a word (PICK_BYTE), which makes every byte of the stratum
 * alike. So of S strata, with N blocks and B bytes in all, stratum s is taken with
 *     P(s) = (1/S + N(s)/N + B(s)/B) / 3
 * and a block of it stands for N(s)/P(s) blocks, a byte for B(s)/P(s) bytes: `weight`. Estimates
 * with these weights are those of Horvitz and Thompson (1952), in the form of Hajek (1971).
 *
 * PICK_BLOCK watches the block's first word, which holds the vtable pointer or the first member:
 * its use is a lower bound of the block's where a block is larger than that word. PICK_BYTE has no
 * such gap: it is about bytes.
 *
 * Cost. One pass over the registry for up to DRAWS_MOST blocks: the strata are taken first, then a
 * reservoir of one block each is kept while the pass goes by (weighted where bytes are asked for).
 */
#ifndef SHINY_WATCH_DRAW_H
#define SHINY_WATCH_DRAW_H

#include "../state/session_process.h"

enum watch_pick { PICK_BLOCK, PICK_BYTE };
enum { DRAWS_MOST = 4 };

struct watch_draw {
	struct entry entry;
	enum watch_pick pick;
	uint64_t offset; /* offset of the watched word in the block */
	unsigned bytes;  /* 1, 2, 4 or 8: aligned, and inside the block */
	uint64_t weight; /* blocks or bytes that the draw stands for */
};

/* Returns a number below `limit`, which is not 0; all are equally likely. */
uint64_t draw_below(uint64_t *seed, uint64_t limit);
/* Returns how many were drawn. Draws only blocks with a size and without ENTRY_WATCHED and
 * ENTRY_INHERITED. */
size_t draw_blocks(const struct process *process, uint64_t *seed,
		   struct watch_draw draws[DRAWS_MOST]);

#endif
