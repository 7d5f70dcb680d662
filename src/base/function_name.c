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
