/* SPDX-License-Identifier: Apache-2.0 */
/* component_rules.c: see component_rules.h. The format stands in components.rules. */
#include "component_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"

static const char builtin[] =
#include "components_rules.h"
	;

enum { RULES_MAX = 20000, FILE_MAX = 4 << 20 };
#define BUILTIN_NAME "components.rules"

const char *const component_kind_names[COMPONENT_KINDS] = {
	[COMPONENT_FUNCTION] = "function",
	[COMPONENT_SOURCE] = "source",
	[COMPONENT_MODULE] = "module",
};

/* ---- reading ---- */

static struct shiny_err *wrong(const char *file, unsigned line, const char *what, const char *word)
{
	return shiny_err(SHINY_ERR_USAGE, "%s:%u: %s '%s'", file, line, what, word);
}

static size_t stars_in(const char *pattern)
{
	size_t stars = 0;

	for (; *pattern; pattern++)
		stars += *pattern == '*';
	return stars;
}

/* Checks that every { begins {1} to {9}, and that the pattern has that many stars. */
static bool good_component(const char *text, size_t stars)
{
	for (const char *c = text; *c; c++) {
		if (*c == '}')
			return false;
		if (*c != '{')
			continue;
		if (c[1] < '1' || c[1] > '9' || c[2] != '}' || (size_t)(c[1] - '0') > stars)
			return false;
		c += 2;
	}
	return true;
}

static bool good_pattern(const char *pattern)
{
	for (const char *c = pattern; *c; c++) {
		if (*c == '[' && (c[1] == ']' || !(c = strchr(c + 1, ']'))))
			return false;
	}
	return true;
}

/* Parses one line, cutting it into words. An empty line leaves out->pattern NULL. */
static struct shiny_err *parse(char *line, const char *file, unsigned number,
			       struct component_rule *out)
{
	char *rest = NULL, *words[5];
	size_t count = 0, kind = 0;

	*out = (struct component_rule){.file = file, .line = number};
	for (char *word = strtok_r(line, " \t\r", &rest); word && *word != '#';
	     word = strtok_r(NULL, " \t\r", &rest)) {
		if (count == 5)
			return wrong(file, number, "too many words at", word);
		words[count++] = word;
	}
	if (!count)
		return NULL;
	while (kind < COMPONENT_KINDS && strcmp(words[0], component_kind_names[kind]) != 0)
		kind++;
	if (kind == COMPONENT_KINDS)
		return wrong(file, number, "not function, source or module:", words[0]);
	if (count < 3)
		return wrong(file, number, "a pattern and a component are needed after",
			     words[count - 1]);
	if (!good_pattern(words[1]))
		return wrong(file, number, "a [ without characters and ] in", words[1]);
	if (!good_component(words[2], stars_in(words[1])))
		return wrong(
			file, number,
			"braces that are not {1} to {9}, or more than the pattern has stars, in",
			words[2]);
	out->kind = (enum component_kind)kind;
	out->component = strcmp(words[2], "-") ? words[2] : NULL;
	for (size_t i = 3; i < count; i++) {
		if (strcmp(words[i], "weak") == 0)
			out->weak = true;
		else if (strcmp(words[i], "stop") == 0)
			out->stop = true;
		else
			return wrong(file, number, "not weak or stop:", words[i]);
	}
	out->pattern = words[1];
	return NULL;
}

/* Parses `text`, which the rules then own. */
static struct shiny_err *add_all(struct component_rules *rules, char *text, const char *file,
				 bool user)
{
	unsigned number = 0;

	rules->texts = mem_resize(rules->texts, rules->text_count + 1, sizeof(*rules->texts));
	rules->texts[rules->text_count++] = text;
	for (char *line = text, *next; line; line = next) {
		struct component_rule rule;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		SHINY_TRY(parse(line, file, number, &rule));
		if (!rule.pattern)
			continue;
		if (rules->count == RULES_MAX)
			return wrong(file, number, "too many rules at", rule.pattern);
		rule.user = user;
		*vec_push(rules) = rule;
	}
	return NULL;
}

