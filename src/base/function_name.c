/* SPDX-License-Identifier: Apache-2.0 */
#include "function_name.h"

#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

/* The name starts behind the last space outside brackets in front of the argument list, unless that
 * space belongs to "operator new" or "operator char". */
const char *function_name_start(const char *text)
{
	const char *start = text, *operator_at = strstr(text, "operator");
	int depth = 0;

	for (const char *c = text; *c; c++) {
		if (operator_at && c == operator_at)
			return start;
		if (*c == '<')
			depth++;
		else if (*c == '>')
			depth--;
		else if (*c == '(' && depth == 0 && strncmp(c, ANONYMOUS, strlen(ANONYMOUS)) != 0)
			return start;
		else if (*c == ' ' && depth == 0 && strncmp(c, " namespace)", 11) != 0)
			start = c + 1;
	}
	return start;
}

size_t function_name_length(const char *start)
{
	int depth = 0;

	for (const char *c = start; *c; c++) {
		if (strncmp(c, "operator", 8) == 0 && (c == start || c[-1] == ':')) {
			c += 8;
			/* not brackets of templates */
			c += strncmp(c, "()", 2) == 0 ? 2 : strspn(c, "<>-=");
			c--;
		} else if (*c == '<' || *c == '{') {
			depth++;
		} else if (*c == '>' || *c == '}') {
			depth--;
		} else if (*c == '(' && depth <= 0) {
			if (strncmp(c, ANONYMOUS, strlen(ANONYMOUS)) != 0)
				return (size_t)(c - start);
			c += strlen(ANONYMOUS) - 1;
		} else if (*c == '@' && depth <= 0) {
			return (size_t)(c - start);
		}
	}
	return strlen(start);
}

/* Finds the end of a function's arguments; NULL: it has none. */
static const char *arguments_end(const char *name_end)
{
	int depth = 0;

	for (const char *c = name_end; *c; c++) {
		depth += (*c == '(') - (*c == ')');
		if (!depth)
			return *c == ')' ? c + 1 : NULL;
	}
	return NULL;
}

bool function_name_find(const char *text, struct function_name_parts *out)
{
	static const char arrow[] = " \xe2\x86\x90 ", in[] = " in ";
	const char *address = strstr(text, "+0x"), *caller = strstr(text, arrow), *after;
	size_t digits = address ? strspn(address + 3, "0123456789abcdef") : 0;
	bool nameless = address && address < text + strcspn(text, " (<:");

	after = nameless ? address + 3 + digits : text;
	out->front = nameless ? address : text;
	if (nameless && strncmp(after, in, strlen(in)) == 0) {
		out->start = after + strlen(in);
		out->end = text + strlen(text);
		return true;
	}
	if (nameless && after != caller)
		return false;
	out->start = nameless ? caller + strlen(arrow) : text;
	if (nameless || !caller || memchr(text, '(', (size_t)(caller - text)))
		out->start = function_name_start(out->start);
	out->end = out->start + function_name_length(out->start);
	if (!nameless && caller && out->end > caller)
		out->end = caller;
	if (out->end == out->start)
		return false;
	after = *out->end == '(' && out->end[-1] != ' ' ? arguments_end(out->end) : NULL;
	/* "f(int)::local" is a type, or a function of one */
	if (*out->end == '(')
		return after && strncmp(after, "::", 2) != 0;
	return nameless || caller;
}

const char *function_name_next(const char *start, const char *end)
{
	int depth = 0;

	for (const char *c = start; c + 2 < end; c++) {
		depth += (*c == '<' || *c == '(' || *c == '{') -
			 (*c == '>' || *c == ')' || *c == '}');
		if (depth <= 0 && (*c == '/' || strncmp(c, "::", 2) == 0))
			return c + (*c == '/' ? 1 : 2);
	}
	return NULL;
}
