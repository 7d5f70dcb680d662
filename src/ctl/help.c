/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <string.h>

#include "../base/text.h"
#include "env_table.h"
#include "options.h"

static const char *const groups[VERB_GROUPS] = {
	[VERBS_RECORD] = "Record", [VERBS_READ] = "Read", [VERBS_HELP] = "Help"
};
static const struct { int status; const char *text;
} statuses[] = {
	{ 0, "fine; for run: the program's own status" },
	{ 1, "a check failed" },
	{ 2, "the command line is wrong" },
	{ 3, "events were lost, and --strict was given; for check: a session is incomplete or "
	     "cannot be read" },
	{ 4, "anything else, such as a file that cannot be read" },
};
static const struct { const char *command, *text;
} examples[] = {
	{ "shinyctl run -- chromium --headless https://example.org",
	  "record a browser and all its processes" },
	{ "shinyctl run -o /tmp/%e.%p.shiny -d 32 make", "deeper stacks, files elsewhere" },
	{ "shinyctl report chromium.4711.shiny", "the front page" },
	{ "shinyctl types -p renderer -s bytes chromium.4711.shiny", "the types of the renderers" },
	{ "shinyctl sites --stacks -m '*Layout*' chromium.4711.shiny",
	  "who allocates there, with stacks" },
	{ "shinyctl types --members blink::LayoutBlockFlow chromium.4711.shiny",
	  "its layout, and what its holes cost" },
	{ "shinyctl explain chromium.4711.shiny page.cc:42",
	  "why the blocks made there have their type" },
	{ "shinyctl diff old.shiny new.shiny", "what grew between two builds" },
	{ "shinyctl check new.shiny --base old.shiny leaks==0 'allocs +1%'",
	  "limits, with an exit status" },
	{ "shinyctl symbols /usr/lib/libfoo.so",
	  "work out its types ahead of time, say what debug information is missing" },
	{ "sqlite3 chromium.4711.shiny 'SELECT * FROM v_types LIMIT 5'",
	  "a session is a database" },
};

/* What the numbers mean, of a session of many processes; said here and nowhere else. */
static const struct { const char *name, *text;
} definitions[] = {
	{ "allocations", "Blocks that began, in all processes: each successful call of an "
			 "allocation function. A realloc ends one and begins another. Bytes are "
			 "those that were asked for, and what an object grew by in place. Also "
			 "called total, or in all." },
	{ "freed",
	  "Blocks that ended: freed by the program, or swept by its garbage collector; with what "
	  "objects shrank by in place. `frees` in JSON and in the "
	  "views counts calls, and so also those for inherited blocks (inherited_frees)." },
	{ "session's end", "Programs of several processes end one process after the other, and "
			   "what they held counts as live until the last has ended. A process "
			   "ended before the session's end (early in the views) if the session "
			   "went on without it: another process began, and what is live rose "
			   "again, above what its end had left, by as much as it had held or by a "
			   "tenth; and always if exec replaced it." },
	{ "live at the end", "Blocks that are live at the session's end. Of a single program: what "
			     "nobody had freed when it ended. Of a script: what the shell "
			     "and its last command held. Of a browser: what it held with the pages "
			     "that were open until it closed." },
	{ "gone", "Blocks that nobody freed, of processes that ended before the session's end: "
		  "exit, exec or a signal gave them back. They never were live "
		  "together. `leaks` is about these, too." },
	{ "inherited", "Copies that a fork made of what the parent held. They share its pages "
		       "until somebody writes to them: so they are in none of the "
		       "other numbers, except for frees, and `pages`, which says what lies on a "
		       "process's pages." },
	{ "live at a moment, peak",
	  "The sum over the processes that run then. The peak is the highest that this sum ever "
	  "was, to the very event, however short "
	  "a process lives; a process's own is the highest of its own." },
};
#define DEFINITIONS_SUM                                                                         \
	"allocations = freed + gone + live at the end, in blocks and in bytes, in each row of " \
	"each report: by type, call site, process, tag."

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *help_of(const struct option_spec *spec)
{
	return spec->env >= 0 ? env_specs[spec->env].help : spec->help;
}

