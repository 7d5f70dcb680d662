/* SPDX-License-Identifier: Apache-2.0 */
#include "env_table.h"

#include <stdlib.h>
#include <string.h>

#include "../base/nearest.h"
#include "../base/text.h"

const struct env_spec env_specs[ENV_COUNT] = {
#define SHINY_ENV(name, field, type, fallback, allowed) \
	{ #name, VALUE_##type, fallback, allowed },
#include <shiny/wire/variables.def>
#undef SHINY_ENV
};

/* The variables with a former name. */
static const struct {
	const char *old;
	enum env_id id;
} renamed[] = {
#define SHINY_ENV(name, field, type, fallback, allowed)
#define SHINY_ENV_OLD(old, name) {#old, ENV_##name},
#include <shiny/wire/variables.def>
#undef SHINY_ENV
};
enum { RENAMED = sizeof(renamed) / sizeof(renamed[0]) };

#define PREFIX "SHINY_"

size_t env_complain(char *const *environment, FILE *err)
{
	const char *names[ENV_COUNT];
	size_t complaints = 0;

	for (size_t i = 0; i < ENV_COUNT; i++)
		names[i] = env_specs[i].name;
	for (; *environment; environment++) {
		size_t length = strcspn(*environment, "="), i;
		const char *value = *environment + length + ((*environment)[length] == '=');
		char name[80], why[160];
		uint64_t number;

		if (strncmp(*environment, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *environment);
		for (size_t old = 0; old < RENAMED; old++) {
			const char *now = names[renamed[old].id];
			bool both = getenv(now) != NULL;

			if (strcmp(renamed[old].old, name) != 0)
				continue;
			text_line(err,
				  both ? "shinyctl: environment: %s is ignored, as its new name %s "
					 "is set"
				       : "shinyctl: environment: %s is now called %s; the old name "
					 "is read for one version",
				  name, now);
			complaints++;
			snprintf(name, sizeof(name), "%s", now);
			if (both)
				value = getenv(now);
		}
		for (i = 0; i < ENV_COUNT && strcmp(names[i], name) != 0; i++)
			;
		if (i == ENV_COUNT) {
			const char *near = nearest_name(name, names, ENV_COUNT);

			text_line(err, "shinyctl: environment: %s is not known and is ignored%s%s",
				  name, near ? "; the nearest is " : "", near ? near : "");
			complaints++;
		} else if (!value_parse(env_specs[i].kind, env_specs[i].allowed, value, &number,
					why, sizeof(why))) {
			text_line(err, "shinyctl: environment: %s=%s: it takes %s; using %s", name,
				  value, why,
				  *env_specs[i].fallback ? env_specs[i].fallback : "none");
			complaints++;
		}
	}
	return complaints;
}

static const char *lookup(enum env_id id, uint64_t *number)
{
	const struct env_spec *spec = &env_specs[id];
	const char *value = getenv(spec->name);
	char why[160];

	for (size_t i = 0; i < RENAMED && !value; i++)
		if (renamed[i].id == id)
			value = getenv(renamed[i].old);

	if (value && value_parse(spec->kind, spec->allowed, value, number, why, sizeof(why)))
		return value;
	if (!value_parse(spec->kind, spec->allowed, spec->fallback, number, why, sizeof(why)))
		*number = 0;
	return spec->fallback;
}

const char *env_text(enum env_id id)
{
	uint64_t number = 0;

	return lookup(id, &number);
}

uint64_t env_number(enum env_id id)
{
	uint64_t number = 0;

	lookup(id, &number);
	return number;
}
