/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c: see stacks.h.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(struct stack_part) == (STACK_PART + 1) * sizeof(uint32_t),
	       "no padding in what is hashed");

static uint32_t *find(const struct stack_tails *tails, const struct stack_part *part)
{
	uint32_t mask = tails->slot_count - 1,
		 at = (uint32_t)XXH3_64bits(part, sizeof(*part)) & mask;

	while (tails->slots[at] &&
	       memcmp(&tails->at[tails->slots[at] - 1], part, sizeof(*part)) != 0)
		at = (at + 1) & mask;
	return &tails->slots[at];
}

static bool make_room(struct stack_tails *tails)
{
	if (tails->count == tails->room) {
		uint32_t room = tails->room ? tails->room * 2 : 64;
		struct stack_part *at = reallocarray(tails->at, room, sizeof(*at));

		if (!at)
			return false;
		tails->at = at;
		tails->room = room;
	}
	if ((uint64_t)(tails->count + 1) * 4 >= (uint64_t)tails->slot_count * 3) {
		uint32_t count = tails->slot_count ? tails->slot_count * 2 : 128,
			 *slots = calloc(count, sizeof(*slots));

		if (!slots)
			return false;
		free(tails->slots);
		tails->slots = slots;
		tails->slot_count = count;
		for (uint32_t i = 0; i < tails->count; i++)
			*find(tails, &tails->at[i]) = i + 1;
	}
	return true;
}

struct shiny_err *stack_tails_split(struct stack_tails *tails, const uint32_t *frames, size_t count,
				    struct stack_part *out)
{
	uint32_t tail = 0, *slot;

	/* from the outermost part inwards, as each names the one outside of it */
	for (size_t start = count ? (count - 1) / STACK_PART * STACK_PART : 0;;
	     start -= STACK_PART) {
		size_t length = count - start < STACK_PART ? count - start : STACK_PART;
		struct stack_part part = { .tail = tail };

		if (length)
			memcpy(part.frames, frames + start, length * sizeof(*frames));
		if (!start) {
			*out = part;
			return NULL;
		}
		if (!make_room(tails))
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		slot = find(tails, &part);
		if (!*slot) {
			tails->at[tails->count++] = part;
			*slot = tails->count;
		}
		tail = *slot;
	}
}

void stack_tails_deinit(struct stack_tails *tails)
{
	free(tails->at);
	free(tails->slots);
	*tails = (struct stack_tails){ 0 };
}
