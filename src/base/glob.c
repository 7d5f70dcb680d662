/* SPDX-License-Identifier: Apache-2.0 */
#include "glob.h"

#include <string.h>

/* Matches one character with a set; returns the set's end, or NULL. */
static const char *match_set(const char *set, char c)
{
	bool inside = false;

	for (set++; *set != ']'; set++) {
		if (set[1] == '-' && set[2] != ']') {
			inside = inside || (c >= set[0] && c <= set[2]);
			set += 2;
		} else {
			inside = inside || c == *set;
		}
	}
	return inside ? set + 1 : NULL;
}

/* Matches one character with the pattern's next element; returns the element's end, or NULL. */
static const char *match_one(const struct glob *glob, const char *pattern, char c)
{
	if (*pattern == '[' && glob->sets)
		return match_set(pattern, c);
	return *pattern == c || *pattern == '?' ? pattern + 1 : NULL;
}

bool glob_match(const struct glob *glob, const char *text, size_t length, struct glob_star *stars,
		size_t room)
{
	const char *pattern = glob->pattern, *end = text + length, *star = NULL, *from = NULL;
	size_t count = 0;

	for (;;) {
		const char *next;

		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			if (++count <= room)
				stars[count - 1] = (struct glob_star){ text, 0 };
			if (!*pattern)
				text = end;
			continue;
		}
		if (!*pattern && (text == end || (glob->ends && strchr(glob->ends, *text))))
			break;
		if (*pattern && text < end && (next = match_one(glob, pattern, *text))) {
			pattern = next;
			text++;
			continue;
		}
		if (!star || from >= end)
			return false;
		pattern = star;
		text = ++from;
		if (count && count <= room)
			stars[count - 1].length++;
	}
	if (star && !*star && count <= room)
		stars[count - 1].length = (size_t)(end - from);
	return true;
}

bool glob_matches(const char *pattern, const char *text)
{
	return glob_match(&(struct glob){ .pattern = pattern }, text, strlen(text), NULL, 0);
}
