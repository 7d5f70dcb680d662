/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_names.c: see symbol_names.h. */
#include "symbol_names.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash_bytes.h"
#include "demangle.h"

void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->all.count; i++)
		free(names->all.at[i]);
	free(names->all.at);
	hash_table_deinit(&names->table);
	*names = (struct names){ 0 };
}

/* Returns the one entry with this text. */
static struct symbol_name *names_get(struct names *names, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint32_t at =
		hash_table_find(&names->table, hash, i, !strcmp(names->all.at[i]->text, text));
	size_t bytes;
	struct symbol_name *name;

	if (at != HASH_NONE)
		return names->all.at[at];
	bytes = strlen(text) + 1;
	name = mem_alloc(sizeof(*name) + bytes);
	name->demangled = NULL;
	memcpy(name->text, text, bytes);
	hash_table_add(&names->table, hash, (uint32_t)names->all.count);
	*vec_push(&names->all) = name;
	return name;
}

const char *names_text(struct names *names, const char *text)
{
	return text ? names_get(names, text)->text : NULL;
}

const char *names_demangled(struct names *names, const char *text)
{
	struct symbol_name *name = text ? names_get(names, text) : NULL;

	if (!name)
		return NULL;
	if (!name->demangled) {
		char *readable = demangle_symbol(name->text);

		name->demangled = readable ? names_text(names, readable) : name->text;
		free(readable);
	}
	return name->demangled;
}
