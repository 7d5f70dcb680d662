/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <string.h>

#include "../../base/text.h"
#include "help_option.h"
#include "help_text.h"

enum {
	WIDEST = 100,	  /* most columns of a line of help, on any terminal */
	VERB_COLUMN = 14, /* column of the text after a verb, a term, an option */
	TERM_COLUMN = 18,
	OPTION_COLUMN = 28,
	STATUS_COLUMN = 5,
	LINE = 200, /* most bytes of a summary or a term */
};

const char *const help_groups[VERB_GROUPS] = {
	[VERBS_RECORD] = "Record",   [VERBS_LOOK] = "Look",	  [VERBS_TIME] = "Over time",
	[VERBS_SPACE] = "Space",     [VERBS_COMPARE] = "Compare", [VERBS_EXPLAIN] = "Explain",
	[VERBS_CHROMIUM] = "Chromium", [VERBS_FURTHER] = "Further",
};

/* ---- lines ---- */

/* Wraps words at `width`; continuation lines begin at column `indent`. */
struct wrap {
	FILE *out;
	size_t indent, width, at;
};

static struct wrap wrap_begin(const struct style *style, size_t indent)
{
	size_t width = style->width && style->width < WIDEST ? style->width : WIDEST;

	return (struct wrap){ style->out, indent, width, indent };
}

static void wrap_words(struct wrap *wrap, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	while (text < end) {
		size_t length = 0;
		char word[512];

		while (text + length < end && text[length] != ' ' && text[length] != '\n')
			length++;
		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (wrap->at > wrap->indent && wrap->at + 1 + text_columns(word) > wrap->width) {
			fprintf(wrap->out, "\n%*s", (int)wrap->indent, "");
			wrap->at = wrap->indent;
		} else if (wrap->at > wrap->indent) {
			putc(' ', wrap->out);
			wrap->at++;
		}
		fputs(word, wrap->out);
		wrap->at += text_columns(word);
		for (text += length; text < end && (*text == ' ' || *text == '\n'); text++)
			;
	}
}

static void wrap_end(const struct wrap *wrap)
{
	putc('\n', wrap->out);
}

/* Prints a term, and from `column` on its definition; `more` in parentheses. */
static void definition(const struct style *style, const char *term, const struct help_part *part,
		       const char *more, size_t column)
{
	struct wrap wrap = wrap_begin(style, column);
	char note[HELP_TAKES + 2];

	fprintf(style->out, "  %s%s%s", tint(style, TINT_NAME), term, tint_end(style, TINT_NAME));
	if (text_columns(term) + 4 > column)
		fprintf(style->out, "\n%*s", (int)column, "");
	else
		fprintf(style->out, "%*s", (int)(column - 2 - text_columns(term)), "");
	wrap_words(&wrap, part->text, part->text_bytes);
	if (*more) {
		snprintf(note, sizeof(note), "(%s)", more);
		wrap_words(&wrap, note, strlen(note));
	}
	wrap_end(&wrap);
}

static void heading(const struct style *style, const char *text)
{
	fprintf(style->out, "\n%s%s%s\n", tint(style, TINT_BOLD), text, tint_end(style, TINT_BOLD));
}

/* Prints the parts of a section in the file's order. */
static void section(const struct style *style, struct help_section parts)
{
	struct help_part part;
	bool first = true;

	while (help_next(&parts, &part)) {
		struct wrap wrap = wrap_begin(style, 0);
		char term[LINE];

		if (part.apart && !first)
			putc('\n', style->out);
		first = false;
		snprintf(term, sizeof(term), "%.*s", (int)part.term_bytes,
			 part.term ? part.term : "");
		if (part.kind == HELP_VERBATIM) {
			fprintf(style->out, "  %.*s\n", (int)part.text_bytes, part.text);
		} else if (part.kind == HELP_DEFINITION) {
			definition(style, term, &part, "", TERM_COLUMN);
		} else {
			wrap_words(&wrap, part.text, part.text_bytes);
			wrap_end(&wrap);
		}
	}
}