static const char *fallback_of(const struct option_spec *spec)
{
	return spec->env >= 0 ? env_specs[spec->env].fallback : spec->fallback;
}

static const char *allowed_of(const struct option_spec *spec)
{
	return spec->env >= 0 ? env_specs[spec->env].allowed : spec->allowed;
}

/* "what it takes, default X" of an option or a variable; empty where there is nothing to say */
static void value_notes(enum value_kind kind, const char *allowed, const char *fallback, char *out,
			size_t room)
{
	size_t at = 0;

	*out = 0;
	if (allowed[0] && kind != VALUE_TEXT) {
		value_describe(kind, allowed, out, room);
		at = strlen(out);
	}
	if (fallback[0])
		snprintf(out + at, room - at, "%sdefault %s", at ? "; " : "", fallback);
}

/* `text` wrapped at `width`, continuation lines indented; the cursor stands at `indent`. */
static void wrap(FILE *out, const char *text, size_t indent, size_t width)
{
	size_t at = indent;

	while (*text) {
		size_t length = strcspn(text, " \n");
		char word[512];

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (at > indent && at + 1 + text_columns(word) > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', out);
			at++;
		}
		fputs(word, out);
		at += text_columns(word);
		text += length;
		if (text[0] == '\n' && text[1] == '\n') {
			fprintf(out, "\n\n%*s", (int)indent, "");
			at = indent;
		}
		text += strspn(text, " \n");
	}
	putc('\n', out);
}

static size_t width_of(const struct style *style)
{
	return style->width && style->width < 100 ? style->width : 100;
}

static void heading(const struct style *style, const char *text)
{
	fprintf(style->out, "\n%s%s%s\n", tint(style, TINT_BOLD), text, tint_end(style, TINT_BOLD));
}

void help_all(const struct style *style)
{
	fprintf(style->out, "shinyctl: every heap object of an unmodified program: its type, call "
			    "site, size and life\n\n"
			    "usage: shinyctl VERB [OPTION...] [ARGUMENT...]\n");
	for (size_t g = 0; g < VERB_GROUPS; g++) {
		heading(style, groups[g]);
		for (size_t v = 0; v < VERB_COUNT; v++) {
			if (verbs[v].group != g)
				continue;
			fprintf(style->out, "  %s%-10s%s  ", tint(style, TINT_NAME), verbs[v].name,
				tint_end(style, TINT_NAME));
			wrap(style->out, verbs[v].summary, 14, width_of(style));
		}
	}
	heading(style, "Examples");
	for (size_t i = 0; i < COUNT(examples); i++)
		fprintf(style->out, "  %s\n      %s\n", examples[i].command, examples[i].text);
	fprintf(style->out, "\n`shinyctl help VERB` says more, `shinyctl help " HELP_DEFINITIONS
			    "` what the numbers mean, `man shinyctl` all.\n");
}

static void option_name(const struct option_spec *spec, char *out, size_t room)
{
	char letter[8] = "";

	if (spec->letter)
		snprintf(letter, sizeof(letter), "-%c, ", spec->letter);
	snprintf(out, room, "%s--%s%s%s", letter, spec->name, spec->kind == VALUE_FLAG ? "" : " ",
		 spec->kind == VALUE_FLAG ? "" : spec->arg);
}

void help_definitions(const struct style *style)
{
	fprintf(style->out, "What the numbers mean, in every report, in --json and in the views\n");
	for (size_t i = 0; i < COUNT(definitions); i++) {
		heading(style, definitions[i].name);
		fputs("  ", style->out);
		wrap(style->out, definitions[i].text, 2, width_of(style));
	}
	putc('\n', style->out);
	wrap(style->out, DEFINITIONS_SUM, 0, width_of(style));
}

