/* SPDX-License-Identifier: Apache-2.0 */
#include "help_option.h"

#include <stdio.h>
#include <string.h>

bool help_option(enum verb_id verb, const struct option_spec *spec, struct help_part *out)
{
	char term[64];

	snprintf(term, sizeof(term), "--%s", spec->name);
	return help_define(help_text("verbs", verbs[verb].name), "OPTIONS", term, out) ||
	       (spec->env >= 0 && help_variable(&env_specs[spec->env], out)) ||
	       help_define(help_text("", "options"), "OPTIONS", term, out);
}

bool help_variable(const struct env_spec *spec, struct help_part *out)
{
	return help_define(help_text("", "environment"), "ENVIRONMENT", spec->name, out);
}

/* Appends what the option or variable takes. */
static void takes(enum value_kind kind, struct option_words words, const char *variable,
		  char out[HELP_TAKES])
{
	size_t start = strlen(out), at = start;

	if (words.allowed[0] && kind != VALUE_TEXT) {
		value_describe(kind, words.allowed, out + at, HELP_TAKES - at);
		at += strlen(out + at);
	}
	if (words.fallback[0])
		at += (size_t)snprintf(out + at, HELP_TAKES - at, "%sdefault %s",
				       at > start ? "; " : "", words.fallback);
	if (variable)
		snprintf(out + at, HELP_TAKES - at, "%s%s", at > start ? "; " : "", variable);
}

void help_option_takes(enum verb_id verb, const struct option_spec *spec, char out[HELP_TAKES])
{
	struct option_words words = option_words(spec, verb);
	bool own = spec->verbs >> verb & 1;
	char asker[ASKER];

	*out = 0;
	takes(spec->kind, words, spec->env >= 0 ? env_specs[spec->env].name : NULL, out);
	for (size_t q = VERB_COUNT; q < QUESTION_COUNT; q++) {
		struct option_words other = option_words(spec, (enum verb_id)q);
		size_t at = strlen(out);

		if (questions[q].verb != verb || !(spec->verbs >> q & 1) ||
		    &option_specs[questions[q].option] == spec ||
		    (own && strcmp(other.allowed, words.allowed) == 0 &&
		     strcmp(other.fallback, words.fallback) == 0))
			continue;
		snprintf(out + at, HELP_TAKES - at, "%swith %s%s", at ? "; " : "",
			 options_asker(q, asker), own ? ": " : "");
		if (own)
			takes(spec->kind, other, NULL, out);
	}
}

void help_variable_takes(const struct env_spec *spec, char out[HELP_TAKES])
{
	*out = 0;
	takes(spec->kind, (struct option_words){ spec->allowed, spec->fallback }, NULL, out);
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
