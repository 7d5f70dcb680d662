/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned nearest_distance(const char *a, const char *b)
{
	unsigned rows[3][LONGEST + 1];
	size_t la = strnlen(a, LONGEST), lb = strnlen(b, LONGEST);

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = rows[i % 3], *above = rows[(i - 1) % 3],
			 *before = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			int x = tolower((unsigned char)a[i - 1]),
			    y = tolower((unsigned char)b[j - 1]);

			now[j] = least(least(above[j], now[j - 1]) + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
	size_t length = strlen(word);
	unsigned limit = (unsigned)(length < 6 ? 1 + length / 4 : length / 3), best = 0;
	const char *found = NULL;

	if (limit > 4)
		limit = 4;
	for (size_t i = 0; i < count; i++) {
		unsigned distance = nearest_distance(word, names[i]);

		if (distance > limit && length >= 2 && strncasecmp(word, names[i], length) == 0)
			distance = limit;
		if (distance <= limit && (!found || distance < best)) {
			found = names[i];
			best = distance;
		}
	}
	return found;
}