void help_verb(const struct style *style, enum verb_id verb)
{
	const struct verb *v = &verbs[verb];
	size_t width = width_of(style);
	bool any = false;

	fprintf(style->out, "usage: shinyctl %s [OPTION...] %s\n\n", v->name, v->operands);
	wrap(style->out, v->description, 0, width);
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		char name[64], notes[200], text[400];

		if (!(spec->verbs >> verb & 1))
			continue;
		if (!any)
			heading(style, "Options");
		any = true;
		option_name(spec, name, sizeof(name));
		value_notes(spec->kind, allowed_of(spec), fallback_of(spec), notes, sizeof(notes));
		snprintf(text, sizeof(text), "%s%s%s%s%s%s", help_of(spec),
			 *notes || spec->env >= 0 ? " (" : "", notes,
			 spec->env >= 0 && *notes ? "; " : "",
			 spec->env >= 0 ? env_specs[spec->env].name : "",
			 *notes || spec->env >= 0 ? ")" : "");
		fprintf(style->out, "  %s%-24s%s  ", tint(style, TINT_NAME), name,
			tint_end(style, TINT_NAME));
		if (strlen(name) > 24)
			fprintf(style->out, "\n%28s", "");
		wrap(style->out, text, 28, width);
	}
	if (verb == VERB_RUN || verb == VERB_COLLECT) {
		heading(style, "Environment");
		for (size_t i = 0; i < ENV_COUNT; i++) {
			char notes[200], text[400];

			value_notes(env_specs[i].kind, env_specs[i].allowed, env_specs[i].fallback,
				    notes, sizeof(notes));
			snprintf(text, sizeof(text), "%s%s%s%s", env_specs[i].help,
				 *notes ? " (" : "", notes, *notes ? ")" : "");
			fprintf(style->out, "  %s%-24s%s  ", tint(style, TINT_NAME),
				env_specs[i].name, tint_end(style, TINT_NAME));
			wrap(style->out, text, 28, width);
		}
	}
	if (verbs[verb].group == VERBS_READ)
		fprintf(style->out, "\n`shinyctl help " HELP_DEFINITIONS
				    "`: what live, gone, inherited and peak mean\n");
	heading(style, "Exit status");
	for (size_t i = 0; i < COUNT(statuses); i++)
		fprintf(style->out, "  %d  %s\n", statuses[i].status, statuses[i].text);
}

/* ---- the manual page ---- */

/* Text for troff: backslashes, hyphens that are minus signs, and no line that begins as a
 * request. */
static void roff(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (text[0] == '\n' && text[1] == '\n') {
			fputs("\n.PP\n", out);
			text++;
			line_start = true;
			continue;
		}
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\'')
			fputs("\\(aq", out);
		else if (*text == '`')
			fputs("\\(ga", out);
		else if (*text == '~')
			fputs("\\(ti", out);
		else if (*text == '^')
			fputs("\\(ha", out);
		else
			putc(*text, out);
		line_start = *text == '\n';
	}
}

static void roff_line(FILE *out, const char *before, const char *text, const char *after)
{
	fputs(before, out);
	roff(out, text);
	fputs(after, out);
}

static void man_options(FILE *out, enum verb_id verb)
{
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		char notes[200];

		if (!(spec->verbs >> verb & 1))
			continue;
		value_notes(spec->kind, allowed_of(spec), fallback_of(spec), notes, sizeof(notes));
		fputs(".TP\n", out);
		if (spec->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", spec->letter);
		roff_line(out, "\\fB\\-\\-", spec->name, "\\fR");
		if (spec->kind != VALUE_FLAG)
			roff_line(out, " \\fI", spec->arg, "\\fR");
		roff_line(out, "\n", help_of(spec), "");
		if (*notes)
			roff_line(out, " (", notes, ")");
		if (spec->env >= 0)
			roff_line(out, ". Environment: \\fB", env_specs[spec->env].name, "\\fR");
		putc('\n', out);
	}
}

