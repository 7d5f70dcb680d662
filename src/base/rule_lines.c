/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "mem.h"

enum { FILE_MAX = 4 << 20 };
static const char blanks[] = " \t\r\v\f";

struct shiny_err *rule_lines_open(const char *path, const char *what, struct rule_lines *out)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *text = NULL;
	size_t bytes;

	if (!file)
		return shiny_err_os(errno, "cannot read the %s %s", what, path);
	text = mem_alloc(FILE_MAX + 1);
	bytes = fread(text, 1, FILE_MAX, file);
	if (ferror(file))
		return shiny_err_os(errno ? errno : EIO, "cannot read the %s %s", what, path);
	text[bytes] = '\0';
	if (strlen(text) != bytes || fgetc(file) != EOF)
		return shiny_err(SHINY_ERR_USAGE, "%s %s: not a text of at most %d MB", what, path,
				 FILE_MAX >> 20);
	*out = rule_lines_of(mem_resize(shiny_steal(text), bytes + 1, 1), path);
	return NULL;
}

struct rule_lines rule_lines_of(char *text, const char *name)
{
	return (struct rule_lines){ .file = name, .text = text, .next = text };
}

char *rule_lines_next(struct rule_lines *lines)
{
	while (lines->next) {
		char *line = lines->next + strspn(lines->next, blanks);
		char *end = line + strcspn(line, "\n");

		lines->next = *end ? end + 1 : NULL;
		lines->number++;
		while (end > line && strchr(blanks, end[-1]))
			end--;
		*end = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

struct shiny_err *rule_lines_wrong(const struct rule_lines *lines, const char *format, ...)
{
	AUTO_FREE char *why = NULL;
	va_list args;

	va_start(args, format);
	why = mem_format_list(format, args);
	va_end(args);
	return shiny_err(SHINY_ERR_USAGE, "%s:%u: %s", lines->file, lines->number, why);
}
