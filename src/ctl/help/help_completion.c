/* SPDX-License-Identifier: Apache-2.0 */
/* help_completion.c: the completions for bash, zsh and fish. */
#include <string.h>

#include "help.h"
#include "help_option.h"
#include "help_text.h"

enum { LINE = 200 };

/* True if the verb, or one of its questions, has the option. */
static bool accepts(size_t verb, const struct option_spec *spec)
{
	return spec->verbs & options_questions((enum verb_id)verb);
}

/* Prints the words of a choice, separated by spaces. */
static void choices(FILE *out, size_t verb, const struct option_spec *spec)
{
	for (const char *p = option_words(spec, (enum verb_id)verb).allowed; *p; p++)
		putc(*p == '|' ? ' ' : *p, out);
}

static void topics(FILE *out)
{
	const char *name;

	for (size_t i = 0; (name = help_in("topics", i)); i++)
		fprintf(out, " %s", name);
}

/* Prints the words that tell takes. */
static void words_of_tell(FILE *out)
{
	const char *between = "";

	for (size_t q = VERB_COUNT; q < QUESTION_COUNT; q++)
		if (questions[q].verb == VERB_TELL && questions[q].operand) {
			fprintf(out, "%s%s", between, questions[q].document);
			between = " ";
		}
}

/* ---- bash ---- */

static void bash_choices(FILE *out)
{
	for (size_t i = 0; i < OPT_COUNT; i++)
		for (size_t v = 0; v < VERB_COUNT && option_specs[i].kind == VALUE_CHOICE; v++) {
			if (!accepts(v, &option_specs[i]))
				continue;
			fprintf(out, "\t%s--%s) COMPREPLY=($(compgen -W '", verbs[v].name,
				option_specs[i].name);
			choices(out, v, &option_specs[i]);
			fputs("' -- \"$cur\")); return ;;\n", out);
		}
}

static void bash(FILE *out)
{
	fputs("# SPDX-License-Identifier: Apache-2.0\n"
	      "# bash completion for shinyctl, made by `shinyctl help --completion bash`\n"
	      "_shinyctl()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal verb=${COMP_WORDS[1]} options='' i\n"
	      "\tCOMPREPLY=()\n\tif [[ $COMP_CWORD -eq 1 ]]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++)
		fprintf(out, "%s%s", v ? " " : "", verbs[v].name);
	fputs("' -- \"$cur\"))\n\t\treturn\n\tfi\n\tif [[ $verb == run ]]; then\n"
	      "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	      "\t\t\t\tif [[ $((i + 1)) -eq $COMP_CWORD ]]; then "
	      "COMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\t\t\t\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
	      "\t\t\t\treturn\n\t\t\tfi\n\t\tdone\n\tfi\n"
	      "\tcase $verb$prev in\n",
	      out);
	bash_choices(out);
	fputs("\tesac\n\tcase $verb in\n", out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "\t%s) options='", verbs[v].name);
		for (size_t i = 0; i < OPT_COUNT; i++)
			if (accepts(v, &option_specs[i]))
				fprintf(out, "--%s ", option_specs[i].name);
		fputs("--help' ;;\n", out);
	}
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\telif [[ $verb == help ]]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++)
		fprintf(out, "%s%s", v ? " " : "", verbs[v].name);
	topics(out);
	fputs("' -- \"$cur\"))\n\telif [[ $verb == tell && $COMP_CWORD -eq 3 ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	      out);
	words_of_tell(out);
	fputs("' -- \"$cur\"))\n\telif [[ $verb == run ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
	      "complete -o filenames -F _shinyctl shinyctl\n",
	      out);
}

/* ---- zsh and fish: with descriptions ---- */

/* Prints text within single quotes, with a backslash before characters of `escaped`. */
static void quoted(FILE *out, const char *text, size_t bytes, const char *escaped)
{
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\'')
			fputs("'\\''", out);
		else if (strchr(escaped, text[i]))
			fprintf(out, "\\%c", text[i]);
		else
			putc(text[i] == '\n' ? ' ' : text[i], out);
	}
}

static void summary(FILE *out, size_t verb, const char *escaped)
{
	char line[LINE];

	help_summary(help_text("verbs", verbs[verb].name), line, sizeof(line));
	quoted(out, line, strlen(line), escaped);
}

/* Prints the first sentence of an option's meaning on one line. */
static void meaning(FILE *out, size_t verb, const struct option_spec *spec, const char *escaped)
{
	struct help_part part = { 0 };
	bool space = false;

	help_option((enum verb_id)verb, spec, &part);
	for (size_t i = 0; i < part.text_bytes; i++) {
		char c = part.text[i];
		bool blank = c == ' ' || c == '\n';

		if (c == '.' && (i + 1 == part.text_bytes || strchr(" \n", part.text[i + 1])))
			return;
		if (!blank && space)
			putc(' ', out);
		space = blank;
		if (!blank)
			quoted(out, &c, 1, escaped);
	}
}