static struct shiny_err *read_all(const char *path, char **out)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *text = NULL;
	size_t bytes;

	if (!file)
		return shiny_err_os(errno, "component rules %s", path);
	text = mem_alloc(FILE_MAX + 1);
	bytes = fread(text, 1, FILE_MAX, file);
	if (ferror(file))
		return shiny_err_os(errno ? errno : EIO, "component rules %s", path);
	text[bytes] = '\0';
	if (strlen(text) != bytes || fgetc(file) != EOF)
		return shiny_err(SHINY_ERR_USAGE, "component rules %s: not a text of at most %d MB",
				 path, FILE_MAX >> 20);
	*out = mem_resize(shiny_steal(text), bytes + 1, 1);
	return NULL;
}

struct shiny_err *component_rules_load(const char *const *paths, size_t count,
				       struct component_rules **out)
{
	struct component_rules *rules = mem_zero(1, sizeof(*rules));
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		char *text = NULL;

		err = read_all(paths[i], &text);
		if (!err)
			err = add_all(rules, text, paths[i], true);
	}
	if (!err)
		err = add_all(rules, mem_text(builtin), BUILTIN_NAME, false);
	if (err) {
		component_rules_free(rules);
		return err;
	}
	*out = rules;
	return NULL;
}

void component_rules_free(struct component_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->text_count; i++)
		free(rules->texts[i]);
	free(rules->texts);
	free(rules->at);
	free(rules);
}

/* ---- matching ---- */

/* Matches one character against the pattern's next element; returns the element's end, or NULL. */
static const char *one(const char *pattern, char c)
{
	bool inside = false;

	if (*pattern != '[')
		return *pattern == c ? pattern + 1 : NULL;
	for (pattern++; *pattern != ']'; pattern++) {
		if (pattern[1] == '-' && pattern[2] != ']') {
			inside = inside || (c >= pattern[0] && c <= pattern[2]);
			pattern += 2;
		} else {
			inside = inside || c == *pattern;
		}
	}
	return inside ? pattern + 1 : NULL;
}

/* Each star matches as little as the rest allows. Only the last star backtracks: time is the
 * product of the lengths. */
bool component_pattern_matches(const char *pattern, enum component_kind kind, const char *text,
			       size_t length, struct component_match *out)
{
	const char *end = text + length, *star = NULL, *from = NULL, *next;
	size_t stars = 0;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			if (++stars <= COMPONENT_STARS) {
				out->stars[stars - 1].text = text;
				out->stars[stars - 1].length = 0;
			}
			if (!*pattern)
				text = end;
		}
		if (*pattern == '*')
			continue;
		if (!*pattern && (text == end || (kind == COMPONENT_FUNCTION && *text == '<')))
			break;
		if (*pattern && text < end && (next = one(pattern, *text))) {
			pattern = next;
			text++;
			continue;
		}
		if (!star || from >= end)
			return false;
		pattern = star;
		text = ++from;
		if (stars <= COMPONENT_STARS)
			out->stars[stars - 1].length++;
	}
	if (star && !*star && stars <= COMPONENT_STARS)
		out->stars[stars - 1].length = (size_t)(end - from);
	return true;
}

char *component_rule_name(const struct component_rule *rule, const struct component_match *match)
{
	char *name = NULL;
	size_t size;
	FILE *out = mem_stream_open(&name, &size);

	for (const char *c = rule->component; *c; c++) {
		if (*c == '{') {
			fwrite(match->stars[c[1] - '1'].text, 1, match->stars[c[1] - '1'].length,
			       out);
			c += 2;
		} else {
			putc(*c, out);
		}
	}
	mem_stream_close(out);
	if (size)
		return name;
	free(name);
	return mem_text("(empty)");
}
