/* SPDX-License-Identifier: Apache-2.0 */
/* owner_rules.c: see owner_rules.h. */
#include "owner_rules.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"

enum { RULES_MOST = 10000 };

static const char *const whats[OWNER_RULES] = { "owner", "each", "common" };
static const char *const kinds[OWNER_KINDS] = { "type", "site", "component", "root" };

static int find_word(const char *word, const char *const *words, int count)
{
	for (int i = 0; word && i < count; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

/* Parses a line, cutting it in place. *used: the line has a rule. */
static struct shiny_err *parse(char *line, const char *path, unsigned number,
			       struct owner_rule *out, bool *used)
{
	char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest), *name = NULL;
	int what, kind;

	*used = word && *word != '#';
	if (!*used)
		return NULL;
	what = find_word(word, whats, OWNER_RULES);
	if (what < 0)
		return shiny_err(SHINY_ERR_USAGE, "%s:%u: not owner, each or common: '%s'", path,
				 number, word);
	if (what == OWNER_RULE_OWNER && !(name = strtok_r(NULL, " \t\r\n", &rest)))
		return shiny_err(SHINY_ERR_USAGE, "%s:%u: the owner has no name", path, number);
	word = strtok_r(NULL, " \t\r\n", &rest);
	kind = find_word(word, kinds, OWNER_KINDS);
	if (kind < 0)
		return shiny_err(SHINY_ERR_USAGE,
				 "%s:%u: not type, site, component or root: '%s'", path, number,
				 word ? word : "");
	word = strtok_r(NULL, "\r\n", &rest);
	if (word)
		word += strspn(word, " \t");
	if (!word || !*word)
		return shiny_err(SHINY_ERR_USAGE, "%s:%u: the rule has no pattern", path, number);
	for (size_t end = strlen(word); end && strchr(" \t", word[end - 1]);)
		word[--end] = '\0';
	*out = (struct owner_rule){ (enum owner_rule_what)what, (enum owner_rule_kind)kind,
				    name ? mem_text(name) : NULL, mem_text(word) };
	return NULL;
}

struct shiny_err *owner_rules_load(const char *path, struct owner_rules *out)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	SHINY_CLEANUP(owner_rules_deinit) struct owner_rules rules = { 0 };
	struct shiny_err *err = NULL;
	unsigned number = 0;
	size_t room = 0;

	if (!file)
		return shiny_err_os(errno, "rules of owners %s", path);
	while (!err && getline(&line, &room, file) > 0) {
		struct owner_rule rule;
		bool used = false;

		err = parse(line, path, ++number, &rule, &used);
		if (err || !used)
			continue;
		rules.at = mem_reach(rules.at, &rules.room, rules.count, sizeof(*rules.at), 16);
		rules.at[rules.count++] = rule;
		if (rules.count > RULES_MOST)
			err = shiny_err(SHINY_ERR_USAGE, "%s:%u: more than %d rules", path, number,
					RULES_MOST);
	}
	if (!err && ferror(file))
		err = shiny_err_os(errno ? errno : EIO, "rules of owners %s", path);
	if (!err && !rules.count)
		err = shiny_err(SHINY_ERR_USAGE, "%s: there is no rule in it", path);
	if (!err)
		*out = shiny_steal(rules);
	return err;
}

void owner_rules_deinit(struct owner_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		free(rules->at[i].name);
		free(rules->at[i].pattern);
	}
	free(rules->at);
	*rules = (struct owner_rules){ 0 };
}

size_t owner_rules_find(const struct owner_rules *rules, enum owner_rule_kind kind,
			const char *name)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct owner_rule *rule = &rules->at[i];

		if (rule->kind == kind &&
		    (strpbrk(rule->pattern, "*?") ? text_matches(rule->pattern, name)
						  : !strcmp(rule->pattern, name)))
			return i;
	}
	return SIZE_MAX;
}
