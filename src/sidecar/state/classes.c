/* SPDX-License-Identifier: Apache-2.0 */
/* classes.c: see classes.h. */
#define _GNU_SOURCE
#include "classes.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void classes_deinit(struct classes *classes)
{
	for (size_t i = 0; i < classes->list.count; i++)
		free(classes->list.at[i].name);
	free(classes->list.at);
	free(classes->slots);
	*classes = (struct classes){ 0 };
}

static uint32_t *slot_of(const struct classes *classes, uint32_t module, const char *name)
{
	size_t i = XXH3_64bits_withSeed(name, strlen(name), module) & (classes->room - 1);

	for (; classes->slots[i]; i = (i + 1) & (classes->room - 1)) {
		const struct class *c = &classes->list.at[classes->slots[i] - 1];

		if (c->module == module && !strcmp(c->name, name))
			break;
	}
	return &classes->slots[i];
}

uint32_t classes_id(struct classes *classes, uint32_t module, const struct shiny_class *class,
		    const char *name)
{
	char *copy = strndup(name, class->name_bytes);
	uint32_t *slot;

	if ((classes->list.count + 1) * 2 > classes->room) {
		classes->room = classes->room ? classes->room * 2 : 64;
		free(classes->slots);
		classes->slots = mem_zero(classes->room, sizeof(*classes->slots));
		for (size_t i = 0; i < classes->list.count; i++)
			*slot_of(classes, classes->list.at[i].module, classes->list.at[i].name) = (uint32_t)i + 1;
	}
	slot = slot_of(classes, module, copy);
	if (*slot) {
		free(copy);
	} else {
		*vec_push(&classes->list) = (struct class){ .module = module, .name = copy, .of = *class };
		*slot = (uint32_t)classes->list.count;
	}
	return *slot;
}
