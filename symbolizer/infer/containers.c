/* SPDX-License-Identifier: Apache-2.0 */
/* containers.c: see containers.h. containers.rules describes the format. */
#include "containers.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/glob.h"
#include "../../src/base/mem.h"
#include "../../src/base/rule_lines.h"

static const char builtin[] =
#include "containers_rules.h"
	;

enum { RULES_MAX = 20000, WORDS = 6 };

struct container_rules {
	struct container_rule *at;
	size_t count, room, user_count; /* the user's rules come first */
	char *texts[2]; /* texts that the rules' strings lie in: the user's file, the built-in
	                 * table */
	uint64_t hash;
};

static const char *const kinds[] = {
	[CONTAINER_ALLOCATOR] = "allocator", [CONTAINER_CONTAINER] = "container",
	[CONTAINER_MAKER] = "maker",	     [CONTAINER_THROUGH] = "through",
	[CONTAINER_WRAPPER] = "wrapper",     [CONTAINER_FUNCTION] = "function",
	[CONTAINER_TAKER] = "taker",	     [CONTAINER_NAME] = "name",
};
static const char *const shapes[] = {
	[CONTAINER_MANY] = "many",
	[CONTAINER_ONE] = "one",
	[CONTAINER_NODE] = "node",
	[CONTAINER_LOOSE] = "loose",
};

static int number_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(word, list[i]))
			return (int)i;
	return -1;
}

/* True if braces are paired and hold letters, digits, "_" and "." only. */
static bool good_element(const char *text)
{
	bool inside = false;

	for (const char *c = text; *c; c++) {
		if (*c == '{') {
			if (inside || c[1] == '}')
				return false;
			inside = true;
		} else if (*c == '}') {
			if (!inside)
				return false;
			inside = false;
		} else if (inside && !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0"
					     "123456789_.",
					     *c)) {
			return false;
		}
	}
	return !inside;
}

/* Parses one line, which it cuts into words. */
static struct shiny_err *parse(const struct rule_lines *lines, char *line,
			       struct container_rule *out)
{
	char *words[WORDS] = { line }, *rest = NULL;
	size_t count = 0;
	int kind;

	memset(out, 0, sizeof(*out));
	for (char *word = strtok_r(line, " \t", &rest); word && *word != '#';
	     word = strtok_r(NULL, " \t", &rest)) {
		/* an element may contain blanks: "unsigned long" */
		if (count == 3 &&
		    (!strpbrk(words[2], "{-") || !strcmp(words[0], kinds[CONTAINER_NAME])) &&
		    strncmp(word, "header=", 7) && number_of(word, shapes, 4) < 0) {
			size_t length = strlen(words[2]);

			words[2][length] = ' ';
			memmove(words[2] + length + 1, word, strlen(word) + 1);
			continue;
		}
		if (count == WORDS)
			return rule_lines_wrong(lines, "too many words at '%s'", word);
		words[count++] = word;
	}
	if (count < 3)
		return rule_lines_wrong(
			lines, "three words are needed (what, function, element) after '%s'",
			words[0]);
	kind = number_of(words[0], kinds, sizeof(kinds) / sizeof(*kinds));
	if (kind < 0)
		return rule_lines_wrong(lines,
					"not allocator, container, maker, through, wrapper, "
					"function, taker or name: '%s'",
					words[0]);
	if (!good_element(words[2]))
		return rule_lines_wrong(lines,
					"braces don't match, or hold something else than a name "
					"or a number, in '%s'",
					words[2]);
	out->what = (enum container_what)kind;
	out->shape = kind == CONTAINER_MAKER ? CONTAINER_ONE : CONTAINER_MANY;
	out->path = words[1];
	out->element = strcmp(words[2], "-") ? words[2] : NULL;
	if (!out->element && (kind == CONTAINER_ALLOCATOR || kind == CONTAINER_MAKER ||
			      kind == CONTAINER_FUNCTION || kind == CONTAINER_TAKER))
		return rule_lines_wrong(lines, "an element is needed for '%s'", words[1]);
	for (size_t i = 3; i < count; i++) {
		int shape = number_of(words[i], shapes, sizeof(shapes) / sizeof(*shapes));
		char *end = NULL;
		unsigned long bytes =
			strncmp(words[i], "header=", 7) ? 0 : strtoul(words[i] + 7, &end, 10);

		if (shape >= 0)
			out->shape = (enum container_shape)shape;
		else if (end && end > words[i] + 7 && !*end && bytes <= 4096)
			out->header = (unsigned)bytes;
		else
			return rule_lines_wrong(lines,
						"not one, node, many, loose or header=BYTES: '%s'",
						words[i]);
	}
	return NULL;
}

