/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the command line: a verb, its options (options.def, by.def), its operands.
 *
 * Runs: CLI. Signals: no. Allocates: no more than a pointer an operand. Threads: one.
 *
 * `--name value`, `--name=value`, `-n value`, `-nvalue`, flags together as `-jw`; `--` ends the
 * options, and so does the first operand of `run`, whose remaining arguments belong to the program.
 * Abbreviated long names are refused: a script that uses one would break when an option is added.
 * The last value of an option wins, except for --symbols and --components, which collect.
 */
#ifndef SHINY_OPTIONS_H
#define SHINY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "env_table.h"
#include "value.h"
#include "verbs.h"

enum option_id {
#define CTL_OPTION(id, verbs, name, letter, kind, arg, allowed, fallback) OPT_##id,
#define CTL_ENV_OPTION(id, verbs, name, letter, arg, variable) OPT_##id,
#include "options.def"
#undef CTL_OPTION
#undef CTL_ENV_OPTION
	OPT_COUNT
};

enum dimension { /* of --by */
#define CTL_DIMENSION(ID, word, title) BY_##ID,
#include "by.def"
	DIMENSIONS
};
struct dimension_name {
	const char *word, *title; /* title: of the column of the rows' names */
};
extern const struct dimension_name dimension_names[DIMENSIONS];

struct option_spec {
	uint64_t verbs; /* bit VERB_*: that verb or question has it */
	const char *name;
	char letter;
	enum value_kind kind;
	const char *arg, *allowed, *fallback; /* the words: ask option_words() */
	int env; /* enum env_id, or -1 */
};
extern const struct option_spec option_specs[OPT_COUNT];

struct option_words {
	const char *allowed, *fallback; /* empty: any text, no default */
};
/* Returns the words of an option in a question. */
struct option_words option_words(const struct option_spec *spec, enum verb_id question);

enum { OPTIONS_LISTED = 64 };

/* A question to a verb: its own, or that of one of its options, or of a word. */
struct question {
	enum verb_id verb;
	enum option_id option; /* asks it; OPT_COUNT: none */
	const char *document;  /* the name of what --json prints */
	const char *operand;   /* what follows the word `document`, which asks it; NULL: no word */
	size_t count;	       /* of all operands, with the word */
};
extern const struct question questions[QUESTION_COUNT]; /* the verbs', then those of options */

enum { ASKER = 40 };
/* Writes what asks a question that is no verb's own: "--cold", "snapshot". Returns `out`. */
char *options_asker(size_t question, char out[ASKER]);

/* Returns all questions of a verb, as in option_spec.verbs. */
uint64_t options_questions(enum verb_id verb);

struct options {
	enum verb_id verb;
	enum verb_id question;
	bool help;               /* --help or -h was given: nothing else was checked */
	bool given[OPT_COUNT];
	const char *text[OPT_COUNT]; /* as written; if not given the default, or NULL */
	uint64_t number[OPT_COUNT];
	enum dimension by; /* --by; only for a question that has it */
	const char *symbols[OPTIONS_LISTED + 1]; /* all --symbols, NULL-terminated */
	size_t symbol_count;
	const char *components[OPTIONS_LISTED + 1]; /* all --components, NULL-terminated */
	size_t component_count;
	char **operands; /* points into argv's array, permuted; ends with NULL */
	size_t operand_count;
};

/* Parses the options. `argv` begins behind the verb and is reordered. Also checks the number of
 * operands. */
SHINY_MUST_CHECK struct shiny_err *options_parse(enum verb_id verb, int argc, char **argv,
						 struct options *out);

#endif
