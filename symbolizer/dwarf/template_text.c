/* SPDX-License-Identifier: Apache-2.0 */
/* template_text.c: see template_text.h. */
#include "template_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"
#include "die_normalize.h"

/* Returns the text of argument number `index`, which ends at `*end`; NULL: there is none. `*count`
 * is the number of arguments passed on the way. */
static const char *argument_at(const char *name, unsigned index, const char **end, unsigned *count)
{
	const char *at = name + die_bare_length(name), *start;
	int depth = 0;

	*count = 0;
	if (!*at)
		return NULL;
	for (start = at + 1; *at; at++) {
		if (*at == '\'' && at[1] && at[2] == '\'') { /* ',' */
			at += 2;
			continue;
		}
		depth += strchr("<({[", *at) ? 1 : strchr(">)}]", *at) ? -1 : 0;
		if ((*at == ',' && depth == 1) || !depth) {
			*end = at;
			if ((*count)++ == index)
				return start;
			start = at + 1;
			if (!depth)
				break;
		}
	}
	return NULL;
}

unsigned template_text_count(const char *name)
{
	const char *end;
	unsigned count;

	argument_at(name, UINT32_MAX, &end, &count);
	return count;
}

bool template_text_write(const char *name, unsigned index, struct name_text *out)
{
	const char *end, *start;
	unsigned count;
	char *copy;

	start = argument_at(name, index, &end, &count);
	if (!start)
		return false;
	copy = mem_format("%.*s", (int)(end - start), start);
	die_normalize_text(copy, out);
	free(copy);
	return true;
}
