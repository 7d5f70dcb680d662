/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c: see kept.h. Entries are so few that a list is enough. */
#include "kept.h"

#include <stdlib.h>

#include "../base/mem.h"

struct kept {
	struct kept *next;
	const void *key;
	void *value;
	void (*destroy)(void *);
};

void *kept_find(const struct kept *kept, const void *key)
{
	for (; kept; kept = kept->next)
		if (kept->key == key)
			return kept->value;
	return NULL;
}

struct kept *kept_add(struct kept *kept, const void *key, void *value, void (*destroy)(void *))
{
	struct kept *k = mem_alloc(sizeof(*k));

	*k = (struct kept){ kept, key, value, destroy };
	return k;
}

void kept_free(struct kept *k)
{
	while (k) {
		struct kept *next = k->next;

		k->destroy(k->value);
		free(k);
		k = next;
	}
}