/* Parses the lines, cutting them into words; their text must live as long as the rules. */
static struct shiny_err *add_all(struct container_rules *rules, struct rule_lines *lines)
{
	for (const char *c = lines->text; *c; c++)
		rules->hash = (rules->hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
	for (char *line; (line = rule_lines_next(lines));) {
		struct container_rule rule;

		SHINY_TRY(parse(lines, line, &rule));
		if (rules->count == RULES_MAX)
			return rule_lines_wrong(lines, "too many rules at '%s'", rule.path);
		*vec_push(rules) = rule;
	}
	return NULL;
}

struct shiny_err *container_rules_load(const char *path, struct container_rules **out)
{
	struct container_rules *rules = mem_zero(1, sizeof(*rules));
	struct rule_lines lines = { 0 };
	struct shiny_err *err = NULL;

	rules->hash = UINT64_C(0xcbf29ce484222325);
	if (path)
		err = rule_lines_open(path, "container rules", &lines);
	rules->texts[0] = lines.text;
	if (!err && path)
		err = add_all(rules, &lines);
	rules->user_count = rules->count;
	if (!err) {
		rules->texts[1] = mem_text(builtin);
		lines = rule_lines_of(rules->texts[1], "containers.rules");
		err = add_all(rules, &lines);
	}
	if (err) {
		container_rules_free(rules);
		return err;
	}
	*out = rules;
	return NULL;
}

void container_rules_free(struct container_rules *rules)
{
	if (!rules)
		return;
	free(rules->texts[0]);
	free(rules->texts[1]);
	free(rules->at);
	free(rules);
}

/* Takers and names stand beside the other rules: only those of `kind` are looked at. */
static const struct container_rule *find(const struct container_rules *rules,
					 const char *function_path, enum container_what kind)
{
	if (!function_path || strlen(function_path) > 4096)
		return NULL;
	for (size_t i = 0; i < rules->count; i++)
		if ((rules->at[i].what < CONTAINER_TAKER ? CONTAINER_ALLOCATOR
							 : rules->at[i].what) == kind &&
		    glob_matches(rules->at[i].path, function_path))
			return &rules->at[i];
	return NULL;
}

const struct container_rule *container_rules_find(const struct container_rules *rules,
						  const char *function_path)
{
	return find(rules, function_path, CONTAINER_ALLOCATOR);
}

const struct container_rule *container_rules_find_taker(const struct container_rules *rules,
							const char *function_path)
{
	return find(rules, function_path, CONTAINER_TAKER);
}

const struct container_rule *container_rules_find_name(const struct container_rules *rules,
						       const char *function_path)
{
	return find(rules, function_path, CONTAINER_NAME);
}

const char *container_rules_wrapper(const struct container_rules *rules, size_t index)
{
	for (size_t i = 0; i < rules->user_count; i++)
		if ((rules->at[i].what == CONTAINER_WRAPPER ||
		     rules->at[i].what == CONTAINER_FUNCTION) &&
		    !index--)
			return rules->at[i].path;
	return NULL;
}

uint64_t container_rules_hash(const struct container_rules *rules)
{
	return rules->hash;
}
