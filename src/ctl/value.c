/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/nearest.h"
#include "../base/units.h"

enum { CHOICES = 16, WORD = 32 };

/* Splits "a|b|c"; returns the number of words. */
static size_t choices(const char *allowed, char words[CHOICES][WORD], const char *list[CHOICES])
{
	size_t count = 0;

	while (*allowed && count < CHOICES) {
		size_t length = strcspn(allowed, "|");

		snprintf(words[count], WORD, "%.*s", (int)length, allowed);
		list[count] = words[count];
		count++;
		allowed += length + (allowed[length] == '|');
	}
	return count;
}

static bool range(enum value_kind kind, const char *allowed, uint64_t *lo, uint64_t *hi)
{
	const char *dots = strstr(allowed, "..");
	char first[WORD];

	if (!dots)
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dots - allowed), allowed);
	return kind == VALUE_BYTES
		       ? units_parse_bytes(first, lo) && units_parse_bytes(dots + 2, hi)
		       : units_parse_count(first, lo) && units_parse_count(dots + 2, hi);
}

void value_describe(enum value_kind kind, const char *allowed, char *out, size_t room)
{
	char words[CHOICES][WORD];
	const char *list[CHOICES], *dots = strstr(allowed, "..");
	size_t count, at = 0;

	switch (kind) {
	case VALUE_CHOICE:
		count = choices(allowed, words, list);
		for (size_t i = 0; i < count && at < room; i++)
			at += (size_t)snprintf(out + at, room - at, "%s%s",
					       !i	       ? ""
					       : i + 1 < count ? ", "
							       : " or ",
					       list[i]);
		break;
	case VALUE_COUNT:
	case VALUE_BYTES:
		if (dots)
			snprintf(out, room, "a %s from %.*s to %s",
				 kind == VALUE_COUNT ? "number" : "size", (int)(dots - allowed),
				 allowed, dots + 2);
		else
			snprintf(out, room,
				 kind == VALUE_COUNT ? "a whole number" : "a size such as 64k");
		break;
	case VALUE_SHARE:
		snprintf(out, room, "a share such as 5%% or 0.05");
		break;
	case VALUE_BUDGET:
		snprintf(out, room, "a share such as 1%%, or a number a second such as 500/s");
		break;
	default:
		snprintf(out, room, "%s", allowed[0] ? allowed : "any text");
	}
}

/* Parses "N/s". */
static bool a_second(const char *text, uint64_t *n)
{
	size_t bytes = strlen(text);
	char number[WORD];

	if (bytes < 3 || bytes > WORD || strcmp(text + bytes - 2, "/s") != 0)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)bytes - 2, text);
	return units_parse_count(number, n) && *n > 0 && *n <= INT32_MAX;
}

bool value_parse(enum value_kind kind, const char *allowed, const char *text, uint64_t *number,
		 char *why, size_t room)
{
	char words[CHOICES][WORD];
	const char *list[CHOICES], *near;
	uint64_t n = 0, lo = 0, hi = 0;
	double share = 0;
	bool good = true;
	size_t count = 0;

	switch (kind) {
	case VALUE_CHOICE:
		count = choices(allowed, words, list);
		good = false;
		for (size_t i = 0; i < count && !good; i++) {
			good = strcmp(text, list[i]) == 0;
			n = i;
		}
		break;
	case VALUE_COUNT:
		good = units_parse_count(text, &n);
		break;
	case VALUE_BYTES:
		good = units_parse_bytes(text, &n);
		break;
	case VALUE_SHARE:
		good = units_parse_share(text, &share);
		n = (uint64_t)llround(share * 1e6);
		break;
	case VALUE_BUDGET:
		if (a_second(text, &n)) {
			n = -n;
		} else {
			good = !text[0] || (units_parse_share(text, &share) && share > 0);
			n = (uint64_t)llround(share * 1e6);
		}
		break;
	case VALUE_TIME:
		good = !text[0] || (units_parse_time(text, &n) && n);
		break;
	default:
		break;
	}
	if (good && (kind == VALUE_COUNT || kind == VALUE_BYTES) && range(kind, allowed, &lo, &hi))
		good = n >= lo && n <= hi;
	if (good) {
		*number = n;
		return true;
	}
	value_describe(kind, allowed, why, room);
	near = kind == VALUE_CHOICE ? nearest_name(text, list, count) : NULL;
	if (near) {
		size_t at = strlen(why);

		snprintf(why + at, room - at, "; the nearest is %s", near);
	}
	return false;
}
