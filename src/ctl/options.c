/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../base/nearest.h"

#define ON(verb) (UINT64_C(1) << VERB_##verb)
/* every verb with the input SESSION */
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) \
	| (uint64_t)(VERB_READS_##input == VERB_READS_SESSION) << VERB_##ID
enum { READS = UINT64_C(0)
#include "verbs.def"
};
#undef SHINY_VERB
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group)
#define SHINY_ROWS(ID, name, operands, least, most, rest, input, group) | UINT64_C(1) << VERB_##ID
enum { ROWS = UINT64_C(0)
#include "verbs.def"
};
#undef SHINY_VERB
_Static_assert(VERB_COUNT <= 64, "option_spec.verbs has a bit for each");

/* columns of variables.def as constants, for initializers */
#define SHINY_ENV(variable, field, type, def, words) enum { KIND_##variable = VALUE_##type };
#include <shiny/wire/variables.def>
#undef SHINY_ENV

const struct option_spec option_specs[OPT_COUNT] = {
#define CTL_OPTION(id, on, text, short, type, value, words, def) \
	{ .verbs = (on),                                         \
	  .name = text,                                          \
	  .letter = short,                                       \
	  .kind = VALUE_##type,                                  \
	  .arg = value,                                          \
	  .allowed = words,                                      \
	  .fallback = def,                                       \
	  .env = -1 },
#define CTL_ENV_OPTION(id, on, text, short, value, variable) \
	{ .verbs = (on),                                     \
	  .name = text,                                      \
	  .letter = short,                                   \
	  .kind = (enum value_kind)KIND_##variable,          \
	  .arg = value,                                      \
	  .env = ENV_##variable },
#include "options.def"
#undef CTL_OPTION
#undef CTL_ENV_OPTION
};

static const char *allowed_of(const struct option_spec *spec)
{
	return spec->env >= 0 ? env_specs[spec->env].allowed : spec->allowed;
}

static struct shiny_err *unknown(enum verb_id verb, const char *word)
{
	const char *names[OPT_COUNT + 1], *near;
	char name[64];
	size_t count = 0;

	for (size_t i = 0; i < OPT_COUNT; i++)
		if (option_specs[i].verbs >> verb & 1)
			names[count++] = option_specs[i].name;
	names[count++] = "help";
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	near = nearest_name(name + strspn(name, "-"), names, count);
	if (near)
		return shiny_err(SHINY_ERR_USAGE, "%s: unknown option %s; the nearest is --%s",
				 verbs[verb].name, name, near);
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "%s: unknown option %s",
					  verbs[verb].name, name),
				"`shinyctl help %s` lists its options", verbs[verb].name);
}

static struct shiny_err *set(struct options *o, size_t id, const char *value)
{
	const struct option_spec *spec = &option_specs[id];
	char why[160];
	uint64_t number = 1;

	if (spec->kind != VALUE_FLAG &&
	    !value_parse(spec->kind, allowed_of(spec), value, &number, why, sizeof(why)))
		return shiny_err(SHINY_ERR_USAGE, "%s: --%s '%s': it takes %s", verbs[o->verb].name,
				 spec->name, value, why);
	if (id == OPT_SYMBOLS || id == OPT_COMPONENTS) {
		const char **list = id == OPT_SYMBOLS ? o->symbols : o->components;
		size_t *count = id == OPT_SYMBOLS ? &o->symbol_count : &o->component_count;

		if (*count == OPTIONS_LISTED)
			return shiny_err(SHINY_ERR_USAGE, "%s: --%s is given more than %d times",
					 verbs[o->verb].name, spec->name, OPTIONS_LISTED);
		list[(*count)++] = value;
	}
	o->given[id] = true;
	o->text[id] = value;
	o->number[id] = number;
	return NULL;
}

static struct shiny_err *need_value(enum verb_id verb, const struct option_spec *spec)
{
	char why[160];

