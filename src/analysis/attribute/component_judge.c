/* SPDX-License-Identifier: Apache-2.0 */
/* component_judge.c: see component_judge.h. */
#define _GNU_SOURCE
#include "component_judge.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"

static uint32_t owner_named(struct component_judge *j, const char *text,
			    const struct component_rule *rule)
{
	uint32_t name = texts_put(&j->names, text), at;
	uint64_t hash = hash_keys((uintptr_t)rule, name);

	at = hash_table_find(&j->owner_index, hash, i,
			     j->owners.at[i].rule == rule && j->owners.at[i].name == name);
	if (at == HASH_NONE) {
		at = (uint32_t)j->owners.count;
		*vec_push(&j->owners) = (struct component_owner){ .name = name, .rule = rule };
		hash_table_add(&j->owner_index, hash, at);
	}
	return at;
}

static uint32_t owner_of(struct component_judge *j, const struct component_rule *rule,
			 const struct component_match *match)
{
	char *name = component_rule_name(rule, match);
	uint32_t owner = owner_named(j, name, rule);

	free(name);
	return owner;
}

void component_judge_begin(struct component_judge *j, const struct component_rules *rules)
{
	*j = (struct component_judge){ .rules = rules };
	while (j->user_count < rules->count && rules->at[j->user_count].user)
		j->user_count++;
	owner_named(j, "(nobody)", NULL); /* these three in the order of the constants */
	owner_named(j, "(no stack)", NULL);
	owner_named(j, "(no module)", NULL);
}

/* A [ in a boring pattern stands for itself: it belongs to operator new[]. */
void component_judge_pass_over(struct component_judge *j, enum component_kind kind,
			       const char *from)
{
	char *pattern = mem_alloc(3 * strlen(from) + 1), *to = pattern;

	for (; *from; from++) {
		if (*from == '[')
			to = stpcpy(to, "[[]");
		else
			*to++ = *from;
	}
	*to = '\0';
	*vec_push(&j->boring) = (struct component_rule){ .kind = kind, .pattern = pattern };
}

static bool is_boring(const struct component_judge *j, enum component_kind kind, const char *text,
		      size_t length)
{
	struct component_match match;

	for (size_t i = 0; i < j->boring.count; i++)
		if (j->boring.at[i].kind == kind &&
		    component_pattern_matches(j->boring.at[i].pattern, kind, text, length, &match))
			return true;
	return false;
}

/* Applies the rules in order: users', then the boring ones (all have number user_count), then the
 * built-in ones (index + 1). */
struct component_verdict component_judge(struct component_judge *j, enum component_kind kind,
					      const char *text, size_t length)
{
	struct component_match match;

	for (size_t i = 0; i < j->rules->count; i++) {
		const struct component_rule *r = &j->rules->at[i];

		if (i == j->user_count && is_boring(j, kind, text, length))
			return (struct component_verdict){ .rule = (uint32_t)i,
							   .owner = OWNER_NOBODY };
		if (r->kind == kind &&
		    component_pattern_matches(r->pattern, kind, text, length, &match))
			return (struct component_verdict){
				.rule = (uint32_t)(i + (i >= j->user_count)),
				.weak = r->weak,
				.stop = r->stop,
				.owner = r->component ? owner_of(j, r, &match) : OWNER_NOBODY
			};
	}
	return (struct component_verdict){ .rule = RULE_NONE };
}

uint32_t component_of_module(struct component_judge *j, const char *text)
{
	struct component_match match;

	for (size_t i = 0; i < j->rules->count; i++) {
		const struct component_rule *r = &j->rules->at[i];

		if (r->kind == COMPONENT_MODULE && r->component &&
		    component_pattern_matches(r->pattern, r->kind, text, strlen(text), &match))
			return owner_of(j, r, &match);
	}
	return OWNER_NO_MODULE;
}

void component_judge_end(struct component_judge *j)
{
	for (size_t i = 0; i < j->boring.count; i++)
		free((char *)j->boring.at[i].pattern);
	free(j->boring.at);
	free(j->owners.at);
	texts_deinit(&j->names);
	hash_table_deinit(&j->owner_index);
	*j = (struct component_judge){ 0 };
}
