/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: the command line and the tables that it comes from. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/ctl/options.h"
#include "check.h"

enum { WORDS = 16 };

/* Parses `line`, split at spaces; the error's message, or NULL. */
static char *parse(enum verb_id verb, const char *line, struct options *o)
{
	static char text[512];
	static char *argv[WORDS + 1];
	struct shiny_err *err;
	char *message = NULL;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word && argc < WORDS; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	err = options_parse(verb, argc, argv, o);
	if (err)
		message = strdup(err->message);
	shiny_err_free(err);
	return message;
}

static void refused(const char *name, enum verb_id verb, const char *line, const char *want)
{
	struct options o;
	char *message = parse(verb, line, &o);

	text_is(name, message, want);
	free(message);
}

static void test_good(void)
{
	struct options o = {.operand_count = 99};

	text_is("run_plain", parse(VERB_RUN, "ls -l --depth 3", &o), NULL);
	number("run_plain_operands", o.operand_count, 4);
	text_is("run_plain_program", o.operands[0], "ls");
	number("run_plain_depth", o.given[OPT_DEPTH], 0);

	text_is("run_options", parse(VERB_RUN, "-d 32 --ring=128m --on-full drop -- --odd -x", &o),
		NULL);
	number("run_depth", o.number[OPT_DEPTH], 32);
	number("run_ring", o.number[OPT_RING], 128 << 20);
	number("run_choice", o.number[OPT_ON_FULL], 1);
	number("run_operands", o.operand_count, 2);
	text_is("run_dashes", o.operands[0], "--odd");
	text_is("run_ended", o.operands[2], NULL);

	text_is("glued", parse(VERB_RUN, "-d32 -qf x", &o), NULL);
	number("glued_value", o.number[OPT_DEPTH], 32);
	number("glued_flags", o.given[OPT_QUIET] && o.given[OPT_FORCE], 1);

	text_is("mixed", parse(VERB_TYPES, "f.shiny -n 5 --json", &o), NULL);
	text_is("mixed_file", o.operands[0], "f.shiny");
	number("mixed_limit", o.number[OPT_LIMIT], 5);
	text_is("default", o.text[OPT_SORT], "live");

	text_is("question", parse(VERB_TYPES, "f --symbols d --members T", &o), NULL);
	number("question_of", o.question, VERB_MEMBERS);
	text_is("word", parse(VERB_TELL, "1 --json snapshot", &o), NULL);
	number("word_of", o.question, VERB_SNAPSHOT);
	text_is("word_ended", parse(VERB_TELL, "-- 1 mark on", &o), NULL);
	number("word_ended_of", o.question, VERB_MARK);
	text_is("question_ended", parse(VERB_TYPES, "-- --members", &o), NULL);
	text_is("question_is_a_value", parse(VERB_TYPES, "f --match --members", &o), NULL);
	number("question_is_not_of_a_value", o.question, VERB_TYPES);

	text_is("by_sites", parse(VERB_SITES, "f --by file", &o), NULL);
	number("by_sites_dimension", o.by, BY_FILE);
	text_is("by_tree", parse(VERB_TREE, "f --by site --threshold 5%", &o), NULL);
	number("by_tree_dimension", o.by, BY_SITE);
	number("threshold", o.number[OPT_THRESHOLD], 50000);

	text_is("by_default", parse(VERB_LEAKS, "f", &o), NULL);
	number("by_default_dimension", o.by, BY_SITE);
	number("by_default_not_given", o.given[OPT_BY], 0);
	text_is("by_default_of_question", parse(VERB_LEAKS, "f --cold", &o), NULL);
	number("by_default_of_question_dimension", o.by, BY_TYPE);
	text_is("at_default", parse(VERB_MEMORY, "f", &o), NULL);
	text_is("at_default_text", o.text[OPT_AT], "last");
	text_is("at_of_pages", parse(VERB_PAGES, "f", &o), NULL);
	text_is("at_of_pages_text", o.text[OPT_AT], "end");

	text_is("repeated", parse(VERB_RUN, "--symbols a --symbols b x", &o), NULL);
	text_is("repeated_first", o.symbols[0], "a");
	text_is("repeated_second", o.symbols[1], "b");
	text_is("repeated_end", o.symbols[2], NULL);
	text_is("last_wins", parse(VERB_RUN, "-d 3 -d 4 x", &o), NULL);
	number("last_wins_value", o.number[OPT_DEPTH], 4);
	text_is("help", parse(VERB_RUN, "--help", &o), NULL);
	number("help_seen", o.help, 1);
}

