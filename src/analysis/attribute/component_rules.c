/* SPDX-License-Identifier: Apache-2.0 */
/* component_rules.c: see component_rules.h. The format stands in components.rules. */
#include "component_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/rule_lines.h"

static const char builtin[] =
#include "components_rules.h"
	;

enum { RULES_MAX = 20000 };

const char *const component_kind_names[COMPONENT_KINDS] = {
	[COMPONENT_FUNCTION] = "function",
	[COMPONENT_SOURCE] = "source",
	[COMPONENT_MODULE] = "module",
};

/* ---- reading ---- */

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

/* Parses one line, cutting it into words. */
static struct shiny_err *parse(const struct rule_lines *lines, char *line,
			       struct component_rule *out)
{
	char *rest = NULL, *words[5] = { line };
	size_t count = 0, kind = 0;

	*out = (struct component_rule){ .file = lines->file, .line = lines->number };
	for (char *word = strtok_r(line, " \t", &rest); word && *word != '#';
	     word = strtok_r(NULL, " \t", &rest)) {
		if (count == 5)
			return rule_lines_wrong(lines, "too many words at '%s'", word);
		words[count++] = word;
	}
	while (kind < COMPONENT_KINDS && strcmp(words[0], component_kind_names[kind]) != 0)
		kind++;
	if (kind == COMPONENT_KINDS)
		return rule_lines_wrong(lines, "not function, source or module: '%s'", words[0]);
	if (count < 3)
		return rule_lines_wrong(lines, "a pattern and a component are needed after '%s'",
					words[count - 1]);
	if (!good_pattern(words[1]))
		return rule_lines_wrong(lines, "a [ without characters and ] in '%s'", words[1]);
	if (!good_component(words[2], stars_in(words[1])))
		return rule_lines_wrong(lines,
					"braces that are not {1} to {9}, or more than the pattern "
					"has stars, in '%s'",
					words[2]);
	out->kind = (enum component_kind)kind;
	out->component = strcmp(words[2], "-") ? words[2] : NULL;
	for (size_t i = 3; i < count; i++) {
		if (strcmp(words[i], "weak") == 0)
			out->weak = true;
		else if (strcmp(words[i], "stop") == 0)
			out->stop = true;
		else
			return rule_lines_wrong(lines, "not weak or stop: '%s'", words[i]);
	}
	out->pattern = words[1];
	return NULL;
}

/* Parses the lines, whose text the rules then own. */
static struct shiny_err *add_all(struct component_rules *rules, struct rule_lines *lines, bool user)
{
	rules->texts = mem_resize(rules->texts, rules->text_count + 1, sizeof(*rules->texts));
	rules->texts[rules->text_count++] = lines->text;
	for (char *line; (line = rule_lines_next(lines));) {
		struct component_rule rule;

		SHINY_TRY(parse(lines, line, &rule));
		if (rules->count == RULES_MAX)
			return rule_lines_wrong(lines, "too many rules at '%s'", rule.pattern);
		rule.user = user;
		*vec_push(rules) = rule;
	}
	return NULL;
}

struct shiny_err *component_rules_load(const char *const *paths, size_t count,
				       struct component_rules **out)
{
	struct component_rules *rules = mem_zero(1, sizeof(*rules));
	struct rule_lines lines;
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		err = rule_lines_open(paths[i], "component rules", &lines);
		if (!err)
			err = add_all(rules, &lines, true);
	}
	if (!err) {
		lines = rule_lines_of(mem_text(builtin), "components.rules");
		err = add_all(rules, &lines, false);
	}
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

bool component_pattern_matches(const char *pattern, enum component_kind kind, const char *text,
			       size_t length, struct component_match *out)
{
	const struct glob glob = { pattern, true, kind == COMPONENT_FUNCTION ? "<" : NULL };

	return glob_match(&glob, text, length, out->stars, COMPONENT_STARS);
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
