/* SPDX-License-Identifier: Apache-2.0 */
/* help_man.c: the manual pages, shinyctl(1) and one a verb, as troff source. */
#include <ctype.h>
#include <string.h>

#include "../../answer/answer_schema.h"
#include "help.h"
#include "help_option.h"
#include "help_text.h"
#include "../verb_table.h"

enum { LINE = 200 };

/* Prints a character: a hyphen as a minus sign, and troff's own characters escaped. */
static void roff_char(FILE *out, char c)
{
	static const char special[] = "\\-'`~^";
	static const char *const names[] = { "\\e", "\\-", "\\(aq", "\\(ga", "\\(ti", "\\(ha" };
	const char *found = c ? strchr(special, c) : NULL;

	if (found)
		fputs(names[found - special], out);
	else
		putc(c, out);
}

/* Prints text unchanged; a line that looks like a request is escaped. */
static void roff_bytes(FILE *out, const char *text, size_t bytes)
{
	if (bytes && (*text == '.' || *text == '\''))
		fputs("\\&", out);
	for (size_t i = 0; i < bytes; i++)
		roff_char(out, text[i]);
}

static void roff_text(FILE *out, const char *text)
{
	roff_bytes(out, text, strlen(text));
}

/* Prints lines of words without indentation. */
static void roff_words(FILE *out, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		while (text < end && *text == ' ')
			text++;
		roff_bytes(out, text, (size_t)((stop ? stop : end) - text));
		putc('\n', out);
		text = stop ? stop + 1 : end;
	}
}

static void title(FILE *out, const char *name, const char *text)
{
	char summary[LINE];

	help_summary(text, summary, sizeof(summary));
	fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n"
	      ".\\\" made by `shinyctl help --man`\n.TH ",
	      out);
	for (const char *p = name; *p; p++)
		putc(toupper((unsigned char)*p), out);
	fprintf(out, " 1 \"%s\" \"shiny %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n",
		SHINY_VERSION_DATE, SHINY_VERSION_TEXT);
	roff_text(out, name);
	fputs(" \\- ", out);
	roff_text(out, summary);
	putc('\n', out);
}

static void term(FILE *out, const char *text, size_t bytes)
{
	fputs(".TP\n\\fB", out);
	roff_bytes(out, text, bytes);
	fputs("\\fR\n", out);
}

/* Prints the parts of a section. `behind` a heading: without beginning a paragraph. */
static void section(FILE *out, struct help_section parts, bool behind)
{
	bool verbatim = false;
	struct help_part part;

	while (help_next(&parts, &part)) {
		if (verbatim && part.kind != HELP_VERBATIM)
			fputs(".fi\n.RE\n", out);
		if (!verbatim && part.kind == HELP_VERBATIM)
			fprintf(out, "%s.RS 4\n.nf\n", behind ? "" : ".PP\n");
		verbatim = part.kind == HELP_VERBATIM;
		if (part.kind == HELP_DEFINITION)
			term(out, part.term, part.term_bytes);
		else if (part.kind == HELP_PARAGRAPH && !behind)
			fputs(".PP\n", out);
		roff_words(out, part.text, part.text_bytes);
		behind = false;
	}
	if (verbatim)
		fputs(".fi\n.RE\n", out);
}

static void named_section(FILE *out, const char *text, const char *name)
{
	struct help_section parts;

	if (!help_section(text, name, &parts))
		return;
	fprintf(out, ".SH \"%s\"\n", name);
	section(out, parts, true);
}

static void examples(FILE *out, const char *text)
{
	struct help_section parts;
	struct help_part part;

	if (!help_section(text, "EXAMPLES", &parts))
		return;
	fputs(".SH EXAMPLES\n", out);
	while (help_next(&parts, &part)) {
		size_t mark = strncmp(part.term, "! ", 2) == 0 ? 2 : 0;

		term(out, part.term + mark, part.term_bytes - mark);
		roff_words(out, part.text, part.text_bytes);
	}
}

static void takes_line(FILE *out, const char *takes)
{
	if (!*takes)
		return;
	putc('(', out);
	roff_text(out, takes);
	fputs(")\n", out);
}

static void options(FILE *out, enum verb_id verb)
{
	bool any = false;

	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		struct help_part part = { 0 };
		char takes[HELP_TAKES];

		if (!(spec->verbs & options_questions(verb)))
			continue;
		fputs(any ? ".TP\n" : ".SH OPTIONS\n.TP\n", out);
		any = true;
		if (spec->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", spec->letter);
		fputs("\\fB\\-\\-", out);
		roff_text(out, spec->name);
		fputs("\\fR", out);
		if (spec->kind != VALUE_FLAG) {
			fputs(" \\fI", out);
			roff_text(out, spec->arg);
			fputs("\\fR", out);
		}
		putc('\n', out);
		help_option(verb, spec, &part);
		roff_words(out, part.text, part.text_bytes);
		help_option_takes(verb, spec, takes);
		takes_line(out, takes);
	}
}

static void variables(FILE *out)
{
	fputs(".SH ENVIRONMENT\n", out);
	for (size_t i = 0; i < ENV_COUNT; i++) {
		struct help_part part = { 0 };
		char takes[HELP_TAKES];

		term(out, env_specs[i].name, strlen(env_specs[i].name));
		help_variable(&env_specs[i], &part);
		roff_words(out, part.text, part.text_bytes);
		help_variable_takes(&env_specs[i], takes);
		takes_line(out, takes);
	}
	fputs(".TP\n\\fBNO_COLOR\\fR\nPrint no colour, whatever the terminal.\n", out);
}

