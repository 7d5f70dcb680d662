/* SPDX-License-Identifier: Apache-2.0 */
/* access_ask.c: see access_ask.h. */
#include "access_ask.h"

#include <string.h>

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

bool access_sources_read(const char *text, struct access_sources *out)
{
	struct access_sources sources = { 0 };

	if (!strcmp(text, "off")) {
		*out = sources;
		return true;
	}
	for (size_t length;; text += length + 1) {
		length = strcspn(text, ",");
		if (is_word(text, length, "watch"))
			sources.watch = true;
		else if (is_word(text, length, "pages"))
			sources.pages = true;
		else
			return false;
		if (!text[length])
			break;
	}
	*out = sources;
	return true;
}
