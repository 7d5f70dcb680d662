/* SPDX-License-Identifier: Apache-2.0 */
/* test_help.c: the texts of src/ctl/help: how they are read, and that they fit the tables. */
#define _GNU_SOURCE
#include <shiny/wire/wire.h>

#include "../../src/answer/answer.h"
#include "../../src/ctl/help/help.h"
#include "../../src/ctl/help/help_option.h"
#include "../../src/ctl/verb_table.h"
#include "../../src/store/event_names.h"
#include "check.h"

static const char sample[] = "a summary\n\nDESCRIPTION\nOne paragraph\nin two lines.\n\n"
			     "  verbatim\n\nJSON\n    a term in capitals\nother\n    two\n"
			     "    lines\n\nEXIT STATUS\n0\n    fine\n";

/* A part as "kind|term|text", an empty line in front of it as "/". */
static void part_is(const char *name, struct help_section *parts, const char *want)
{
	struct help_part part;
	char got[200] = "none";

	if (help_next(parts, &part))
		snprintf(got, sizeof(got), "%s%d|%.*s|%.*s", part.apart ? "/" : "", (int)part.kind,
			 (int)part.term_bytes, part.term ? part.term : "", (int)part.text_bytes,
			 part.text);
	text_is(name, got, want);
}

static void test_parts(void)
{
	struct help_section parts;
	struct help_part part;
	char summary[40];

	help_summary(sample, summary, sizeof(summary));
	text_is("summary", summary, "a summary");
	check_that("section", help_section(sample, "DESCRIPTION", &parts));
	part_is("paragraph", &parts, "0||One paragraph\nin two lines.");
	part_is("verbatim", &parts, "/1||verbatim");
	part_is("capitals are a term", &parts, "/2|JSON|a term in capitals");
	part_is("definition", &parts, "2|other|two\n    lines");
	part_is("end of section", &parts, "none");
	check_that("last section", help_section(sample, "EXIT STATUS", &parts));
	part_is("status", &parts, "2|0|fine");
	part_is("end of text", &parts, "none");
	check_that("no section", !help_section(sample, "OPTIONS", &parts));
	part_is("nothing in it", &parts, "none");
	check_that("no text", !help_section(NULL, "OPTIONS", &parts));
	check_that("defined", help_define(sample, "EXIT STATUS", "0", &part));
	check_that("not defined", !help_define(sample, "EXIT STATUS", "1", &part));
}

static bool is_option(uint64_t verbs_asked, const struct help_part *part)
{
	for (size_t i = 0; i < OPT_COUNT; i++)
		if (option_specs[i].verbs & verbs_asked &&
		    strlen(option_specs[i].name) + 2 == part->term_bytes &&
		    strncmp(option_specs[i].name, part->term + 2, part->term_bytes - 2) == 0)
			return true;
	return false;
}

/* Whatever section OPTIONS of a text defines is an option of these verbs. */
static void options_are(const char *name, const char *text, uint64_t verbs_asked)
{
	struct help_section parts;
	struct help_part part;

	help_section(text, "OPTIONS", &parts);
	while (help_next(&parts, &part))
		checkf(name, part.kind == HELP_DEFINITION && is_option(verbs_asked, &part),
		       "%.*s is no option of it", (int)part.term_bytes, part.term ? part.term : "");
}

static void see_also_is(const char *name, const char *text)
{
	struct help_section parts;
	struct help_part part;
	char words[200];

	if (!help_section(text, "SEE ALSO", &parts) || !help_next(&parts, &part))
		return;
	snprintf(words, sizeof(words), "%.*s", (int)part.text_bytes, part.text);
	for (char *word = strtok(words, ", \n"); word; word = strtok(NULL, ", \n"))
		checkf(name, strcmp(word, name) != 0 && help_text("verbs", word),
		       "SEE ALSO %s: no other verb", word);
}

/* Each member has its sentence, and each column that a list shows is a field of its rows. */
static void test_fields(const char *name, const struct field *fields)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		bool member = !f->column_only && f->kind != FIELD_KIND_SHARE &&
			      f->kind != FIELD_KIND_BAR && f->kind != FIELD_KIND_GROUP;

		checkf(name, !member || (f->help && *f->help), "%s has no meaning", f->key);
		checkf(name, !f->help || f->help[strlen(f->help) - 1] != '.',
		       "%s: the help ends with a full stop", f->key);
		if (f->fields && !f->column_only && !f->again)
			test_fields(name, f->fields);
		if (f->shows)
			checkf(name, !answer_unknown_column(f), "%s shows '%s', which is no field",
			       f->key, answer_unknown_column(f));
	}
}

/* A body has the options of options.def that it acts on. */
static void options_fit(const char *name, size_t question)
{
	const struct verb_body *body = verb_table[question];

	check(name, !body->usual || option_specs[OPT_LIMIT].verbs >> question & 1,
	      "it leaves rows out and has no --limit");
	check(name, !body->match || option_specs[OPT_MATCH].verbs >> question & 1,
	      "it matches rows and has no --match");
}