/* "name: meaning" lines of a verb's JSON document */
static void man_json(FILE *out, const char *json)
{
	while (*json) {
		size_t length = strcspn(json, "\n"), name = strcspn(json, ":");
		char part[600];

		snprintf(part, sizeof(part), "%.*s", (int)(name < length ? name : length), json);
		roff_line(out, ".TP\n\\fB", part, "\\fR\n");
		snprintf(part, sizeof(part), "%.*s", name < length ? (int)(length - name - 1) : 0,
			 json + name + 1);
		if (name < length)
			roff(out, part + strspn(part, " "));
		else
			fputs("As named.", out);
		putc('\n', out);
		json += length + (json[length] == '\n');
	}
}

void help_man(FILE *out)
{
	fprintf(out,
		".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" made by `shinyctl help --man`\n"
		".TH SHINYCTL 1 \"\" \"shiny %s\" \"User Commands\"\n.nh\n.ad l\n"
		".SH NAME\nshinyctl \\- record and show every heap object of an unmodified "
		"program\n"
		".SH SYNOPSIS\n",
		SHINY_VERSION_TEXT);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "%s\\fBshinyctl %s\\fR [\\fIOPTION\\fR...] ", v ? ".br\n" : "",
			verbs[v].name);
		roff_line(out, "", verbs[v].operands, "\n");
	}
	fputs(".SH DESCRIPTION\n", out);
	roff(out, "Shiny shows every heap object of an unmodified C or C++ program: its type, call "
		  "site, size, birth and death. A "
		  "preloaded library copies facts into a mapped ring, a sidecar beside the program "
		  "turns them into a session file, "
		  "and the other verbs read that file. A session file is an SQLite database; its "
		  "views with names that begin with v_ "
		  "are stable.\n\n"
		  "Sizes are given as 64k, 1.5m or 2g (powers of 1024), counts as 1000 or 10k. "
		  "Names are cut to the terminal's "
		  "width, in pipes and files to 120 columns, and with --wide or in JSON not at "
		  "all. Colour is used on a terminal unless NO_COLOR is set.");
	fputs("\n.SH VERBS\n", out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, ".SS \"shinyctl %s\"\n", verbs[v].name);
		roff_line(out, "", verbs[v].description, "\n");
		man_options(out, (enum verb_id)v);
	}
	fputs(".SH DEFINITIONS\n", out);
	for (size_t i = 0; i < COUNT(definitions); i++) {
		roff_line(out, ".TP\n\\fB", definitions[i].name, "\\fR\n");
		roff_line(out, "", definitions[i].text, "\n");
	}
	roff_line(out, ".PP\n", DEFINITIONS_SUM, "\n");
	fputs(".SH JSON\n", out);
	roff(out, "With --json each verb prints one object. Sizes are bytes, times are nanoseconds "
		  "since the session's start unless a "
		  "name says otherwise, addresses are text. Members are added in later versions, "
		  "never renamed. Every document has "
		  "`verb` and `version`.\n");
	for (size_t v = 0; v < VERB_COUNT; v++) {
		if (!verbs[v].json[0])
			continue;
		fprintf(out, ".SS \"%s \\-\\-json\"\n", verbs[v].name);
		man_json(out, verbs[v].json);
	}
	fputs(".SH ENVIRONMENT\n", out);
	for (size_t i = 0; i < ENV_COUNT; i++) {
		char notes[200];

		value_notes(env_specs[i].kind, env_specs[i].allowed, env_specs[i].fallback, notes,
			    sizeof(notes));
		roff_line(out, ".TP\n\\fB", env_specs[i].name, "\\fR\n");
		roff(out, env_specs[i].help);
		if (*notes)
			roff_line(out, " (", notes, ")");
		putc('\n', out);
	}
	fputs(".TP\n\\fBNO_COLOR\\fR\nNo colour, whatever the terminal\n.SH EXIT STATUS\n", out);
	for (size_t i = 0; i < COUNT(statuses); i++) {
		fprintf(out, ".TP\n%d\n", statuses[i].status);
		roff_line(out, "", statuses[i].text, "\n");
	}
	fputs(".PP\nrun exits with the status of the program, or 128 plus the number of the signal "
	      "that ended it; with 4 when the program "
	      "could not be started.\n.SH FILES\n.TP\n\\fI/dev/shm/shiny\\-UID/PID.TICKS\\fR\nThe "
	      "session directory: the rings of the "
	      "processes, while they run\n.SH EXAMPLES\n",
	      out);
	for (size_t i = 0; i < COUNT(examples); i++) {
		roff_line(out, ".TP\n\\fB", examples[i].command, "\\fR\n");
		roff_line(out, "", examples[i].text, "\n");
	}
	fputs(".SH SEE ALSO\n.BR sqlite3 (1),\n.BR ld.so (8)\n", out);
}