/* True if the option's value is a file, by the value's name. */
static bool takes_file(const struct option_spec *spec)
{
	return strcmp(spec->arg, "FILE") == 0 || strcmp(spec->arg, "DIR") == 0;
}

static void zsh_option(FILE *out, size_t verb, const struct option_spec *spec)
{
	if (spec->letter)
		fprintf(out, " \\\n\t\t\t'(-%c --%s)'{-%c,--%s}'[", spec->letter, spec->name,
			spec->letter, spec->name);
	else
		fprintf(out, " \\\n\t\t\t'--%s[", spec->name);
	meaning(out, verb, spec, "[]:\\");
	putc(']', out);
	if (spec->kind == VALUE_CHOICE) {
		fprintf(out, ":%s:(", spec->arg);
		choices(out, verb, spec);
		putc(')', out);
	} else if (spec->kind != VALUE_FLAG) {
		fprintf(out, ":%s:%s", spec->arg, takes_file(spec) ? "_files" : "");
	}
	putc('\'', out);
}

static void zsh(FILE *out)
{
	fputs("#compdef shinyctl\n# SPDX-License-Identifier: Apache-2.0\n"
	      "# zsh completion for shinyctl, made by `shinyctl help --completion zsh`\n"
	      "_shinyctl()\n{\n\tlocal -a verbs\n\tverbs=(\n",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "\t\t'%s:", verbs[v].name);
		summary(out, v, "\\");
		fputs("'\n", out);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe verb verbs\n\t\treturn\n\tfi\n"
	      "\tlocal verb=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $verb in\n",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "\t%s)\n\t\t_arguments '(-h --help)'{-h,--help}'[help]'",
			verbs[v].name);
		for (size_t i = 0; i < OPT_COUNT; i++)
			if (accepts(v, &option_specs[i]))
				zsh_option(out, v, &option_specs[i]);
		if (verbs[v].rest_is_program)
			fputs(" \\\n\t\t\t'*::program:_normal' ;;\n", out);
		else if (v == VERB_HELP) {
			fputs(" \\\n\t\t\t'*:about:(", out);
			for (size_t other = 0; other < VERB_COUNT; other++)
				fprintf(out, "%s%s", other ? " " : "", verbs[other].name);
			topics(out);
			fputs(")' ;;\n", out);
		} else if (v == VERB_TELL) {
			fputs(" \\\n\t\t\t'1:session:_files' '2:what:(", out);
			words_of_tell(out);
			fputs(")' ;;\n", out);
		} else
			fputs(" \\\n\t\t\t'*:file:_files' ;;\n", out);
	}
	fputs("\tesac\n}\n_shinyctl \"$@\"\n", out);
}

static void fish(FILE *out)
{
	fputs("# SPDX-License-Identifier: Apache-2.0\n"
	      "# fish completion for shinyctl, made by `shinyctl help --completion fish`\n",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "complete -c shinyctl -n __fish_use_subcommand -f -a %s -d '",
			verbs[v].name);
		summary(out, v, "\\");
		fputs("'\n", out);
		for (size_t i = 0; i < OPT_COUNT; i++) {
			const struct option_spec *spec = &option_specs[i];

			if (!accepts(v, spec))
				continue;
			fprintf(out,
				"complete -c shinyctl -n '__fish_seen_subcommand_from %s' -l %s",
				verbs[v].name, spec->name);
			if (spec->letter)
				fprintf(out, " -s %c", spec->letter);
			if (spec->kind == VALUE_CHOICE) {
				fputs(" -x -a '", out);
				choices(out, v, spec);
				putc('\'', out);
			} else if (spec->kind != VALUE_FLAG) {
				fputs(takes_file(spec) ? " -r" : " -x", out);
			}
			fputs(" -d '", out);
			meaning(out, v, spec, "\\");
			fputs("'\n", out);
		}
	}
	fputs("complete -c shinyctl -n '__fish_seen_subcommand_from tell' -a '", out);
	words_of_tell(out);
	fputs("'\ncomplete -c shinyctl -n '__fish_seen_subcommand_from help' -f -a '", out);
	for (size_t v = 0; v < VERB_COUNT; v++)
		fprintf(out, "%s%s", v ? " " : "", verbs[v].name);
	topics(out);
	fputs("'\n", out);
}

void help_completion(FILE *out, enum help_shell shell)
{
	static void (*const shells[])(FILE *out) = {
		[HELP_BASH] = bash, [HELP_ZSH] = zsh, [HELP_FISH] = fish
	};

	shells[shell](out);
}
