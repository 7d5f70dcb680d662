/* SPDX-License-Identifier: Apache-2.0 */
#include "bars.h"

#include <string.h>

#include "mem.h"

enum { LEVELS = 8, BYTES = 3 /* a bar in UTF-8, U+2581 to U+2588 */ };

char *bars_text(const uint64_t *values, size_t count, size_t columns)
{
	size_t shown = count < columns ? count : columns, at = 0;
	char *out = mem_alloc(shown * BYTES + 1);
	uint64_t most = 1;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	for (size_t i = 0; i < shown; i++) {
		uint64_t value = 0;
		unsigned level;

		for (size_t k = i * count / shown; k < (i + 1) * count / shown; k++)
			value = values[k] > value ? values[k] : value;
		/* the smallest value above 0 still has a bar */
		level = (unsigned)((double)value / (double)most * LEVELS + 0.9999);
		level = level > LEVELS ? LEVELS : level;
		if (!value) {
			out[at++] = ' ';
			continue;
		}
		memcpy(out + at,
		       (const char[]){ (char)0xe2, (char)0x96, (char)(0x80 + (level ? level : 1)) },
		       BYTES);
		at += BYTES;
	}
	out[at] = 0;
	return out;
}
