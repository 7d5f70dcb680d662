/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.c: see intern.h.
 */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint32_t *find(const struct intern *table, const char *string)
{
	uint32_t mask = table->slot_count - 1,
		 at = (uint32_t)XXH3_64bits(string, strlen(string)) & mask;

	while (table->slots[at] && strcmp(table->strings[table->slots[at] - 1], string) != 0)
		at = (at + 1) & mask;
	return &table->slots[at];
}

static bool grow(struct intern *table)
{
	if (table->count == table->room) {
		uint32_t room = table->room ? table->room * 2 : 64;
		char **strings = reallocarray(table->strings, room, sizeof(*strings));

		if (!strings)
			return false;
		table->strings = strings;
		table->room = room;
	}
	if ((uint64_t)(table->count + 1) * 4 >= (uint64_t)table->slot_count * 3) {
		uint32_t count = table->slot_count ? table->slot_count * 2 : 256,
			 *slots = calloc(count, sizeof(*slots));

		if (!slots)
			return false;
		free(table->slots);
		table->slots = slots;
		table->slot_count = count;
		for (uint32_t i = 0; i < table->count; i++)
			*find(table, table->strings[i]) = i + 1;
	}
	return true;
}

struct shiny_err *intern_get(struct intern *table, const char *string, uint32_t *id, bool *is_new)
{
	uint32_t *slot;
	char *copy;

	if (!grow(table))
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	slot = find(table, string);
	*is_new = *slot == 0;
	if (*is_new) {
		copy = strdup(string);
		if (!copy)
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		table->strings[table->count++] = copy;
		*slot = table->count;
	}
	*id = *slot;
	return NULL;
}

void intern_deinit(struct intern *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		free(table->strings[i]);
	free(table->strings);
	free(table->slots);
	*table = (struct intern){ 0 };
}
