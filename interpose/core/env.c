/* SPDX-License-Identifier: Apache-2.0 */
#include "env.h"

struct si_env si_env;

enum type { TEXT, CHOICE, COUNT, BYTES, BUDGET, TIME };

static const struct variable {
	const char *name, *text, *allowed;
	enum type type;
	size_t at;
} variables[] = {
#define SHINY_ENV(NAME, field, TYPE, text, allowed) \
	{ #NAME, text, allowed, TYPE, offsetof(struct si_env, field) },
#include <shiny/wire/variables.def>
#undef SHINY_ENV
};
enum { VARIABLES = sizeof(variables) / sizeof(*variables), NAME_MAX_BYTES = 40 };

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* Parses digits and, with `units`, one of k m g; false if anything else follows or the value
 * overflows. */
static bool number(const char *s, size_t n, bool units, uint64_t *out)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(s[i] - '0');
	}
	if (i == 0)
		return false;
	if (units && i + 1 == n) {
		unsigned shift = s[i] == 'k' || s[i] == 'K'   ? 10
				 : s[i] == 'm' || s[i] == 'M' ? 20
				 : s[i] == 'g' || s[i] == 'G' ? 30
							      : 0;

		if (!shift || value >> (64 - shift))
			return false;
		*out = value << shift;
		return true;
	}
	*out = value;
	return i == n;
}

static bool assign(const struct variable *v, const char *value, struct si_env *out)
{
	void *field = (char *)out + v->at;
	uint64_t n = 0, low = 0, high = 0;
	uint32_t position = 0;
	const char *word = v->allowed, *end;

	switch (v->type) {
	case TEXT:
	case BUDGET:
	case TIME:
		*(const char **)field = value;
		return true;
	case CHOICE:
		for (;; word = end + 1, position++) {
			for (end = word; *end && *end != '|'; end++)
				;
			if ((size_t)(end - word) == length(value) &&
			    si_same(word, value, (size_t)(end - word))) {
				*(uint32_t *)field = position;
				return true;
			}
			if (!*end)
				return false;
		}
	case COUNT:
	case BYTES:
		for (end = word; *end != '.'; end++)
			;
		number(word, (size_t)(end - word), v->type == BYTES, &low);
		number(end + 2, length(end + 2), v->type == BYTES, &high);
		if (!number(value, length(value), v->type == BYTES, &n) || n < low || n > high)
			return false;
		if (v->type == BYTES)
			*(uint64_t *)field = n;
		else
			*(uint32_t *)field = (uint32_t)n;
		return true;
	}
	return false;
}

/* Edit distance (insert, delete, replace), the classic one-row table. */
static unsigned distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned row[NAME_MAX_BYTES + 1];

	if (a_bytes > NAME_MAX_BYTES || b_bytes > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	for (size_t j = 0; j <= b_bytes; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_bytes; j++) {
			unsigned replace = corner + (a[i - 1] != b[j - 1]);
			unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			corner = row[j];
			row[j] = replace < least ? replace : least;
		}
	}
	return row[b_bytes];
}

/* The variables that were renamed. */
static const struct {
	const char *old, *name;
} renamed[] = {
#define SHINY_ENV(name, field, type, fallback, allowed)
#define SHINY_ENV_OLD(old, name) {#old, #name},
#include <shiny/wire/variables.def>
#undef SHINY_ENV
};

static bool is_set(char *const *environment, const char *name)
{
	size_t bytes = length(name);

	for (; *environment; environment++)
		if (si_same(*environment, name, bytes) && (*environment)[bytes] == '=')
			return true;
	return false;
}

static const struct variable *variable_called(const char *name, size_t bytes)
{
	for (size_t i = 0; i < VARIABLES; i++)
		if (length(variables[i].name) == bytes && si_same(variables[i].name, name, bytes))
			return &variables[i];
	return NULL;
}

/* Returns the new name of a renamed variable, or NULL. */
static const char *new_name(const char *name, size_t bytes)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (length(renamed[i].old) == bytes && si_same(renamed[i].old, name, bytes))
			return renamed[i].name;
	return NULL;
}

static void unknown(const char *name, size_t bytes, struct si_text *notes)
{
	unsigned best = NAME_MAX_BYTES + 1;
	size_t nearest = 0;

	for (size_t i = 0; i < VARIABLES; i++) {
		unsigned d = distance(name, bytes, variables[i].name, length(variables[i].name));

		if (d < best) {
			best = d;
			nearest = i;
		}
	}
	si_text_bytes(notes, name, bytes);
	si_text_add(notes, ": no such variable, ignored; did you mean ");
	si_text_add(notes, variables[nearest].name);
	si_text_add(notes, "?\n");
}

void si_env_parse(char *const *environment, struct si_env *out, struct si_text *notes)
{
	char *const *all = environment;

	for (size_t i = 0; i < VARIABLES; i++)
		assign(&variables[i], variables[i].text, out);
	for (; environment && *environment; environment++) {
		const char *entry = *environment, *now;
		const struct variable *found;
		size_t n = 0;

		/* si_same stops at the first difference, so never reads past a short entry's end */
		if (!si_same(entry, "SHINY_", 6))
			continue;
		while (entry[n] && entry[n] != '=')
			n++;
		if (!entry[n])
			continue;
		found = variable_called(entry, n);
		now = found ? NULL : new_name(entry, n);
		if (now) {
			bool both = is_set(all, now);

			si_text_bytes(notes, entry, n);
			si_text_add(notes, both ? ": ignored, as its new name is set: "
						: ": an old name, read for now; its new name is ");
			si_text_add(notes, now);
			si_text_add(notes, "\n");
			if (both)
				continue;
			found = variable_called(now, length(now));
		}
		if (!found) {
			unknown(entry, n, notes);
		} else if (!assign(found, entry + n + 1, out)) {
			si_text_add(notes, found->name);
			si_text_add(notes, "=");
			si_text_add(notes, entry + n + 1);
			si_text_add(notes, ": not one of ");
			si_text_add(notes, found->allowed);
			si_text_add(notes, "; used ");
			si_text_add(notes, found->text);
			si_text_add(notes, "\n");
		}
	}
}

static bool glob(const char *p, const char *p_end, const char *s)
{
	const char *star = NULL, *resume = NULL;

	while (*s) {
		if (p < p_end && *p == '*') {
			star = p++;
			resume = s;
		} else if (p < p_end && *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

bool si_env_matches(const char *patterns, const char *name)
{
	for (const char *p = patterns;; p++) {
		const char *end = p;

		while (*end && *end != ',')
			end++;
		if (glob(p, end, name))
			return true;
		if (!*end)
			return false;
		p = end;
	}
}