	value_describe(spec->kind, allowed_of(spec), why, sizeof(why));
	return shiny_err(SHINY_ERR_USAGE, "%s: --%s needs a value: %s", verbs[verb].name,
			 spec->name, why);
}

/* Parses one `--name[=value]`; `next`: the following argument or NULL, *taken: it was the value. */
static struct shiny_err *parse_long(struct options *o, const char *word, const char *next,
				    bool *taken)
{
	size_t length = strcspn(word + 2, "=");
	const char *value = word[2 + length] ? word + 3 + length : NULL;

	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (!(spec->verbs >> o->verb & 1) || strlen(spec->name) != length ||
		    strncmp(spec->name, word + 2, length) != 0)
			continue;
		if (spec->kind == VALUE_FLAG) {
			if (value)
				return shiny_err(SHINY_ERR_USAGE, "%s: --%s takes no value",
						 verbs[o->verb].name, spec->name);
			return set(o, i, "");
		}
		if (!value) {
			if (!next)
				return need_value(o->verb, spec);
			*taken = true;
			value = next;
		}
		return set(o, i, value);
	}
	return unknown(o->verb, word);
}

static struct shiny_err *parse_short(struct options *o, const char *word, const char *next,
				     bool *taken)
{
	for (const char *p = word + 1; *p; p++) {
		struct shiny_err *err;
		size_t i;

		if (*p == 'h') {
			o->help = true;
			continue;
		}
		for (i = 0; i < OPT_COUNT; i++)
			if ((option_specs[i].verbs >> o->verb & 1) && option_specs[i].letter == *p)
				break;
		if (i == OPT_COUNT) {
			char name[3] = {'-', *p, 0};

			return unknown(o->verb, name);
		}
		if (option_specs[i].kind == VALUE_FLAG) {
			err = set(o, i, "");
			if (err)
				return err;
			continue;
		}
		if (p[1])
			return set(o, i, p + 1);
		if (!next)
			return need_value(o->verb, &option_specs[i]);
		*taken = true;
		return set(o, i, next);
	}
	return NULL;
}

struct shiny_err *options_parse(enum verb_id verb, int argc, char **argv, struct options *out)
{
	struct options o = {.verb = verb, .operands = argv};
	const struct verb *v = &verbs[verb];
	struct shiny_err *err;
	int i;

	for (size_t id = 0; id < OPT_COUNT; id++) {
		const struct option_spec *spec = &option_specs[id];
		char why[160];

		if (spec->env >= 0 || !(spec->verbs >> verb & 1) || !spec->fallback[0])
			continue;
		o.text[id] = spec->fallback;
		if (!value_parse(spec->kind, spec->allowed, spec->fallback, &o.number[id], why,
				 sizeof(why)))
			return shiny_err(SHINY_ERR_OTHER,
					 "options.def: default of --%s: it takes %s", spec->name,
					 why);
	}
	for (i = 0; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool taken = false;

		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (v->rest_is_program)
				break;
			argv[o.operand_count++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--help") == 0)
			o.help = true;
		else if (argv[i][1] == '-' && (err = parse_long(&o, argv[i], next, &taken)))
			return err;
		else if (argv[i][1] != '-' && (err = parse_short(&o, argv[i], next, &taken)))
			return err;
		i += taken;
		if (o.help)
			break;
	}
	for (; i < argc && !o.help; i++)
		argv[o.operand_count++] = argv[i];
	argv[o.operand_count] = NULL;
	if (!o.help && o.operand_count < v->least)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "%s: it needs %s", v->name,
						  v->operands),
					"usage: shinyctl %s %s", v->name, v->operands);
	if (!o.help && !v->rest_is_program && o.operand_count > v->most)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
						  "%s: '%s' is one argument too many", v->name,
						  argv[v->most]),
					"usage: shinyctl %s %s", v->name, v->operands);
	*out = o;
	return NULL;
}
