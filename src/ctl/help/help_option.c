/* SPDX-License-Identifier: Apache-2.0 */
#include "help_option.h"

#include <stdio.h>
#include <string.h>

bool help_option(enum verb_id verb, const struct option_spec *spec, struct help_part *out)
{
	char term[64];

	snprintf(term, sizeof(term), "--%s", spec->name);
	return help_define(help_text("verbs", verbs[verb].name), "OPTIONS", term, out) ||
	       help_define(help_text("", "options"), "OPTIONS", term, out) ||
	       (spec->env >= 0 && help_variable(&env_specs[spec->env], out));
}

bool help_variable(const struct env_spec *spec, struct help_part *out)
{
	return help_define(help_text("", "environment"), "ENVIRONMENT", spec->name, out);
}

static void takes(enum value_kind kind, const char *allowed, const char *fallback,
		  const char *variable, char out[HELP_TAKES])
{
	size_t at = 0;

	*out = 0;
	if (allowed[0] && kind != VALUE_TEXT) {
		value_describe(kind, allowed, out, HELP_TAKES);
		at = strlen(out);
	}
	if (fallback[0])
		at += (size_t)snprintf(out + at, HELP_TAKES - at, "%sdefault %s", at ? "; " : "",
				       fallback);
	if (variable)
		snprintf(out + at, HELP_TAKES - at, "%s%s", at ? "; " : "", variable);
}

void help_option_takes(enum verb_id verb, const struct option_spec *spec, char out[HELP_TAKES])
{
	const struct env_spec *env = spec->env >= 0 ? &env_specs[spec->env] : NULL;
	char asker[ASKER];
	size_t with = 0, at;

	if (env)
		takes(env->kind, env->allowed, env->fallback, env->name, out);
	else
		takes(spec->kind, spec->allowed, spec->fallback, NULL, out);
	at = strlen(out);
	for (size_t q = VERB_COUNT; !(spec->verbs >> verb & 1) && q < QUESTION_COUNT; q++)
		if (questions[q].verb == verb && spec->verbs >> q & 1 &&
		    questions[q].option != (enum option_id)(spec - option_specs))
			with = q;
	if (with)
		snprintf(out + at, HELP_TAKES - at, "%swith %s", at ? "; " : "",
			 options_asker(with, asker));
}

bool help_offers(enum verb_id verb, const struct option_spec *spec)
{
	bool other = false;

	for (size_t i = 0; i < OPT_COUNT; i++)
		other |= option_specs[i].verbs >> verb & 1 &&
			 strcmp(option_specs[i].name, spec->name) == 0;
	return spec->verbs >> verb & 1 || (spec->verbs & options_questions(verb) && !other);
}

void help_variable_takes(const struct env_spec *spec, char out[HELP_TAKES])
{
	takes(spec->kind, spec->allowed, spec->fallback, NULL, out);
}

const char *help_choices(const struct option_spec *spec)
{
	return spec->env >= 0 ? env_specs[spec->env].allowed : spec->allowed;
}

bool help_statuses(enum verb_id verb, struct help_section *out)
{
	return help_section(help_text("verbs", verbs[verb].name), "EXIT STATUS", out) ||
	       help_section(help_text("", "shinyctl"), "EXIT STATUS", out);
}

bool help_status_fits(enum verb_id verb, const struct help_part *status)
{
	struct help_section own;

	return status->term[0] != '3' || (option_specs[OPT_STRICT].verbs >> verb & 1) ||
	       help_section(help_text("verbs", verbs[verb].name), "EXIT STATUS", &own);
}
