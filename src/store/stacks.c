/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.c: see stacks.h. */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash_bytes.h"
#include "../base/mem.h"

_Static_assert(sizeof(struct stack_part) == (STACK_PART + 1) * sizeof(uint32_t),
	       "no padding in what is hashed");

/* Returns the id of the tail that equals this part, adding it if necessary. */
static uint32_t tail_id(struct stack_tails *tails, const struct stack_part *part)
{
	uint64_t hash = hash_bytes(part, sizeof(*part));
	uint32_t at = hash_table_find(&tails->index, hash, i,
				      memcmp(&tails->at[i], part, sizeof(*part)) == 0);

	if (at == HASH_NONE) {
		at = (uint32_t)tails->count;
		*vec_push(tails) = *part;
		hash_table_add(&tails->index, hash, at);
	}
	return at + 1;
}

struct stack_part stack_tails_split(struct stack_tails *tails, const uint32_t *frames, size_t count)
{
	uint32_t tail = 0;

	/* from the outermost part inwards, as each part has the id of the next outer one */
	for (size_t start = count ? (count - 1) / STACK_PART * STACK_PART : 0;;
	     start -= STACK_PART) {
		size_t length = count - start < STACK_PART ? count - start : STACK_PART;
		struct stack_part part = { .tail = tail };

		if (length)
			memcpy(part.frames, frames + start, length * sizeof(*frames));
		if (!start)
			return part;
		tail = tail_id(tails, &part);
	}
}

void stack_tails_deinit(struct stack_tails *tails)
{
	free(tails->at);
	hash_table_deinit(&tails->index);
	*tails = (struct stack_tails){ 0 };
}
