/* SPDX-License-Identifier: Apache-2.0 */
#include "page_compare.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/hash.h"
#include "../base/row_order.h"

/* ---- growing ---- */

static uint32_t add_node(struct page_compare *c, uint32_t parent, uint32_t name)
{
	uint64_t hash = hash_keys(parent, name);
	uint32_t at = hash_table_find(&c->table, hash, i,
				      c->nodes.at[i].parent == parent &&
					      c->nodes.at[i].name == name);

	if (at == HASH_NONE) {
		at = (uint32_t)c->nodes.count;
		*vec_push(&c->nodes) = (struct compare_node){ .parent = parent, .name = name };
		hash_table_add(&c->table, hash, at);
	}
	return at;
}

/* Maps a session's texts to this table's; fills in on demand. */
struct known_texts {
	struct page_compare *compare;
	const struct profile *profile;
	uint32_t *at; /* index of compare->texts + 1; 0: not yet */
	const char *cut; /* the name of callers that were not recorded */
};

static uint32_t text_of(struct known_texts *known, uint32_t text)
{
	if (!known->at[text])
		known->at[text] = texts_put(&known->compare->texts,
					    profile_text(known->profile, text)) + 1;
	return known->at[text] - 1;
}

static uint32_t leaf_of(struct known_texts *known, uint32_t stack, struct path_walk *walk)
{
	const struct profile *p = known->profile;
	struct page_compare *c = known->compare;
	uint32_t at = 0;

	stack_paths_walk(&p->code, stack, walk);
	if (!walk->count)
		return add_node(c, 0, texts_put(&c->texts, "(no stack)"));
	if (stack_paths_cut(&p->code, stack))
		at = add_node(c, 0, texts_put(&c->texts, known->cut));
	for (size_t k = walk->count; k--;) {
		const struct path_function *line = &p->code.functions.at[walk->at[k]];
		struct compare_node *node;

		at = add_node(c, at, text_of(known, line->name));
		node = &c->nodes.at[at];
		if (!node->line) { /* the first session's */
			node->file = text_of(known, line->file);
			node->nameless = text_of(known, line->nameless);
			node->line = line->line;
		}
	}
	return at;
}

void page_compare_add(struct page_compare *c, const struct profile *p, int side)
{
	AUTO_FREE uint32_t *texts = mem_zero(p->code.texts.count + 1, sizeof(*texts));
	AUTO_FREE char *cut = stack_paths_cut_name(&p->code);
	struct known_texts known = { c, p, texts, cut };
	struct path_walk walk = { 0 };

	if (!c->nodes.count) {
		texts_put(&c->texts, "");
		*vec_push(&c->nodes) = (struct compare_node){ 0 };
	}
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct sums *sums = &p->samples[i].sums;
		struct compare_node *node;
		uint32_t leaf;

		if (!sums->allocs && !sums->live)
			continue;
		leaf = leaf_of(&known, p->samples[i].stack, &walk); /* may move c->nodes */
		node = &c->nodes.at[leaf];
		node->sums[side][COMPARE_LIVE] += sums->live_bytes;
		node->sums[side][COMPARE_BYTES] += sums->bytes;
		node->sums[side][COMPARE_ALLOCS] += sums->allocs;
	}
	c->totals[side][COMPARE_LIVE] = p->total.live_bytes;
	c->totals[side][COMPARE_BYTES] = p->total.bytes;
	c->totals[side][COMPARE_ALLOCS] = p->total.allocs;
	free(walk.at);
}

/* ---- folding ---- */

static void add_sums(struct compare_node *into, const struct compare_node *from)
{
	for (int side = 0; side < 2; side++)
		for (int m = 0; m < COMPARE_MEASURES; m++)
			into->sums[side][m] += from->sums[side][m];
}

/* Returns the largest share that a node with its subtree has of a session, over both sessions and
 * all measures. */
static double weigh(const struct page_compare *c, const struct compare_node *all)
{
	double most = 0;

	for (int side = 0; side < 2; side++)
		for (int m = 0; m < COMPARE_MEASURES; m++)
			if (c->totals[side][m] &&
			    (double)all->sums[side][m] / (double)c->totals[side][m] > most)
				most = (double)all->sums[side][m] / (double)c->totals[side][m];
	return most;
}

ORDER_BY(by_weight, double, ORDER_VALUES(*b, *a))

