/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h: stacks as the session file holds them: parts of a few frames, each with a tail that
 * goes on outwards. Tails are shared: a tail is stored once for all the stacks that were called
 * that way.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, about 40 bytes a tail. Threads: one a table.
 *
 * Why parts of six: of a Chromium session's 260,000 stacks of 15 frames, JSON text took 21 MB, and
 * a tree with a row a frame 16 MB, as its 1.2 million rows cost more than the frames in them; six
 * frames a row take 10.7 MB, five or seven the same.
 */
#ifndef SHINY_STORE_STACKS_H
#define SHINY_STORE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"

enum { STACK_PART = 6 }; /* frames in a part: columns frame0 … frame5 of tables stack and
                          * stack_tail */

/* No padding: it is hashed and compared as bytes. */
struct stack_part {
	uint32_t frames[STACK_PART]; /* innermost first; 0: no more */
	uint32_t tail;               /* id of the tail that goes on, 0 none; lower than the own
	                              * id */
};

/* All zero is an empty table. */
struct stack_tails {
	struct stack_part *at; /* at[id - 1] */
	uint32_t count, room;
	uint32_t *slots;       /* ids, 0 empty; open addressing; slot_count is 0 or a power of two >
	                        * count * 4 / 3 */
	uint32_t slot_count;
};

/* Splits a stack: `out` is its innermost part, its tails are in the table, the new ones behind
 * those that it held before. */
SHINY_MUST_CHECK struct shiny_err *stack_tails_split(struct stack_tails *tails,
						     const uint32_t *frames, size_t count,
						     struct stack_part *out);
void stack_tails_deinit(struct stack_tails *tails);

#endif
