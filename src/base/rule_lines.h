/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_lines.h: reads the lines of a file with a rule a line: components.rules, containers.rules,
 * the files of --owners, --rules and --suppressions. Blank lines and those that begin with # are
 * comments; the others lose the blanks around them.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the file's text. Threads: any, one a reader.
 */
#ifndef SHINY_RULE_LINES_H
#define SHINY_RULE_LINES_H

#include "err.h"

struct rule_lines {
	const char *file; /* for messages */
	char *text;	  /* the caller frees it, with the lines, which lie in it */
	char *next;	  /* the rest of the text; NULL: none */
	unsigned number;  /* of the last line read, from 1 */
};

/* Reads a file of at most 4 MB. `what`: its kind, for messages: "component rules". */
SHINY_MUST_CHECK struct shiny_err *rule_lines_open(const char *path, const char *what,
						   struct rule_lines *out);
/* Takes a text that is no file's, and belongs to the lines. */
struct rule_lines rule_lines_of(char *text, const char *name);

/* Returns the next rule, which the caller may cut; NULL: there are no more. */
char *rule_lines_next(struct rule_lines *lines);

/* Returns a usage error in the last line. */
SHINY_MUST_CHECK struct shiny_err *rule_lines_wrong(const struct rule_lines *lines,
						    const char *format, ...) SHINY_PRINTF(2, 3);

#endif