static void statuses(FILE *out, enum verb_id verb)
{
	struct help_section parts;
	struct help_part part;

	fputs(".SH \"EXIT STATUS\"\n", out);
	help_statuses(verb, &parts);
	while (help_next(&parts, &part)) {
		if (!help_status_fits(verb, &part))
			continue;
		term(out, part.term, part.term_bytes);
		roff_words(out, part.text, part.text_bytes);
	}
}

static void member(void *out, const char *path, const struct field *field)
{
	const char *unit = answer_unit(field);

	term(out, path, strlen(path));
	roff_text(out, field->help);
	fprintf(out, "%s%s%s\n", *unit ? " (" : "", unit, *unit ? ")" : "");
}

/* Prints the JSON members of the verb; shinyctl(1) has those that all documents share. */
static void members(FILE *out, enum verb_id verb, const char *text)
{
	struct help_section parts;

	if (!help_section(text, "JSON", &parts) && !verb_table[verb]->fields)
		return;
	fputs(".SH JSON\nThe members that \\fB\\-\\-json\\fR prints. Section FORMATS of\n"
	      ".BR shinyctl (1)\nsays what they have in common",
	      out);
	fputs(verbs[verb].input == VERB_READS_SESSION
		      ? ", and what SUMS, losses, lost and complete are.\n"
		      : ".\n",
	      out);
	section(out, parts, false);
	for (size_t q = 0; q < QUESTION_COUNT; q++) {
		if (questions[q].verb != verb || !verb_table[q]->fields)
			continue;
		if (q != verb)
			fprintf(out, ".PP\nWith \\fB\\-\\-%s\\fR, instead of these:\n",
				option_specs[questions[q].option].name);
		answer_members(verb_table[q]->fields, member, out);
		if (!verb_table[q]->instead || !verb_table[q]->instead->fields)
			continue;
		fprintf(out, ".PP\n");
		roff_text(out, verb_table[q]->instead->when);
		fprintf(out, ", instead of these:\n");
		answer_members(verb_table[q]->instead->fields, member, out);
	}
}

/* Prints "report, types" of the file as references. */
static void see_also(FILE *out, const char *text)
{
	struct help_section parts;
	struct help_part part;

	fputs(".SH \"SEE ALSO\"\n.BR shinyctl (1)", out);
	if (help_section(text, "SEE ALSO", &parts) && help_next(&parts, &part))
		for (const char *p = part.text, *end = p + part.text_bytes; p < end;) {
			size_t bytes = 0;

			while (p + bytes < end && islower((unsigned char)p[bytes]))
				bytes++;
			if (bytes)
				fprintf(out, ",\n.BR shinyctl\\-%.*s (1)", (int)bytes, p);
			p += bytes + !bytes;
		}
	putc('\n', out);
}

void help_man_verb(FILE *out, enum verb_id verb)
{
	const struct verb *v = &verbs[verb];
	const char *text = help_text("verbs", v->name);
	char name[LINE];

	snprintf(name, sizeof(name), "shinyctl-%s", v->name);
	title(out, name, text);
	fprintf(out, ".SH SYNOPSIS\n\\fBshinyctl %s\\fR [\\fIOPTION\\fR...] ", v->name);
	roff_text(out, v->operands);
	putc('\n', out);
	named_section(out, text, "DESCRIPTION");
	options(out, verb);
	members(out, verb, text);
	examples(out, text);
	if (verb == VERB_RUN || verb == VERB_COLLECT)
		variables(out);
	statuses(out, verb);
	see_also(out, text);
}

static void topic(FILE *out, const char *name)
{
	struct help_section parts;

	fputs(".SH ", out);
	for (const char *p = name; *p; p++)
		putc(toupper((unsigned char)*p), out);
	putc('\n', out);
	if (help_section(help_text("topics", name), "DESCRIPTION", &parts))
		section(out, parts, true);
}

void help_man(FILE *out)
{
	const char *text = help_text("", "shinyctl"), *name;

	title(out, "shinyctl", text);
	fputs(".SH SYNOPSIS\n\\fBshinyctl\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] "
	      "[\\fIARGUMENT\\fR...]\n",
	      out);
	named_section(out, text, "DESCRIPTION");
	fputs(".SH VERBS\nEach verb has a manual page of its own, such as\n.BR shinyctl\\-report "
	      "(1).\n",
	      out);
	for (size_t g = 0; g < VERB_GROUPS; g++) {
		fprintf(out, ".SS \"%s\"\n", help_groups[g]);
		for (size_t v = 0; v < VERB_COUNT; v++) {
			char summary[LINE];

			if (verbs[v].group != g)
				continue;
			help_summary(help_text("verbs", verbs[v].name), summary, sizeof(summary));
			term(out, verbs[v].name, strlen(verbs[v].name));
			roff_text(out, summary);
			putc('\n', out);
		}
	}
	for (size_t i = 0; (name = help_in("topics", i)); i++)
		topic(out, name);
	variables(out);
	named_section(out, text, "EXIT STATUS");
	fputs(".PP\nSome verbs have further statuses; see their pages.\n", out);
	named_section(out, text, "FILES");
	examples(out, text);
	fputs(".SH \"SEE ALSO\"\n.BR shinyctl\\-run (1),\n.BR shinyctl\\-report (1),\n"
	      ".BR sqlite3 (1),\n.BR ld.so (8)\n",
	      out);
}
