/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h: stacks as the session file stores them: parts of a few frames, each with a tail, the
 * next outer part. Tails are shared: a tail is stored once for all stacks with these outer frames.
 *
 * Runs: sidecar. Signals: no. Allocates: 40 to 75 bytes a tail (mem.h). Threads: one a table.
 *
 * Parts have six frames, by measurement: a Chromium session's 260,000 stacks of 15 frames took 21
 * MB as JSON text, and 16 MB as a tree with a row a frame, as its 1.2 million rows cost more than
 * the frames in them; six frames a row take 10.7 MB, five or seven the same.
 */
#ifndef SHINY_STORE_STACKS_H
#define SHINY_STORE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "../base/hash_table.h"

enum { STACK_PART = 6 }; /* frames in a part: columns frame0 … frame5 of tables stack and
                          * stack_tail */

/* No padding: it is hashed and compared as bytes. */
struct stack_part {
	uint32_t frames[STACK_PART]; /* innermost first; 0: no more */
	uint32_t tail;               /* id of the next outer part, lower than its own; 0 none */
};

struct stack_tails {	       /* zeroed: empty */
	struct stack_part *at; /* at[id - 1] */
	size_t count, room;
	struct hash_table index;
};

/* Returns the stack's innermost part, after adding its tails to the table. */
struct stack_part stack_tails_split(struct stack_tails *tails, const uint32_t *frames,
				    size_t count);
void stack_tails_deinit(struct stack_tails *tails);

#endif