/* Marks the `most` heaviest nodes, which stay. No node is heavier than its parent. */
static bool *choose(const struct page_compare *c, size_t most)
{
	size_t count = c->nodes.count;
	AUTO_FREE struct compare_node *all = mem_zero(count, sizeof(*all));
	AUTO_FREE double *weights = mem_zero(count, sizeof(*weights));
	AUTO_FREE double *sorted = mem_zero(count, sizeof(*sorted));
	bool *stays = mem_zero(count, sizeof(*stays));

	for (size_t i = count; i--;) {
		add_sums(&all[i], &c->nodes.at[i]);
		weights[i] = weigh(c, &all[i]);
		if (i)
			add_sums(&all[c->nodes.at[i].parent], &all[i]);
	}
	memcpy(sorted, weights, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_weight);
	for (size_t i = 0; i < count; i++)
		stays[i] = !i || count <= most || weights[i] > sorted[most];
	return stays;
}

/* Adds each node that does not stay to a child "(smaller stacks)" of its nearest ancestor that
 * does. */
static void fold(struct page_compare *c, bool *stays)
{
	size_t count = c->nodes.count;
	AUTO_FREE struct compare_node *lost = mem_zero(count, sizeof(*lost));
	AUTO_FREE bool *any = mem_zero(count, sizeof(*any));
	uint32_t name = texts_put(&c->texts, "(smaller stacks)");

	for (size_t i = count; i-- > 1;) {
		uint32_t parent = c->nodes.at[i].parent;

		if (stays[i])
			continue;
		add_sums(&lost[parent], &c->nodes.at[i]);
		add_sums(&lost[parent], &lost[i]);
		any[parent] = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (!stays[i] || !any[i])
			continue;
		lost[i].parent = (uint32_t)i;
		lost[i].name = name;
		*vec_push(&c->nodes) = lost[i];
	}
}

/* ---- columns ---- */

/* Numbers of nodes and texts on the page. */
struct page_numbers {
	uint32_t *nodes, *texts; /* texts: + 1 */
	size_t count;            /* number of nodes before fold() */
	bool *stays;
	VEC(uint32_t) used; /* indexes of c->texts, by number */
};

static bool is_put(const struct page_numbers *n, size_t node)
{
	return node >= n->count || n->stays[node];
}

static uint32_t number_text(struct page_numbers *n, uint32_t text)
{
	if (!n->texts[text]) {
		*vec_push(&n->used) = text;
		n->texts[text] = (uint32_t)n->used.count;
	}
	return n->texts[text] - 1;
}

#define PUT_NODES(json, key, c, numbers, value)                            \
	do {                                                               \
		json_array_line(json, key);                                \
		for (size_t i = 0; i < (c)->nodes.count; i++) {            \
			const struct compare_node *node = &(c)->nodes.at[i]; \
			if (is_put(numbers, i))                            \
				json_number(json, NULL, value);            \
		}                                                          \
		json_end(json);                                            \
	} while (0)

void page_compare_put(struct page_compare *c, struct json *json, size_t most)
{
	static const char *const names[2][COMPARE_MEASURES] = {
		{ "base_live", "base_bytes", "base_allocs" },
		{ "new_live", "new_bytes", "new_allocs" },
	};
	struct page_numbers n = { .count = c->nodes.count, .stays = choose(c, most) };
	uint32_t put = 0;

	fold(c, n.stays);
	n.nodes = mem_zero(c->nodes.count, sizeof(*n.nodes));
	n.texts = mem_zero(c->texts.count, sizeof(*n.texts));
	for (size_t i = 0; i < c->nodes.count; i++)
		if (is_put(&n, i))
			n.nodes[i] = put++;
	PUT_NODES(json, "node_parent", c, &n, n.nodes[node->parent]);
	PUT_NODES(json, "node_name", c, &n, number_text(&n, node->name));
	PUT_NODES(json, "node_nameless", c, &n, number_text(&n, node->nameless));
	PUT_NODES(json, "node_file", c, &n, number_text(&n, node->file));
	PUT_NODES(json, "node_line", c, &n, node->line);
	for (int side = 0; side < 2; side++)
		for (int m = 0; m < COMPARE_MEASURES; m++)
			PUT_NODES(json, names[side][m], c, &n, node->sums[side][m]);
	json_array(json, "texts");
	for (size_t i = 0; i < n.used.count; i++)
		json_text(json, NULL, c->texts.at[n.used.at[i]]);
	json_end(json);
	free(n.used.at);
	free(n.nodes);
	free(n.texts);
	free(n.stays);
}

void page_compare_deinit(struct page_compare *c)
{
	texts_deinit(&c->texts);
	hash_table_deinit(&c->table);
	free(c->nodes.at);
	*c = (struct page_compare){ 0 };
}