/* The meaning of an option that stands for a variable is not that of another option of its name. */
static void test_variable(const char *name, const char *text, const struct option_spec *spec,
			  const struct help_part *part)
{
	struct help_part variable;

	if (spec->env < 0 || !help_variable(&env_specs[spec->env], &variable))
		return;
	checkf(name, part->text == variable.text ||
			     (part->text >= text && part->text < text + strlen(text)),
	       "--%s has another option's meaning", spec->name);
}

static void test_verb(enum verb_id verb)
{
	const char *name = verbs[verb].name, *text = help_text("verbs", name);
	struct help_section parts;
	struct help_part part;
	char summary[200];
	bool json = false; /* a document that only the text describes */

	checkf(name, text, "there is no src/ctl/help/verbs/%s.txt", name);
	if (!text)
		return;
	help_summary(text, summary, sizeof(summary));
	checkf(name, strlen(summary) > 10 && strlen(summary) <= 100 &&
			     summary[strlen(summary) - 1] != '.',
	       "summary '%s': 10 to 100 bytes, no full stop", summary);
	check(name, help_section(text, "DESCRIPTION", &parts), "no DESCRIPTION");
	check(name, help_section(text, "EXAMPLES", &parts), "no EXAMPLES");
	while (help_next(&parts, &part))
		check(name, part.kind == HELP_DEFINITION && memmem(part.term, part.term_bytes,
								   "shinyctl ", 9),
		      "EXAMPLES has something else than commands with their meaning");
	for (size_t q = 0; q < QUESTION_COUNT; q++) {
		if (questions[q].verb != verb)
			continue;
		options_fit(name, q);
		json |= option_specs[OPT_JSON].verbs >> q & 1 && !verb_table[q]->fields;
		for (const struct verb_body *b = verb_table[q]; b && b->fields; b = b->instead)
			test_fields(name, b->fields);
	}
	check(name, help_section(text, "JSON", &parts) == json,
	      "section JSON against --json and fields");
	for (size_t i = 0; i < OPT_COUNT; i++)
		if (option_specs[i].verbs & options_questions(verb)) {
			checkf(name, help_option(verb, &option_specs[i], &part),
			       "--%s has no meaning", option_specs[i].name);
			test_variable(name, text, &option_specs[i], &part);
		}
	options_are(name, text, options_questions(verb));
	see_also_is(name, text);
}

static void test_tables(void)
{
	struct help_section parts;
	struct help_part part;
	const char *name;

	for (size_t v = 0; v < VERB_COUNT; v++)
		test_verb((enum verb_id)v);
	for (size_t i = 0; (name = help_in("verbs", i)); i++) {
		size_t v = 0;

		while (v < VERB_COUNT && strcmp(name, verbs[v].name) != 0)
			v++;
		checkf("texts of verbs", v < VERB_COUNT, "%s.txt is of no verb", name);
	}
	options_are("options.txt", help_text("", "options"), ~UINT64_C(0));
	for (size_t i = 0; i < ENV_COUNT; i++)
		check(env_specs[i].name, help_variable(&env_specs[i], &part), "has no meaning");
	help_section(help_text("", "environment"), "ENVIRONMENT", &parts);
	while (help_next(&parts, &part)) {
		size_t i = 0;

		while (i < ENV_COUNT && (strlen(env_specs[i].name) != part.term_bytes ||
					 strncmp(env_specs[i].name, part.term, part.term_bytes)))
			i++;
		checkf("environment.txt", i < ENV_COUNT, "%.*s is no variable",
		       (int)part.term_bytes, part.term);
	}
	check_that("a topic", help_text("topics", "definitions"));
}

/* The text of SHINY_ALLOCATOR names each heap and kind of pool that has functions in allocator.def,
 * so all but those of the user's list. */
static void test_heaps(void)
{
	struct help_part part = { 0 };
	char text[4096];

	help_variable(&env_specs[ENV_SHINY_ALLOCATOR], &part);
	snprintf(text, sizeof(text), "%.*s", (int)part.text_bytes, part.text);
	for (unsigned api = SHINY_API_COLLECTED + 1; api < SHINY_APIS; api++)
		checkf("known heaps",
		       api == SHINY_API_OWN || api == SHINY_API_POOL || strstr(text, api_name(api)),
		       "%s is not named", api_name(api));
}

/* The first page fits a terminal of 80 columns and 24 lines with its prompt. */
static void test_first(void)
{
	struct style style;
	char *text = NULL;
	size_t bytes, lines = 0, widest = 0;

	FILE *out = open_memstream(&text, &bytes);

	style_init(&style, out, -1, false);
	help_first(&style);
	fclose(out);
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++)
		widest = (size_t)(end - line) > widest ? (size_t)(end - line) : widest;
	checkf("first page", lines > 16 && lines <= 23 && widest <= 80, "%zu lines, %zu columns",
	       lines, widest);
	free(text);
}

int main(void)
{
	test_first();
	test_parts();
	test_tables();
	test_heaps();
	return failures != 0;
}
