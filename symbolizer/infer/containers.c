/* SPDX-License-Identifier: Apache-2.0 */
/* containers.c: see containers.h. containers.rules describes the format. */
#include "containers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"

static const char builtin[] =
#include "containers_rules.h"
	;

enum { RULES_MAX = 20000, FILE_MAX = 4 << 20, WORDS = 6 };

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

static struct shiny_err *wrong(const char *path, unsigned line, const char *what, const char *word)
{
	return shiny_err(SHINY_ERR_USAGE, "%s:%u: %s '%s'", path, line, what, word);
}

/* Parses one line, which it cuts into words. An empty line leaves out->path NULL. */
static struct shiny_err *parse(char *line, const char *path, unsigned number,
			       struct container_rule *out)
{
	char *words[WORDS], *rest = NULL;
	size_t count = 0;
	int kind;

	memset(out, 0, sizeof(*out));
	for (char *word = strtok_r(line, " \t\r", &rest); word && *word != '#';
	     word = strtok_r(NULL, " \t\r", &rest)) {
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
			return wrong(path, number, "too many words at", word);
		words[count++] = word;
	}
	if (!count)
		return NULL;
	if (count < 3)
		return wrong(path, number, "three words are needed (what, function, element) after",
			     words[0]);
	kind = number_of(words[0], kinds, sizeof(kinds) / sizeof(*kinds));
	if (kind < 0)
		return wrong(path, number,
			     "not allocator, container, maker, through, wrapper, function, taker "
			     "or name:",
			     words[0]);
	if (!good_element(words[2]))
		return wrong(
			path, number,
			"braces don't match, or hold something else than a name or a number, in",
			words[2]);
	out->what = (enum container_what)kind;
	out->shape = kind == CONTAINER_MAKER ? CONTAINER_ONE : CONTAINER_MANY;
	out->path = words[1];
	out->element = strcmp(words[2], "-") ? words[2] : NULL;
	if (!out->element && (kind == CONTAINER_ALLOCATOR || kind == CONTAINER_MAKER ||
			      kind == CONTAINER_FUNCTION || kind == CONTAINER_TAKER))
		return wrong(path, number, "an element is needed for", words[1]);
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
			return wrong(path, number,
				     "not one, node, many, loose or header=BYTES:", words[i]);
	}
	return NULL;
}

/* Parses `text`, cutting it into words; it must live as long as the rules. */
static struct shiny_err *add_all(struct container_rules *rules, char *text, const char *path)
{
	unsigned number = 0;

	for (const char *c = text; *c; c++)
		rules->hash = (rules->hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
	for (char *line = text, *next; line; line = next) {
		struct container_rule rule;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		SHINY_TRY(parse(line, path, number, &rule));
		if (!rule.path)
			continue;
		if (rules->count == RULES_MAX)
			return wrong(path, number, "too many rules at", rule.path);
		*vec_push(rules) = rule;
	}
	return NULL;
}

static struct shiny_err *read_all(const char *path, char **out)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *text = mem_alloc(FILE_MAX + 1);
	size_t bytes;

	if (!file)
		return shiny_err_os(errno, "container rules %s", path);
	bytes = fread(text, 1, FILE_MAX, file);
	if (ferror(file))
		return shiny_err_os(errno ? errno : EIO, "container rules %s", path);
	text[bytes] = 0;
	if (strlen(text) != bytes || fgetc(file) != EOF)
		return shiny_err(SHINY_ERR_USAGE, "container rules %s: not a text of at most %d MB",
				 path, FILE_MAX >> 20);
	text = mem_resize(text, bytes + 1, 1);
	*out = shiny_steal(text);
	return NULL;
}

struct shiny_err *container_rules_load(const char *path, struct container_rules **out)
{
	struct container_rules *rules = mem_zero(1, sizeof(*rules));
	struct shiny_err *err = NULL;

	rules->hash = UINT64_C(0xcbf29ce484222325);
	if (path)
		err = read_all(path, &rules->texts[0]);
	if (!err && path)
		err = add_all(rules, rules->texts[0], path);
	rules->user_count = rules->count;
	if (!err) {
		rules->texts[1] = mem_text(builtin);
		err = add_all(rules, rules->texts[1], "containers.rules");
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

/* Backtracks to the last star only, so the time is bounded by the product of the lengths. */
bool container_rules_match(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
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
		    container_rules_match(rules->at[i].path, function_path))
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
