/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/nearest.h"

#define ON(verb) (UINT64_C(1) << VERB_##verb)
/* every verb and question with the input SESSION */
#define IF_SESSION(ID, input) | (uint64_t)(VERB_READS_##input == VERB_READS_SESSION) << VERB_##ID
#define SHINY_VERB(ID, name, operands, least, most, rest, input, group) IF_SESSION(ID, input)
#define SHINY_BODY(ID, body, verb, document, input) IF_SESSION(ID, input)
enum { READS = UINT64_C(0)
#include "verbs.def"
};
#define SHINY_ROWS(ID, name, operands, least, most, rest, input, group) | ON(ID)
#define SHINY_BODY(ID, body, verb, document, input) IF_SESSION(ID, input)
enum { ROWS = UINT64_C(0)
#include "verbs.def"
};
_Static_assert(QUESTION_COUNT <= 64, "option_spec.verbs has a bit for each");

const struct question questions[QUESTION_COUNT] = {
#define SHINY_VERB(ID, word, operands, least, most, rest, input, group) \
	[VERB_##ID] = { .verb = VERB_##ID, .option = OPT_COUNT, .document = #word },
#define SHINY_BODY(ID, body, of, name, input) \
	[VERB_##ID] = { .verb = VERB_##of, .option = OPT_##ID, .document = name },
#define SHINY_WORD(ID, word, of, next, all)                                                \
	[VERB_##ID] = { .verb = VERB_##of, .option = OPT_COUNT, .document = #word,         \
			.operand = next, .count = all },
#include "verbs.def"
};

char *options_asker(size_t question, char out[ASKER])
{
	const struct question *q = &questions[question];

	if (q->operand)
		snprintf(out, ASKER, "%s", q->document);
	else
		snprintf(out, ASKER, "--%s", option_specs[q->option].name);
	return out;
}

/* all that have words for the option in by.def */
#define CTL_WORDS(option, ID, words, def) | (uint64_t)(OPT_##option == OPT_BY) << VERB_##ID
enum { WORDS_BY = UINT64_C(0)
#include "by.def"
};
#define CTL_WORDS(option, ID, words, def) | (uint64_t)(OPT_##option == OPT_SORT) << VERB_##ID
enum { WORDS_SORT = UINT64_C(0)
#include "by.def"
};

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

const struct dimension_name dimension_names[DIMENSIONS] = {
#define CTL_DIMENSION(ID, text, heading) { .word = text, .title = heading },
#include "by.def"
};

struct option_words option_words(const struct option_spec *spec, enum verb_id question)
{
	static const struct {
		enum option_id option;
		enum verb_id question;
		struct option_words words;
	} own[] = {
#define CTL_WORDS(option, ID, words, def) { OPT_##option, VERB_##ID, { words, def } },
#include "by.def"
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (&option_specs[own[i].option] == spec && own[i].question == question)
			return own[i].words;
	if (spec->env < 0)
		return (struct option_words){ spec->allowed, spec->fallback };
	return (struct option_words){ env_specs[spec->env].allowed, env_specs[spec->env].fallback };
}

/* Returns the dimension of this name; DIMENSIONS: there is none. */
static enum dimension find_dimension(const char *word)
{
	size_t i = 0;

	while (i < DIMENSIONS && strcmp(word, dimension_names[i].word) != 0)
		i++;
	return (enum dimension)i;
}

/* Returns the error for a dimension that has no meaning for the question. */
static struct shiny_err *no_rows_by(const struct options *o, enum dimension by, const char *has)
{
	bool own = o->question == o->verb;
	char words[160], asker[ASKER];
	size_t at = 0;

	for (; *has && at + 2 < sizeof(words); has++) {
		words[at++] = *has == '|' ? ',' : *has;
		if (*has == '|')
			words[at++] = ' ';
	}
	words[at] = 0;
	return shiny_err(SHINY_ERR_USAGE, "%s%s%s has no rows by %s; it has: %s",
			 verbs[o->verb].name, own ? "" : " ",
			 own ? "" : options_asker(o->question, asker), dimension_names[by].word,
			 words);
}

uint64_t options_questions(enum verb_id verb)
{
	uint64_t all = 0;

	for (size_t q = 0; q < QUESTION_COUNT; q++)
		all |= (uint64_t)(questions[q].verb == verb) << q;
	return all;
}

/* Returns the option `--name` or `--name=value` of one of these verbs; OPT_COUNT: there is none. */
static enum option_id find_long(uint64_t asked, const char *word)
{
	size_t i = 0, length = strcspn(word + 2, "=");

	while (i < OPT_COUNT &&
	       (!(option_specs[i].verbs & asked) || strlen(option_specs[i].name) != length ||
		strncmp(option_specs[i].name, word + 2, length) != 0))
		i++;
	return (enum option_id)i;
}

static enum option_id find_short(uint64_t asked, char letter)
{
	size_t i = 0;

	while (i < OPT_COUNT &&
	       (!(option_specs[i].verbs & asked) || option_specs[i].letter != letter))
		i++;
	return (enum option_id)i;
}

/* True if the value of the option, or of the last letter, is the next argument. */
static bool takes_next(uint64_t asked, const char *word)
{
	enum option_id id = word[1] == '-' ? find_long(asked, word) : OPT_COUNT;

	if (word[1] == '-')
		return id < OPT_COUNT && option_specs[id].kind != VALUE_FLAG && !strchr(word, '=');
	for (word++; *word; word++) {
		id = find_short(asked, *word);
		if (id < OPT_COUNT && option_specs[id].kind != VALUE_FLAG)
			return !word[1];
	}
	return false;
}

/* Returns the question of the first option or word that asks one, else the verb's own. */
static enum verb_id question_of(enum verb_id verb, int argc, char **argv)
{
	uint64_t asked = options_questions(verb);
	size_t operands = 0;
	bool ended = false;

	for (int i = 0; i < argc; i++) {
		bool is_option = !ended && argv[i][0] == '-' && argv[i][1];
		enum option_id id = !is_option		? OPT_COUNT
				    : argv[i][1] == '-' ? find_long(asked, argv[i])
							: find_short(asked, argv[i][1]);

		if (!ended && strcmp(argv[i], "--") == 0) {
			ended = true;
			continue;
		}
		operands += !is_option;
		for (size_t q = VERB_COUNT; q < QUESTION_COUNT; q++)
			if (questions[q].verb == verb &&
			    (questions[q].operand ? !is_option && operands == 2 &&
							    !strcmp(argv[i], questions[q].document)
						  : is_option && questions[q].option == id))
				return (enum verb_id)q;
		if (is_option)
			i += takes_next(asked, argv[i]);
	}
	return verb;
}

/* Returns the error for an option of another question of the verb; NULL: it is of none. */
static struct shiny_err *misplaced(const struct options *o, const char *word)
{
	uint64_t asked = options_questions(o->verb);
	enum option_id id = word[1] == '-' ? find_long(asked, word) : find_short(asked, word[1]);
	char asker[ASKER];

	if (id == OPT_COUNT)
		return NULL;
	if (o->question != o->verb)
		return shiny_err(SHINY_ERR_USAGE, "%s: --%s does not go with %s",
				 verbs[o->verb].name, option_specs[id].name,
				 options_asker(o->question, asker));
	for (size_t q = VERB_COUNT; q < QUESTION_COUNT; q++)
		if (option_specs[id].verbs & asked & UINT64_C(1) << q)
			return shiny_err(SHINY_ERR_USAGE, "%s: --%s needs %s", verbs[o->verb].name,
					 option_specs[id].name, options_asker(q, asker));
	return NULL;
}

/* Returns the error for a long option that only other verbs have; NULL: none has it. */
static struct shiny_err *of_others(enum verb_id verb, const char *word)
{
	enum { NAMED = 12 };
	char have[160];
	size_t count = 0, at = 0;

	for (enum verb_id v = 0; v < VERB_COUNT && word[1] == '-'; v++)
		if (find_long(options_questions(v), word) < OPT_COUNT && ++count <= NAMED)
			at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s",
					       at ? ", " : "", verbs[v].name);
	return !count ? NULL
		      : shiny_err_advise(
				shiny_err(SHINY_ERR_USAGE, "%s: it has no option %.*s",
					  verbs[verb].name, (int)strcspn(word, "="), word),
				"%s%s %s it", have, count > NAMED ? " and others" : "",
				count > 1 ? "have" : "has");
}

static struct shiny_err *unknown(const struct options *o, const char *word)
{
	const char *names[OPT_COUNT + 1], *near;
	enum verb_id verb = o->verb;
	char name[64];
	size_t count = 0;
	struct shiny_err *err = misplaced(o, word);

	if (!err)
		err = of_others(verb, word);
	if (err)
		return err;
	for (size_t i = 0; i < OPT_COUNT; i++)
		if (option_specs[i].verbs & options_questions(verb))
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
	const char *allowed = option_words(spec, o->question).allowed;
	enum dimension by = id == OPT_BY ? find_dimension(value) : DIMENSIONS;
	char why[160];
	uint64_t number = 1;

	if (spec->kind != VALUE_FLAG &&
	    !value_parse(spec->kind, allowed, value, &number, why, sizeof(why)))
		return by < DIMENSIONS ? no_rows_by(o, by, allowed)
				       : shiny_err(SHINY_ERR_USAGE,
						   "%s: --%s '%s': it takes %s",
						   verbs[o->verb].name, spec->name, value, why);
	if (id == OPT_BY)
		o->by = by;
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

static struct shiny_err *need_value(const struct options *o, const struct option_spec *spec)
{
	char why[160];

	value_describe(spec->kind, option_words(spec, o->question).allowed, why, sizeof(why));
	return shiny_err(SHINY_ERR_USAGE, "%s: --%s needs a value: %s", verbs[o->verb].name,
			 spec->name, why);
}

/* Parses one `--name[=value]`; `next`: the following argument or NULL, *taken: it was the value. */
static struct shiny_err *parse_long(struct options *o, const char *word, const char *next,
				    bool *taken)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
	enum option_id id = find_long(UINT64_C(1) << o->question, word);
	const struct option_spec *spec = &option_specs[id];

	if (id == OPT_COUNT)
		return unknown(o, word);
	if (spec->kind == VALUE_FLAG) {
		if (value)
			return shiny_err(SHINY_ERR_USAGE, "%s: --%s takes no value",
					 verbs[o->verb].name, spec->name);
		return set(o, id, "");
	}
	if (!value) {
		if (!next)
			return need_value(o, spec);
		*taken = true;
		value = next;
	}
	return set(o, id, value);
}

static struct shiny_err *parse_short(struct options *o, const char *word, const char *next,
				     bool *taken)
{
	for (const char *p = word + 1; *p; p++) {
		enum option_id i = find_short(UINT64_C(1) << o->question, *p);
		struct shiny_err *err;

		if (*p == 'h') {
			o->help = true;
			continue;
		}
		if (i == OPT_COUNT) {
			char name[3] = {'-', *p, 0};

			return unknown(o, name);
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
			return need_value(o, &option_specs[i]);
		*taken = true;
		return set(o, i, next);
	}
	return NULL;
}

/* Returns the error for too few or too many operands. */
static struct shiny_err *check_operands(const struct options *o)
{
	const struct verb *v = &verbs[o->verb];
	const struct question *q = &questions[o->question];
	size_t least = q->operand ? q->count : v->least, most = q->operand ? q->count : v->most;
	struct shiny_err *err = NULL;

	if (o->operand_count < least && q->operand)
		err = shiny_err(SHINY_ERR_USAGE, "%s: %s needs %s", v->name, q->document,
				q->operand);
	else if (o->operand_count < least)
		err = shiny_err(SHINY_ERR_USAGE, "%s: it needs %s", v->name, v->operands);
	else if (!v->rest_is_program && o->operand_count > most)
		err = shiny_err(SHINY_ERR_USAGE, "%s: '%s' is one argument too many", v->name,
				o->operands[most]);
	return err ? shiny_err_advise(err, "usage: shinyctl %s %s", v->name, v->operands) : NULL;
}

struct shiny_err *options_parse(enum verb_id verb, int argc, char **argv, struct options *out)
{
	const struct verb *v = &verbs[verb];
	enum verb_id question = v->rest_is_program ? verb : question_of(verb, argc, argv);
	struct options o = { .verb = verb, .question = question, .operands = argv };
	struct shiny_err *err;
	int i;

	for (size_t id = 0; id < OPT_COUNT; id++) {
		const struct option_spec *spec = &option_specs[id];
		const char *fallback = option_words(spec, question).fallback;

		if (spec->env >= 0 || !(spec->verbs >> question & 1) || !fallback[0])
			continue;
		SHINY_TRY(set(&o, id, fallback));
		o.given[id] = false;
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
	*out = o;
	return o.help ? NULL : check_operands(&o);
}
