/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_text.h: reads the texts of src/ctl/help, which are compiled in, and splits them into parts.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * A text is named by its path without the suffix: "verbs/report", "topics/units", "options". Its
 * first line is a summary. Then come sections. A line of capitals begins one: DESCRIPTION, OPTIONS,
 * EXAMPLES, … A section consists of parts:
 *
 *     A paragraph begins at the margin and ends at an empty line.
 *
 *       a line indented by two columns is printed as it is
 *
 *     term
 *         A definition is indented by four columns.
 */
#ifndef SHINY_HELP_TEXT_H
#define SHINY_HELP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum help_part_kind { HELP_PARAGRAPH, HELP_VERBATIM, HELP_DEFINITION };

struct help_part {
	enum help_part_kind kind;
	bool apart;              /* an empty line precedes it */
	const char *term;        /* of a definition */
	size_t term_bytes;
	const char *text;        /* words of a paragraph or definition, to be wrapped */
	size_t text_bytes;
};

struct help_section {
	const char *at, *end; /* the rest for help_next() */
};

/* Returns the name of the `index`-th text in a folder, without "FOLDER/"; NULL: no more. */
const char *help_in(const char *folder, size_t index);

/* Returns a text; NULL: there is none of that name. */
const char *help_text(const char *folder, const char *name);
/* Copies its first line. */
void help_summary(const char *text, char *out, size_t room);
/* Finds a section of `text`, which may be NULL; false: there is none, and `out` is empty. */
bool help_section(const char *text, const char *name, struct help_section *out);
/* Takes the section's next part; false: no more. */
bool help_next(struct help_section *section, struct help_part *out);
/* Finds the definition of `term` in that section; false: there is none. */
bool help_define(const char *text, const char *section, const char *term, struct help_part *out);

#endif