/* ---- the completion ---- */

void help_completion(FILE *out)
{
	fputs("# SPDX-License-Identifier: Apache-2.0\n# bash completion for shinyctl, made by "
	      "`shinyctl help --completion`\n"
	      "_shinyctl()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options='' i\n"
	      "\tCOMPREPLY=()\n\tif [[ $COMP_CWORD -eq 1 ]]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++)
		fprintf(out, "%s%s", v ? " " : "", verbs[v].name);
	fputs("' -- \"$cur\"))\n\t\treturn\n\tfi\n\tif [[ $verb == run ]]; then\n"
	      "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n\t\t\tif [[ ${COMP_WORDS[i]} == -- ]]; "
	      "then\n"
	      "\t\t\t\tif [[ $((i + 1)) -eq $COMP_CWORD ]]; then COMPREPLY=($(compgen -c -- "
	      "\"$cur\"))\n"
	      "\t\t\t\telse COMPREPLY=($(compgen -f -- \"$cur\")); "
	      "fi\n\t\t\t\treturn\n\t\t\tfi\n\t\tdone\n\tfi\n"
	      "\tcase $verb$prev in\n",
	      out);
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->kind != VALUE_CHOICE)
			continue;
		for (size_t v = 0; v < VERB_COUNT; v++) {
			if (!(spec->verbs >> v & 1))
				continue;
			fprintf(out, "\t%s--%s) COMPREPLY=($(compgen -W '", verbs[v].name,
				spec->name);
			for (const char *p = allowed_of(spec); *p; p++)
				putc(*p == '|' ? ' ' : *p, out);
			fputs("' -- \"$cur\")); return ;;\n", out);
		}
	}
	fputs("\tesac\n\tcase $verb in\n", out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "\t%s) options='", verbs[v].name);
		for (size_t i = 0; i < OPT_COUNT; i++)
			if (option_specs[i].verbs >> v & 1)
				fprintf(out, "--%s ", option_specs[i].name);
		fputs("--help' ;;\n", out);
	}
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- "
	      "\"$cur\"))\n"
	      "\telif [[ $verb == help ]]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	for (size_t v = 0; v < VERB_COUNT; v++)
		fprintf(out, "%s ", verbs[v].name);
	fputs(HELP_DEFINITIONS "' -- \"$cur\"))\n\telif [[ $verb == run ]]; "
			       "then\n\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
			       "\telse\n\t\tCOMPREPLY=($(compgen -f -- "
			       "\"$cur\"))\n\tfi\n}\ncomplete -o filenames -F _shinyctl shinyctl\n",
	      out);
}

/* ---- README's tables ---- */

void help_markdown(FILE *out)
{
	fputs("| command | what it does |\n|---|---|\n", out);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		fprintf(out, "| `shinyctl %s", verbs[v].name);
		for (const char *p = verbs[v].operands[0] ? verbs[v].operands : ""; *p; p++) {
			if (p == verbs[v].operands)
				putc(' ', out);
			fprintf(out, "%s%c", *p == '|' ? "\\" : "", *p);
		}
		fprintf(out, "` | %s |\n", verbs[v].summary);
	}
	fputs("\n| variable | default | what it does |\n|---|---|---|\n", out);
	for (size_t i = 0; i < ENV_COUNT; i++)
		fprintf(out, "| `%s` | %s%s%s | %s |\n", env_specs[i].name,
			env_specs[i].fallback[0] ? "`" : "", env_specs[i].fallback,
			env_specs[i].fallback[0] ? "`" : "", env_specs[i].help);
}
