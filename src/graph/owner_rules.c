/* SPDX-License-Identifier: Apache-2.0 */
/* owner_rules.c: see owner_rules.h. */
#include "owner_rules.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/glob.h"
#include "../base/mem.h"
#include "../base/rule_lines.h"

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

/* Parses a rule, cutting it in place. */
static struct shiny_err *parse(const struct rule_lines *lines, char *line, struct owner_rule *out)
{
	char *rest = NULL, *word = strtok_r(line, " 	", &rest), *name = NULL;
	int what = find_word(word, whats, OWNER_RULES), kind;

	if (what < 0)
		return rule_lines_wrong(lines, "not owner, each or common: '%s'", word);
	if (what == OWNER_RULE_OWNER && !(name = strtok_r(NULL, " 	", &rest)))
		return rule_lines_wrong(lines, "the owner has no name");
	word = strtok_r(NULL, " 	", &rest);
	kind = find_word(word, kinds, OWNER_KINDS);
	if (kind < 0)
		return rule_lines_wrong(lines, "not type, site, component or root: '%s'",
					word ? word : "");
	rest += strspn(rest, " 	");
	if (!*rest)
		return rule_lines_wrong(lines, "the rule has no pattern");
	*out = (struct owner_rule){ (enum owner_rule_what)what, (enum owner_rule_kind)kind,
				    name ? mem_text(name) : NULL, mem_text(rest) };
	return NULL;
}

struct shiny_err *owner_rules_load(const char *path, struct owner_rules *out)
{
	struct rule_lines lines;
	SHINY_CLEANUP(owner_rules_deinit) struct owner_rules rules = { 0 };
	struct shiny_err *err = NULL;

	SHINY_TRY(rule_lines_open(path, "rules of owners", &lines));
	for (char *line; !err && (line = rule_lines_next(&lines));) {
		struct owner_rule rule;

		err = parse(&lines, line, &rule);
		if (err)
			break;
		rules.at = mem_reach(rules.at, &rules.room, rules.count, sizeof(*rules.at), 16);
		rules.at[rules.count++] = rule;
		if (rules.count > RULES_MOST)
			err = rule_lines_wrong(&lines, "more than %d rules", RULES_MOST);
	}
	free(lines.text);
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

		if (rule->kind == kind && glob_matches(rule->pattern, name))
			return i;
	}
	return SIZE_MAX;
}
