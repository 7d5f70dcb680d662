/* SPDX-License-Identifier: Apache-2.0 */
/* classes.c: see classes.h. */
#define _GNU_SOURCE
#include "classes.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash_bytes.h"

void classes_deinit(struct classes *classes)
{
	for (size_t i = 0; i < classes->list.count; i++)
		free(classes->list.at[i].name);
	free(classes->list.at);
	hash_table_deinit(&classes->table);
	*classes = (struct classes){ 0 };
}

static bool same_class(const struct class *class, uint32_t module, const char *name)
{
	return class->module == module && !strcmp(class->name, name);
}

uint32_t classes_id(struct classes *classes, uint32_t module, const struct shiny_class *class,
		    const char *name)
{
	char *copy = strndup(name, class->name_bytes);
	uint64_t hash = hash_keys(hash_bytes(copy, strlen(copy)), module);
	uint32_t at = hash_table_find(&classes->table, hash, i,
				      same_class(&classes->list.at[i], module, copy));

	if (at != HASH_NONE) {
		free(copy);
		return at + 1;
	}
	at = (uint32_t)classes->list.count;
	*vec_push(&classes->list) =
		(struct class){ .module = module, .name = copy, .of = *class };
	hash_table_add(&classes->table, hash, at);
	return at + 1;
}
