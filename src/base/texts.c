/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c: see texts.h. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "hash_bytes.h"
#include "mem.h"

uint32_t texts_put(struct texts *texts, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint32_t at = hash_table_find(&texts->index, hash, i, strcmp(texts->at[i], text) == 0);

	if (at == HASH_NONE) {
		at = (uint32_t)texts->count;
		*vec_push(texts) = mem_text(text);
		hash_table_add(&texts->index, hash, at);
	}
	return at;
}

void texts_deinit(struct texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->at[i]);
	free(texts->at);
	hash_table_deinit(&texts->index);
	*texts = (struct texts){ 0 };
}