/* Prints commands with their explanations below; `! ` marks one that the tests do not run. */
static void examples(const struct style *style, struct help_section parts)
{
	struct help_part part;

	while (help_next(&parts, &part)) {
		struct wrap wrap = wrap_begin(style, 6);
		size_t mark = strncmp(part.term, "! ", 2) == 0 ? 2 : 0;

		fprintf(style->out, "  %s%.*s%s\n      ", tint(style, TINT_NAME),
			(int)(part.term_bytes - mark), part.term + mark,
			tint_end(style, TINT_NAME));
		wrap_words(&wrap, part.text, part.text_bytes);
		wrap_end(&wrap);
	}
}

/* ---- all verbs ---- */

static void verb_line(const struct style *style, enum verb_id verb)
{
	struct wrap wrap = wrap_begin(style, VERB_COLUMN);
	char summary[LINE];

	help_summary(help_text("verbs", verbs[verb].name), summary, sizeof(summary));
	fprintf(style->out, "  %s%-*s%s  ", tint(style, TINT_NAME), VERB_COLUMN - 4,
		verbs[verb].name, tint_end(style, TINT_NAME));
	wrap_words(&wrap, summary, strlen(summary));
	wrap_end(&wrap);
}

static bool is_daily(size_t verb, const enum verb_id *daily)
{
	while (*daily != VERB_COUNT && *daily != verb)
		daily++;
	return *daily != VERB_COUNT;
}

void help_first(const struct style *style)
{
	static const enum verb_id daily[] = { VERB_RUN,	     VERB_REPORT,  VERB_TYPES, VERB_SITES,
					      VERB_LEAKS,    VERB_PEAK,	   VERB_ACTIVITY,
					      VERB_DIFF,     VERB_CHECK,   VERB_EXPLAIN,
					      VERB_HTML,     VERB_DOCTOR,  VERB_COUNT };
	const char *name;

	fputs("shinyctl VERB [OPTION...] [ARGUMENT...] shows every heap object of a program\n\n",
	      style->out);
	for (const enum verb_id *v = daily; *v != VERB_COUNT; v++)
		verb_line(style, *v);
	putc('\n', style->out);
	for (size_t g = 0; g < VERBS_FURTHER; g++) {
		bool any = false;

		for (size_t v = 0; v < VERB_COUNT; v++) {
			if (verbs[v].group != g || is_daily(v, daily))
				continue;
			if (!any)
				fprintf(style->out, "  %-*s", VERB_COLUMN - 3, help_groups[g]);
			any = true;
			fprintf(style->out, " %s", verbs[v].name);
		}
		if (any)
			putc('\n', style->out);
	}
	fprintf(style->out, "  %-*s", VERB_COLUMN - 3, "Topics");
	for (size_t i = 0; (name = help_in("topics", i)); i++)
		fprintf(style->out, " %s", name);
	fputs("\n`shinyctl help VERB|TOPIC` says more, `shinyctl help verbs` "
	      "what each verb does.\n",
	      style->out);
}

void help_all(const struct style *style)
{
	struct help_section parts;

	for (size_t g = 0; g < VERB_GROUPS; g++) {
		heading(style, help_groups[g]);
		for (size_t v = 0; v < VERB_COUNT; v++)
			if (verbs[v].group == g)
				verb_line(style, (enum verb_id)v);
	}
	heading(style, "Examples");
	if (help_section(help_text("", "shinyctl"), "EXAMPLES", &parts))
		examples(style, parts);
}

/* ---- a topic ---- */

void help_topic(const struct style *style, const char *text)
{
	struct help_section parts;
	char summary[LINE];

	help_summary(text, summary, sizeof(summary));
	fprintf(style->out, "%s\n\n", summary);
	if (help_section(text, "DESCRIPTION", &parts))
		section(style, parts);
}

/* ---- a verb ---- */

