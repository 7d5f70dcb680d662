/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_ROOM = 64 };

/* The slot of a text, or the empty one where it would be. */
static uint32_t *slot_of(const struct texts *t, const char *text)
{
	size_t i = XXH3_64bits(text, strlen(text)) & (t->room - 1);

	while (t->slots[i] && strcmp(t->at[t->slots[i] - 1], text) != 0)
		i = (i + 1) & (t->room - 1);
	return &t->slots[i];
}

uint32_t texts_put(struct texts *t, const char *text)
{
	uint32_t *slot;

	if (2 * (t->count + 1) > t->room) {
		t->room = t->room ? t->room * 2 : FIRST_ROOM;
		free(t->slots);
		t->slots = mem_zero(t->room, sizeof(*t->slots));
		t->at = mem_resize(t->at, t->room, sizeof(*t->at));
		for (size_t i = 0; i < t->count; i++)
			*slot_of(t, t->at[i]) = (uint32_t)i + 1;
	}
	slot = slot_of(t, text);
	if (!*slot) {
		t->at[t->count++] = mem_text(text);
		*slot = (uint32_t)t->count;
	}
	return *slot - 1;
}

void texts_deinit(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->at[i]);
	free(t->at);
	free(t->slots);
	*t = (struct texts){ 0 };
}
