/* SPDX-License-Identifier: Apache-2.0 */
#include "page_tree.h"

#include <stdlib.h>

#include "../base/cleanup.h"
#include "../base/hash.h"
#include "../base/text.h"

struct page_node {
	uint32_t parent, line;
};
struct page_nodes {
	struct hash_table table;
	VEC(struct page_node) rows; /* [0] is the root */
};

static uint32_t add_node(struct page_nodes *n, uint32_t parent, uint32_t line)
{
	uint64_t hash = hash_keys(parent, line);
	uint32_t at = hash_table_find(&n->table, hash, i,
				      n->rows.at[i].parent == parent && n->rows.at[i].line == line);

	if (at == HASH_NONE) {
		at = (uint32_t)n->rows.count;
		*vec_push(&n->rows) = (struct page_node){ parent, line };
		hash_table_add(&n->table, hash, at);
	}
	return at;
}

/* The line that stands for callers that were not recorded. */
static uint32_t cut_line(const struct profile *p)
{
	return (uint32_t)p->code.functions.count;
}

static void grow(struct page_nodes *n, struct json *json, const struct profile *p,
		 const struct page_samples *s)
{
	struct path_walk walk = { 0 };

	*vec_push(&n->rows) = (struct page_node){ 0, 0 };
	json_array_line(json, "sample_node");
	for (size_t i = 0; i < s->rows.count; i++) {
		uint32_t node = 0;

		stack_paths_walk(&p->code, s->rows.at[i].stack, &walk);
		if (stack_paths_cut(&p->code, s->rows.at[i].stack))
			node = add_node(n, 0, cut_line(p));
		for (size_t k = walk.count; k--;)
			node = add_node(n, node, walk.at[k]);
		json_number(json, NULL, node);
	}
	json_end(json);
	free(walk.at);
}

/* Sets (*out)[module] to the number of its name; 0: a program's own file, or no module. */
static struct shiny_err *library_names(struct store *store, struct texts *texts, uint32_t **out)
{
	size_t limit = store_ids(store, "module");
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT id, path FROM module WHERE path NOT IN (SELECT "
					    "executable FROM process WHERE executable IS NOT NULL)",
					    &q);

	*out = mem_zero(limit + 1, sizeof(**out));
	QUERY_EACH (q, err)
		(*out)[query_id(q, 0, limit)] = texts_put(texts, text_base(query_text(q, 1)));
	return err;
}

/* Puts the lines that nodes have, renumbered, and their texts. */
static void put_lines(struct json *json, const struct profile *p, const struct page_nodes *n,
		      struct texts *texts, const uint32_t *libraries,
		      const struct groups *components)
{
	AUTO_FREE char *cut = stack_paths_cut_name(&p->code);
	AUTO_FREE uint32_t *number = mem_zero(p->code.functions.count + 1, sizeof(*number));
	VEC(uint32_t) lines = { 0 };

	json_array_line(json, "node_line");
	for (size_t i = 0; i < n->rows.count; i++) {
		uint32_t line = n->rows.at[i].line;

		if (i && !number[line]) {
			*vec_push(&lines) = line;
			number[line] = (uint32_t)lines.count;
		}
		json_number(json, NULL, i ? number[line] : 0);
	}
	json_end(json);
	json_array_line(json, "lines"); /* [0] is line 1 */
	for (size_t i = 0; i < lines.count; i++) {
		const struct path_function *line = &p->code.functions.at[lines.at[i]];

		if (lines.at[i] == cut_line(p)) {
			json_number(json, NULL, texts_put(texts, cut));
			for (unsigned k = 1; k < 6; k++)
				json_number(json, NULL, 0);
			continue;
		}
		json_number(json, NULL, texts_put(texts, profile_text(p, line->name)));
		json_number(json, NULL, texts_put(texts, profile_text(p, line->file)));
		json_number(json, NULL, line->line);
		json_number(json, NULL, libraries[p->code.frames[line->frame].module]);
		json_number(json, NULL, texts_put(texts, profile_text(p, line->nameless)));
		json_number(json, NULL, lines.at[i] < components->of_function_count
						? components->of_function[lines.at[i]]
						: 0);
	}
	json_end(json);
	free(lines.at);
}

struct shiny_err *page_tree_put(struct json *json, struct store *store, const struct profile *p,
				const struct page_samples *s)
{
	AUTO_FREE uint32_t *libraries = NULL;
	struct page_nodes n = { 0 };
	struct texts texts = { 0 };
	struct shiny_err *err;

	texts_put(&texts, "");
	err = library_names(store, &texts, &libraries);
	if (!err) {
		grow(&n, json, p, s);
		json_array_line(json, "node_parent");
		for (size_t i = 0; i < n.rows.count; i++)
			json_number(json, NULL, n.rows.at[i].parent);
		json_end(json);
		put_lines(json, p, &n, &texts, libraries, &s->components);
		json_array(json, "texts");
		for (size_t i = 0; i < texts.count; i++)
			json_text(json, NULL, texts.at[i]);
		json_end(json);
	}
	texts_deinit(&texts);
	hash_table_deinit(&n.table);
	free(n.rows.at);
	return err;
}
