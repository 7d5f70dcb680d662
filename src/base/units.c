/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit_name {
	const char *name;
	double factor;
};

/* Parses digits[.digits] and one of `units`; exact if there is no fraction. */
static bool parse(const char *text, const struct unit_name *units, uint64_t *out)
{
	uint64_t whole = 0;
	double fraction = 0, place = 0.1;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p) || (*p == ',' && isdigit((unsigned char)p[1])); p++) {
		if (*p == ',')
			continue;
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return false;
	}
	if (*p == '.') {
		if (!isdigit((unsigned char)*++p))
			return false;
		for (; isdigit((unsigned char)*p); p++, place /= 10)
			fraction += (*p - '0') * place;
	}
	if (*p == ' ')
		p++;
	for (; units->name; units++) {
		uint64_t factor = (uint64_t)units->factor, more;

		if (strcasecmp(p, units->name) != 0)
			continue;
		if (__builtin_mul_overflow(whole, factor, &whole))
			return false;
		more = (uint64_t)llround(fraction * units->factor);
		return !__builtin_add_overflow(whole, more, out);
	}
	return false;
}

bool units_parse_bytes(const char *text, uint64_t *bytes)
{
	static const struct unit_name units[] = {
		{ "", 1 },	   { "b", 1 },	      { "k", 0x1p10 },	 { "kb", 0x1p10 },
		{ "kib", 0x1p10 }, { "m", 0x1p20 },   { "mb", 0x1p20 },	 { "mib", 0x1p20 },
		{ "g", 0x1p30 },   { "gb", 0x1p30 },  { "gib", 0x1p30 }, { "t", 0x1p40 },
		{ "tb", 0x1p40 },  { "tib", 0x1p40 }, { NULL, 0 },
	};

	return parse(text, units, bytes);
}

bool units_parse_time(const char *text, uint64_t *ns)
{
	static const struct unit_name units[] = {
		{ "", 1e9 },  { "ns", 1 },     { "us", 1e3 }, { "\xc2\xb5s", 1e3 }, { "ms", 1e6 },
		{ "s", 1e9 }, { "min", 60e9 }, { "m", 60e9 }, { "h", 3600e9 },	    { NULL, 0 },
	};

	return parse(text, units, ns);
}

bool units_parse_count(const char *text, uint64_t *count)
{
	static const struct unit_name units[] = {
		{ "", 1 }, { "k", 1e3 }, { "m", 1e6 }, { "g", 1e9 }, { NULL, 0 }
	};

	return strchr(text, '.') && isdigit((unsigned char)text[strlen(text) - 1])
		       ? false
		       : parse(text, units, count);
}

bool units_parse_share(const char *text, double *share)
{
	char *end;
	double value;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	value = strtod(text, &end);
	if (end == text)
		return false;
	while (*end == ' ')
		end++;
	if (*end == '%' && !end[1])
		value /= 100;
	else if (*end)
		return false;
	if (!(value >= 0 && value <= 1))
		return false;
	*share = value;
	return true;
}

char *units_count(char out[UNITS_TEXT], uint64_t n)
{
	char digits[24];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

/* Returns `value` or, where it is a tie at `digits` behind the point, the next larger number of so
 * many digits. printf rounds an exact tie to the even digit, JavaScript's toFixed rounds it up; the
 * page that `shinyctl html` writes shows the same numbers, so ties go up here, too. */
static double ties_up(double value, int digits)
{
	double scale = digits == 2 ? 100 : digits == 1 ? 10 : 1, scaled = value * scale,
	       below = floor(scaled);
	bool exact = fma(value, scale, -scaled) == 0;

	return exact && scaled - below == 0.5 ? (below + 1) / scale : value;
}

/* three significant digits */
static char *three(char out[UNITS_TEXT], double value, const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out, UNITS_TEXT, "%.*f%s%s", digits, ties_up(value, digits), *unit ? " " : "",
		 unit);
	return out;
}

char *units_noun(char out[UNITS_NOUN], uint64_t n, const char *noun)
{
	size_t length = strlen(noun);
	char last = length ? noun[length - 1] : 0, before = length > 1 ? noun[length - 2] : 0;

	if (n == 1)
		snprintf(out, UNITS_NOUN, "1 %s", noun);
	else if (last == 'y' && !strchr("aeiou", before))
		snprintf(out, UNITS_NOUN, "%s %.*sies", units_count(UNITS_BUF, n), (int)length - 1,
			 noun);
	else
		snprintf(out, UNITS_NOUN, "%s %s%s", units_count(UNITS_BUF, n), noun,
			 last == 's' || last == 'x' ||
					 (last == 'h' && (before == 's' || before == 'c'))
				 ? "es"
				 : "s");
	return out;
}

char *units_bytes(char out[UNITS_TEXT], uint64_t bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	int i = 0;

	if (bytes < 1024) {
		snprintf(out, UNITS_TEXT, "%" PRIu64 " B", bytes);
		return out;
	}
	for (; value >= 999.5 && i < 5; i++)
		value /= 1024;
	return three(out, value, names[i]);
}

char *units_time(char out[UNITS_TEXT], uint64_t ns)
{
	if (ns < 1000)
		snprintf(out, UNITS_TEXT, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		three(out, (double)ns / 1e3, "\xc2\xb5s");
	else if (ns < 999500000)
		three(out, (double)ns / 1e6, "ms");
	else if (ns < UINT64_C(60) * 1000000000)
		three(out, (double)ns / 1e9, "s");
	else if (ns < UINT64_C(3600) * 1000000000)
		snprintf(out, UNITS_TEXT, "%" PRIu64 " min %02" PRIu64 " s",
			 ns / UINT64_C(60000000000), ns / 1000000000 % 60);
	else
		snprintf(out, UNITS_TEXT, "%" PRIu64 " h %02" PRIu64 " min",
			 ns / UINT64_C(3600000000000), ns / UINT64_C(60000000000) % 60);
	return out;
}

char *units_share(char out[UNITS_TEXT], double part, double all)
{
	double percent = all > 0 ? part * 100 / all : 0;

	if (!(all > 0))
		*out = 0;
	else if (percent > 0 && percent < 0.05)
		snprintf(out, UNITS_TEXT, "<0.1 %%");
	else
		snprintf(out, UNITS_TEXT, "%.1f %%", ties_up(percent, 1));
	return out;
}

char *units_short(char out[UNITS_TEXT], double n)
{
	if (n < 999.5)
		return three(out, n, "");
	if (n < 999.5e3)
		return three(out, n / 1e3, "k");
	if (n < 999.5e6)
		return three(out, n / 1e6, "M");
	return three(out, n / 1e9, "G");
}
