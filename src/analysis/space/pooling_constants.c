/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pooling_constants.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/units.h"
#include "../query/range_map.h"

const struct pooling_constant pooling_constant_list[POOLING_CONSTANTS] = {
	{ "alloc", 150, offsetof(struct pooling_constants, alloc) },
	{ "free", 100, offsetof(struct pooling_constants, free) },
	{ "slow", 2750, offsetof(struct pooling_constants, slow) },
	{ "ctor", 300, offsetof(struct pooling_constants, ctor) },
	{ "dtor", 200, offsetof(struct pooling_constants, dtor) },
	{ "reuse", 0, offsetof(struct pooling_constants, reuse) },
	{ "chunk", 65536, offsetof(struct pooling_constants, chunk) },
};

uint64_t pooling_constant_value(const struct pooling_constant *constant,
				const struct pooling_constants *constants)
{
	return *(const uint64_t *)((const char *)constants + constant->offset);
}

static const struct pooling_constant *constant_of(const char *name, size_t length)
{
	for (size_t i = 0; i < POOLING_CONSTANTS; i++)
		if (strlen(pooling_constant_list[i].name) == length &&
		    strncmp(pooling_constant_list[i].name, name, length) == 0)
			return &pooling_constant_list[i];
	return NULL;
}

static struct shiny_err *set_constant(const char *word, struct pooling_constants *constants)
{
	const char *sign = strchr(word, '=');
	const struct pooling_constant *constant =
		sign ? constant_of(word, (size_t)(sign - word)) : NULL;
	bool is_chunk = constant && constant->offset == offsetof(struct pooling_constants, chunk);
	uint64_t value;

	if (!constant)
		return shiny_err(SHINY_ERR_USAGE,
				 "--constants: '%s': one of alloc, free, slow, ctor, dtor, reuse, "
				 "chunk, with =NUMBER, is needed",
				 word);
	if (is_chunk ? !units_parse_bytes(sign + 1, &value) || value < PAGE_BYTES ||
			       value > UINT64_C(1) << 30
		     : !units_parse_count(sign + 1, &value) || value > 1000000)
		return shiny_err(SHINY_ERR_USAGE, "--constants: %s: %s is needed", word,
				 is_chunk ? "a size from 4k to 1g"
					  : "a number of cycles from 0 to 1,000,000");
	if (is_chunk)
		value = (value + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	*(uint64_t *)((char *)constants + constant->offset) = value;
	return NULL;
}

struct shiny_err *pooling_parse(const char *text, struct pooling_constants *out)
{
	struct pooling_constants constants;
	struct shiny_err *err = NULL;
	char *words = mem_text(text ? text : ""), *rest = words, *word;

	for (size_t i = 0; i < POOLING_CONSTANTS; i++)
		*(uint64_t *)((char *)&constants + pooling_constant_list[i].offset) =
			pooling_constant_list[i].usual;
	while (!err && (word = strsep(&rest, ",")))
		if (*word)
			err = set_constant(word, &constants);
	free(words);
	if (!err)
		*out = constants;
	return err;
}