static void option_line(const struct style *style, enum verb_id verb,
			const struct option_spec *spec)
{
	bool flag = spec->kind == VALUE_FLAG;
	char name[LINE], letter[8] = "", takes[HELP_TAKES];
	struct help_part part = { 0 };

	if (spec->letter)
		snprintf(letter, sizeof(letter), "-%c, ", spec->letter);
	snprintf(name, sizeof(name), "%s--%s%s%s", letter, spec->name, flag ? "" : " ",
		 flag ? "" : spec->arg);
	help_option(verb, spec, &part);
	help_option_takes(verb, spec, takes);
	definition(style, name, &part, takes, OPTION_COLUMN);
}

static void variables(const struct style *style)
{
	for (size_t i = 0; i < ENV_COUNT; i++) {
		struct help_part part = { 0 };
		char takes[HELP_TAKES];

		help_variable(&env_specs[i], &part);
		help_variable_takes(&env_specs[i], takes);
		definition(style, env_specs[i].name, &part, takes, OPTION_COLUMN);
	}
}

void help_verb(const struct style *style, enum verb_id verb)
{
	const struct verb *v = &verbs[verb];
	const char *text = help_text("verbs", v->name);
	struct help_section parts;
	struct help_part part;
	bool any = false;

	fprintf(style->out, "usage: shinyctl %s [OPTION...] %s\n\n", v->name, v->operands);
	if (help_section(text, "DESCRIPTION", &parts))
		section(style, parts);
	for (size_t i = 0; i < OPT_COUNT; i++) {
		if (!(option_specs[i].verbs & options_questions(verb)))
			continue;
		if (!any)
			heading(style, "Options");
		any = true;
		option_line(style, verb, &option_specs[i]);
	}
	if (verb == VERB_RUN || verb == VERB_COLLECT) {
		heading(style, "Environment");
		variables(style);
	}
	if (help_section(text, "EXAMPLES", &parts)) {
		heading(style, "Examples");
		examples(style, parts);
	}
	heading(style, "Exit status");
	help_statuses(verb, &parts);
	while (help_next(&parts, &part)) {
		char status[LINE];

		snprintf(status, sizeof(status), "%.*s", (int)part.term_bytes, part.term);
		if (help_status_fits(verb, &part))
			definition(style, status, &part, "", STATUS_COLUMN);
	}
	if (v->input == VERB_READS_SESSION)
		fputs("\n`shinyctl help definitions`: what live, freed, abandoned and peak mean\n",
		      style->out);
}

/* ---- the tables of docs/ ---- */

/* Prints words on one line. */
static void flat(FILE *out, const struct help_part *part)
{
	bool space = false;

	for (size_t i = 0; i < part->text_bytes; i++) {
		if (part->text[i] == ' ' || part->text[i] == '\n') {
			space = true;
			continue;
		}
		fprintf(out, "%s%c", space ? " " : "", part->text[i]);
		space = false;
	}
}

void help_markdown(FILE *out)
{
	fputs("| command | what it does |\n|---|---|\n", out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		const char *operands = verbs[v].operands;
		char summary[LINE];

		help_summary(help_text("verbs", verbs[v].name), summary, sizeof(summary));
		fprintf(out, "| `shinyctl %s%s", verbs[v].name, *operands ? " " : "");
		for (; *operands; operands++)
			fprintf(out, "%s%c", *operands == '|' ? "\\" : "", *operands);
		fprintf(out, "` | %s |\n", summary);
	}
	fputs("\n| variable | default | what it does |\n|---|---|---|\n", out);
	for (size_t i = 0; i < ENV_COUNT; i++) {
		const char *fallback = env_specs[i].fallback, *quote = *fallback ? "`" : "";
		struct help_part part = { 0 };

		help_variable(&env_specs[i], &part);
		fprintf(out, "| `%s` | %s%s%s | ", env_specs[i].name, quote, fallback, quote);
		flat(out, &part);
		fputs(" |\n", out);
	}
}
