/* SPDX-License-Identifier: Apache-2.0 */
#include "help_text.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *text;
} texts[] = {
#include "help_texts.h" /* generated from src/ctl/help */
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

enum { TERM_INDENT = 0, VERBATIM_INDENT = 2, DEFINITION_INDENT = 4 };

static size_t line_bytes(const char *line, const char *end)
{
	const char *stop = memchr(line, '\n', (size_t)(end - line));

	return (size_t)((stop ? stop : end) - line);
}

static const char *next_line(const char *line, const char *end)
{
	line += line_bytes(line, end);
	return line < end ? line + 1 : end;
}

static size_t indent_of(const char *line, const char *end)
{
	size_t indent = 0;

	while (line + indent < end && line[indent] == ' ')
		indent++;
	return indent;
}

static bool is_empty(const char *line, const char *end)
{
	return line >= end || *line == '\n';
}

static bool is_definition(const char *line, const char *end)
{
	return !is_empty(line, end) && indent_of(line, end) == DEFINITION_INDENT;
}

/* True for a line of capitals, unless a definition follows, which makes it a term. */
static bool is_heading(const char *line, const char *end)
{
	size_t bytes = line_bytes(line, end);

	if (!bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((line[i] < 'A' || line[i] > 'Z') && line[i] != ' ')
			return false;
	line = next_line(line, end);
	return !is_empty(line, end) && !is_definition(line, end);
}

const char *help_in(const char *folder, size_t index)
{
	size_t bytes = strlen(folder);

	for (size_t i = 0; i < TEXTS; i++)
		if (strncmp(texts[i].name, folder, bytes) == 0 && texts[i].name[bytes] == '/' &&
		    !index--)
			return texts[i].name + bytes + 1;
	return NULL;
}

const char *help_text(const char *folder, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
	for (size_t i = 0; i < TEXTS; i++)
		if (strcmp(texts[i].name, path) == 0)
			return texts[i].text;
	return NULL;
}

void help_summary(const char *text, char *out, size_t room)
{
	snprintf(out, room, "%.*s", (int)strcspn(text, "\n"), text);
}

bool help_section(const char *text, const char *name, struct help_section *out)
{
	const char *end = text ? text + strlen(text) : NULL, *line = text;
	size_t bytes = strlen(name);
	bool blank = false;

	*out = (struct help_section){ 0 };
	for (; line < end; line = next_line(line, end)) {
		bool heading = blank && is_heading(line, end);

		if (heading && out->at) {
			out->end = line;
			return true;
		}
		if (heading && line_bytes(line, end) == bytes && strncmp(line, name, bytes) == 0)
			out->at = next_line(line, end);
		blank = is_empty(line, end);
	}
	out->end = out->at ? end : NULL;
	return out->at != NULL;
}

bool help_next(struct help_section *section, struct help_part *out)
{
	const char *at = section->at, *end = section->end, *line;

	*out = (struct help_part){ 0 };
	for (; at < end && is_empty(at, end); at = next_line(at, end))
		out->apart = true;
	if (at >= end)
		return false;
	line = next_line(at, end);
	if (indent_of(at, end) == VERBATIM_INDENT) {
		out->kind = HELP_VERBATIM;
		out->text = at + VERBATIM_INDENT;
		out->text_bytes = line_bytes(at, end) - VERBATIM_INDENT;
		section->at = line;
		return true;
	}
	out->text = at;
	if (is_definition(line, end)) {
		out->kind = HELP_DEFINITION;
		out->term = at;
		out->term_bytes = line_bytes(at, end);
		out->text = line + DEFINITION_INDENT;
		while (is_definition(line, end))
			line = next_line(line, end);
	} else {
		while (!is_empty(line, end) && indent_of(line, end) == TERM_INDENT &&
		       !is_definition(next_line(line, end), end))
			line = next_line(line, end);
	}
	out->text_bytes = (size_t)(line - out->text);
	while (out->text_bytes && out->text[out->text_bytes - 1] == '\n')
		out->text_bytes--;
	section->at = line;
	return true;
}

bool help_define(const char *text, const char *section, const char *term, struct help_part *out)
{
	struct help_section parts;

	if (!help_section(text, section, &parts))
		return false;
	while (help_next(&parts, out))
		if (out->kind == HELP_DEFINITION && strlen(term) == out->term_bytes &&
		    strncmp(out->term, term, out->term_bytes) == 0)
			return true;
	return false;
}