static void test_bad(void)
{
	refused("unknown", VERB_TYPES, "f --sotr x",
		"types: unknown option --sotr; the nearest is --sort");
	refused("unknown_far", VERB_TYPES, "f --xyzzy", "types: unknown option --xyzzy");
	refused("unknown_short", VERB_TYPES, "-Z f", "types: unknown option -Z");
	refused("other_verbs_option", VERB_TYPES, "f --depth=3", "types: it has no option --depth");
	refused("no_between", VERB_TYPES, "f --between a..b", "types: it has no option --between");
	refused("no_value", VERB_RUN, "--depth",
		"run: --depth needs a value: a number from 1 to 64");
	refused("no_rules", VERB_RETAINED, "f --owners",
		"retained: --owners needs a value: a file of rules for owners");
	refused("no_moment", VERB_PAGES, "f --at",
		"pages: --at needs a value: end, peak, a time such as 2.5s or a share such as 40%");
	refused("range", VERB_RUN, "--depth 65 x",
		"run: --depth '65': it takes a number from 1 to 64");
	refused("range_low", VERB_RUN, "--depth 0 x",
		"run: --depth '0': it takes a number from 1 to 64");
	refused("size", VERB_RUN, "--ring 5g x", "run: --ring '5g': it takes a size from 1m to 4g");
	refused("choice", VERB_RUN, "--on-full dorp x",
		"run: --on-full 'dorp': it takes wait or drop; the nearest is drop");
	refused("dimension", VERB_LEAKS, "f --by module",
		"leaks has no rows by module; it has: site, type, component, tag");
	refused("dimension_other", VERB_SIZES, "f --by=tag",
		"sizes has no rows by tag; it has: class, type, site");
	refused("dimension_of_question", VERB_LEAKS, "f --by component --cold",
		"leaks --cold has no rows by component; it has: type, site");
	refused("dimension_none", VERB_LEAKS, "f --cold --by tpye",
		"leaks: --by 'tpye': it takes type or site; the nearest is type");
	refused("no_value_of_question", VERB_LEAKS, "f --cold --by",
		"leaks: --by needs a value: type or site");
	refused("sort_of_verb", VERB_TYPES, "f --sort peak",
		"types: --sort 'peak': it takes live, bytes, allocs, frees or name");
	refused("flag_value", VERB_RUN, "--force=1 x", "run: --force takes no value");
	refused("needs", VERB_TYPES, "f --symbols d", "types: --symbols needs --members");
	refused("word_does_not_go", VERB_TELL, "1 on --json", "tell: --json does not go with on");
	refused("word_needs", VERB_TELL, "--json 1 x", "tell: --json needs snapshot");
	refused("word_too_few", VERB_TELL, "1 mark", "tell: mark needs NAME");
	refused("word_too_many", VERB_TELL, "1 on x", "tell: 'x' is one argument too many");
	refused("does_not_go", VERB_TYPES, "f --by type --members T",
		"types: --by does not go with --members");
	refused("too_many", VERB_TYPES, "a b", "types: 'b' is one argument too many");
	refused("too_few", VERB_TYPES, "", "types: it needs FILE");
	refused("no_program", VERB_RUN, "-q", "run: it needs [--] PROGRAM [ARGUMENT...]");
	refused("empty_dashes", VERB_RUN, "--", "run: it needs [--] PROGRAM [ARGUMENT...]");
}

/* Each option with text says what the text is. */
static void test_texts(void)
{
	for (size_t i = 0; i < OPT_COUNT; i++)
		for (enum verb_id q = 0; q < QUESTION_COUNT; q++)
			if (option_specs[i].kind == VALUE_TEXT && option_specs[i].verbs >> q & 1)
				checkf("texts", option_words(&option_specs[i], q).allowed[0],
				       "%s --%s takes any text", questions[q].document,
				       option_specs[i].name);
}

