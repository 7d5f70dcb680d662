/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_names.c: see symbol_names.h. */
#include "symbol_names.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u; /* FNV-1a: names are short, and this isn't the hot path */

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash ^ hash >> 15;
}

static bool grow(struct names *names)
{
	size_t count = names->bucket_count ? names->bucket_count * 2 : 1024;
	struct symbol_name **buckets = calloc(count, sizeof(*buckets));

	if (!buckets)
		return names->bucket_count != 0;
	for (size_t i = 0; i < names->bucket_count; i++)
		for (struct symbol_name *name = names->buckets[i], *next; name; name = next) {
			next = name->next;
			name->next = buckets[name->hash & (count - 1)];
			buckets[name->hash & (count - 1)] = name;
		}
	free(names->buckets);
	names->buckets = buckets;
	names->bucket_count = count;
	return true;
}

void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->bucket_count; i++)
		for (struct symbol_name *name = names->buckets[i], *next; name; name = next) {
			next = name->next;
			free(name);
		}
	free(names->buckets);
	memset(names, 0, sizeof(*names));
}

/* The one entry with this text; NULL without memory. */
static struct symbol_name *names_get(struct names *names, const char *text)
{
	uint32_t hash = hash_of(text);

	if (names->bucket_count)
		for (struct symbol_name *name = names->buckets[hash & (names->bucket_count - 1)];
		     name; name = name->next)
			if (name->hash == hash && !strcmp(name->text, text))
				return name;
	if (names->count >= names->bucket_count * 2 && !grow(names))
		return NULL;

	size_t bytes = strlen(text) + 1;
	struct symbol_name *name = malloc(sizeof(*name) + bytes);

	if (!name)
		return NULL;
	memcpy(name->text, text, bytes);
	name->hash = hash;
	name->demangled = NULL;
	name->next = names->buckets[hash & (names->bucket_count - 1)];
	names->buckets[hash & (names->bucket_count - 1)] = name;
	names->count++;
	return name;
}

const char *names_text(struct names *names, const char *text)
{
	struct symbol_name *name = text ? names_get(names, text) : NULL;

	return name ? name->text : NULL;
}

const char *names_demangled(struct names *names, const char *text)
{
	struct symbol_name *name = text ? names_get(names, text) : NULL;

	if (!name)
		return NULL;
	if (!name->demangled) {
		char *readable = demangle_symbol(name->text);

		name->demangled = readable ? names_text(names, readable) : NULL;
		if (!name->demangled)
			name->demangled = name->text;
		free(readable);
	}
	return name->demangled;
}
