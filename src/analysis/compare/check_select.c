/* SPDX-License-Identifier: Apache-2.0 */
/* check_select.c: matches each name once, however many cells have it. */
#include "check_select.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/function_name.h"
#include "../../base/glob.h"
#include "../../base/mem.h"
#include "../../base/text.h"

/* True if the pattern with * and ? matches the whole name. */
static bool name_matches(const char *pattern, const char *text, size_t length)
{
	char *name = mem_format("%.*s", (int)length, text);
	bool good = glob_matches(pattern, name);

	free(name);
	return good;
}

/* Matches "int[] in std::vector<int>" as a whole, by its type, with or without [], and by its
 * container; a label also without its parentheses. */
static bool type_matches(const char *pattern, const char *name)
{
	const char *in = strstr(name, " in ");
	size_t length = strlen(name);

	if (name_matches(pattern, name, length) ||
	    (*name == '(' && name_matches(pattern, name + 1, length - 2)))
		return true;
	if (!in && strncmp(name, "node of ", 8) == 0)
		return name_matches(pattern, name + 8, length - 8);
	if (in && name_matches(pattern, in + 4, strlen(in + 4)))
		return true;
	length = in ? (size_t)(in - name) : length;
	return name_matches(pattern, name, length) ||
	       (length > 2 && strncmp(name + length - 2, "[]", 2) == 0 &&
		name_matches(pattern, name, length - 2));
}

/* Matches a site by its whole name, its function with and without parameters, its file with and
 * without directory, or its module. */
static bool site_matches(const char *pattern, const struct breakdown *c, size_t site)
{
	const struct breakdown_site *s = &c->sites[site];
	const char *texts[] = { s->name ? s->name : c->names[BREAKDOWN_SITE].at[site], s->function,
				s->file, s->file ? text_base(s->file) : NULL,
				c->modules[s->module].name };
	const char *start = s->function ? function_name_start(s->function) : NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i] && name_matches(pattern, texts[i], strlen(texts[i])))
			return true;
	return start && name_matches(pattern, start, function_name_length(start));
}

static bool *names_selected(const struct breakdown *c, const struct check_selector *selector)
{
	const struct texts *names = &c->names[selector->by];
	bool *selected = mem_zero(names->count + 1, sizeof(*selected));

	for (size_t i = 0; i < names->count; i++)
		selected[i] = selector->by == BREAKDOWN_TYPE
				      ? type_matches(selector->pattern, names->at[i])
			      : selector->by == BREAKDOWN_SITE
				      ? site_matches(selector->pattern, c, i)
				      : name_matches(selector->pattern, names->at[i],
						     strlen(names->at[i]));
	return selected;
}

bool *check_select(const struct breakdown *c, const struct check_rule *rule)
{
	bool *cells = mem_alloc(c->cell_count + 1);

	memset(cells, true, c->cell_count + 1);
	for (size_t f = 0; f < rule->selector_count; f++) {
		bool *names = names_selected(c, &rule->selectors[f]);

		for (size_t i = 0; i < c->cell_count; i++)
			cells[i] = cells[i] && names[c->cells[i].of[rule->selectors[f].by]];
		free(names);
	}
	return cells;
}