/* Each word of --by is a dimension of its own; the default of each option is a word of it. */
static void test_words(void)
{
	const struct option_spec *by = &option_specs[OPT_BY];

	for (enum verb_id q = 0; q < QUESTION_COUNT; q++) {
		enum verb_id v = questions[q].verb;
		bool seen[DIMENSIONS] = { false };
		char *message, asker[ASKER], asked[64], line[128];
		struct options o;

		if (!(by->verbs >> q & 1))
			continue;
		snprintf(asked, sizeof(asked), "f %s", v == VERB_DIFF ? "f" : "");
		if (q != v)
			snprintf(asked, sizeof(asked), "f %s", options_asker(q, asker));
		for (const char *p = option_words(by, q).allowed; *p; p += *p == '|') {
			size_t length = strcspn(p, "|");

			snprintf(line, sizeof(line), "%s --by %.*s", asked, (int)length, p);
			message = parse(v, line, &o);
			checkf(questions[q].document,
			       !message && o.by < DIMENSIONS && !seen[o.by] &&
				       strlen(dimension_names[o.by].word) == length &&
				       strncmp(dimension_names[o.by].word, p, length) == 0,
			       "%s: %s", line, message ? message : "another dimension");
			seen[o.by] = true;
			free(message);
			p += length;
		}
		snprintf(line, sizeof(line), "%s", asked);
		text_is(questions[q].document, parse(v, line, &o), NULL);
	}
}

/* Within one verb and its questions no name and no letter may mean two things, and what the help
 * promises must parse. */
static void test_tables(void)
{
	for (enum verb_id v = 0; v < VERB_COUNT; v++)
		for (size_t i = 0; i < OPT_COUNT; i++)
			for (size_t j = i + 1; j < OPT_COUNT; j++) {
				const struct option_spec *a = &option_specs[i],
							 *b = &option_specs[j];

				if (!(a->verbs & options_questions(v)) ||
				    !(b->verbs & options_questions(v)))
					continue;
				/* one thing: the number of rows, of a table or of each list */
				if (i == OPT_LIMIT && j == OPT_JSON_LIMIT)
					continue;
				if (strcmp(a->name, b->name) == 0 ||
				    (a->letter && a->letter == b->letter) || a->letter == 'h') {
					printf("not ok tables: %s has --%s and --%s for one name "
					       "or letter\n",
					       verbs[v].name, a->name, b->name);
					failures++;
				}
			}
	for (size_t i = 0; i < ENV_COUNT; i++) {
		uint64_t n;
		char why[160];

		if (!value_parse(env_specs[i].kind, env_specs[i].allowed, env_specs[i].fallback, &n,
				 why, sizeof(why))) {
			printf("not ok tables: default of %s: it takes %s\n", env_specs[i].name,
			       why);
			failures++;
		}
	}
	printf("ok tables\n");
}

static void test_environment(void)
{
	char *const wrong[] = { "HOME=/",
				"SHINY_DPETH=3",
				"SHINY_RING=3",
				"SHINY_DEPTH=7",
				"SHINY_ON_FULL=dorp",
				"SHINYX=1",
				NULL };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	number("complaints", env_complain(wrong, out), 3);
	fclose(out);
	text_is("complaint_text", text,
		"shinyctl: environment: SHINY_DPETH is not known and is ignored; the nearest is "
		"SHINY_DEPTH\n"
		"shinyctl: environment: SHINY_RING=3: it takes a size from 1m to 4g; using 64m\n"
		"shinyctl: environment: SHINY_ON_FULL=dorp: it takes wait or drop; the nearest is "
		"drop; using wait\n");
	free(text);
	out = open_memstream(&text, &size);
	number("old_name", env_complain((char *const[]){"SHINY_ARENA=3", NULL}, out), 2);
	fclose(out);
	text_is("old_name_text", text,
		"shinyctl: environment: SHINY_ARENA is now called SHINY_RING; the old name is read "
		"for one version\n"
		"shinyctl: environment: SHINY_RING=3: it takes a size from 1m to 4g; using 64m\n");
	free(text);
	setenv("SHINY_ARENA", "2m", 1);
	number("old_name_read", env_number(ENV_SHINY_RING), 2 << 20);
	setenv("SHINY_RING", "4m", 1);
	number("old_name_beside_the_new", env_number(ENV_SHINY_RING), 4 << 20);
	setenv("SHINY_DEPTH", "7", 1);
	number("environment_good", env_number(ENV_SHINY_DEPTH), 7);
	setenv("SHINY_DEPTH", "700", 1);
	number("environment_bad_is_default", env_number(ENV_SHINY_DEPTH), 16);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take the lines before it along */
	test_good();
	test_bad();
	test_words();
	test_texts();
	test_tables();
	test_environment();
	return failures != 0;
}
