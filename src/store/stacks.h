/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h: stacks as the session file holds them: parts of a few frames, each with a tail, the
 * next outer part. Tails are shared: a tail is stored once for all the stacks that were called
 * that way.
 *
 * Runs: sidecar. Signals: no. Allocates: 40 to 75 bytes a tail (mem.h). Threads: one a table.
 *
 * Why parts of six: of a Chromium session's 260,000 stacks of 15 frames, JSON text took 21 MB, and
 * a tree with a row a frame 16 MB, as its 1.2 million rows cost more than the frames in them; six
 * frames a row take 10.7 MB, five or seven the same.
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
	uint32_t tail;               /* id of the next outer part, 0 none; lower than the own
	                              * id */
};

struct stack_tails {	       /* zeroed: empty */
	struct stack_part *at; /* at[id - 1] */
	size_t count, room;
	struct hash_table index;
};

/* The stack's innermost part. Its tails are in the table, new ones behind those that it held. */
struct stack_part stack_tails_split(struct stack_tails *tails, const uint32_t *frames,
				    size_t count);
void stack_tails_deinit(struct stack_tails *tails);

#endif
