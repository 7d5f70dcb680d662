/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retained.c: see retained.h.
 *
 * One pass up the dominator tree adds up subtrees. A block's subtree counts for its row unless an
 * ancestor is in the same row: a second pass walks down the tree and counts the open rows.
 */
#include "retained.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/row_order.h"

#define NO_ROW UINT32_MAX

struct sums_of_subtrees {
	uint64_t *blocks, *bytes; /* indexed by node */
};

static void add_up(const struct heap_graph *g, const struct dominators *d,
		   struct sums_of_subtrees *out)
{
	out->blocks = mem_zero((size_t)g->nodes + 1, sizeof(*out->blocks));
	out->bytes = mem_zero((size_t)g->nodes + 1, sizeof(*out->bytes));
	for (uint32_t i = d->reached; i-- > 0;) {
		uint32_t n = d->order[i], up = d->parent[n];

		if (n && n <= g->blocks) {
			out->blocks[n]++;
			out->bytes[n] += heap_graph_bytes(g, n);
		}
		if (up != DOMINATORS_NONE) {
			out->blocks[up] += out->blocks[n];
			out->bytes[up] += out->bytes[n];
		}
	}
}

/* The dominator tree as lists of children. */
struct children {
	uint32_t *first, *next; /* 0: none, as node 0 is no node's child */
};

static void make_children(const struct heap_graph *g, const struct dominators *d,
			  struct children *out)
{
	out->first = mem_zero((size_t)g->nodes + 1, sizeof(*out->first));
	out->next = mem_zero((size_t)g->nodes + 1, sizeof(*out->next));
	for (uint32_t i = 1; i < d->reached; i++) {
		uint32_t n = d->order[i], up = d->parent[n];

		out->next[n] = out->first[up];
		out->first[up] = n;
	}
}

/* Adds node n to its row; `inner`: an ancestor of n is in the same row. */
static void count_node(const struct heap_graph *g, const struct sums_of_subtrees *sums, uint32_t n,
		       bool inner, struct retained_row *row)
{
	if (n <= g->blocks) {
		row->blocks++;
		row->bytes += heap_graph_bytes(g, n);
		if (sums->bytes[n] > row->largest_bytes) {
			row->largest_bytes = sums->bytes[n];
			row->largest = heap_graph_address(g, n);
		}
	}
	if (!inner) {
		row->retained += sums->blocks[n];
		row->retained_bytes += sums->bytes[n];
	}
}

static void count_rows(const struct heap_graph *g, const struct dominators *d, const uint32_t *of,
		       const struct sums_of_subtrees *sums, struct retained *out)
{
	uint32_t *open = mem_zero(out->count + 1, sizeof(*open)); /* open ancestors of a row */
	struct children tree;
	uint32_t n = 0;

	make_children(g, d, &tree);
	for (;;) {
		uint32_t child = tree.first[n];

		if (child) { /* down */
			tree.first[n] = tree.next[child];
			n = child;
			if (of[n] != NO_ROW)
				count_node(g, sums, n, open[of[n]]++, &out->rows[of[n]]);
		} else if (n) { /* up */
			if (of[n] != NO_ROW)
				open[of[n]]--;
			n = d->parent[n];
		} else {
			break;
		}
	}
	free(tree.first);
	free(tree.next);
	free(open);
}

ORDER_BY(by_retained_bytes, struct retained_row,
	 ORDER_FIRST(retained) ?: ORDER_DOWN(retained_bytes) ?: ORDER_TEXT(name))

/* Makes a row of each type, call site or component of blocks. */
static struct shiny_err *rows_of_blocks(struct store *store, const struct heap_graph *g,
					enum group_by by, bool full, uint32_t *of,
					struct retained *out)
{
	struct graph_names names;
	struct shiny_err *err = graph_names_load(store, g, by, full, &names);

	if (err)
		return err;
	out->count = names.groups.count;
	out->rows = mem_zero(out->count + 1, sizeof(*out->rows));
	for (size_t i = 0; i < out->count; i++)
		out->rows[i].name = mem_text(names.groups.names[i]);
	for (uint32_t n = 1; n <= g->blocks; n++)
		of[n] = graph_names_find(&names, g, n);
	graph_names_deinit(&names);
	return NULL;
}

static void rows_of_roots(const struct heap_graph *g, uint32_t *of, struct retained *out)
{
	out->rows = mem_zero((size_t)(g->nodes - g->blocks) + 1, sizeof(*out->rows));
	for (uint32_t n = g->blocks + 1; n <= g->nodes; n++) {
		of[n] = (uint32_t)out->count;
		out->rows[out->count++].name = mem_text(g->roots[n - g->blocks - 1].name);
	}
}

/* Makes rows of members, then of types (for words without a name), then of roots. */
static struct shiny_err *rows_of_members(struct store *store, const struct heap_graph *g,
					 const struct dominators *d, const struct type_words *words,
					 bool full, uint32_t *of, struct retained *out)
{
	struct graph_names types;
	size_t named = words->word_count, roots;

	SHINY_TRY(graph_names_load(store, g, GROUP_TYPE, full, &types));
	roots = named + types.groups.count;
	out->count = roots + g->nodes - g->blocks;
	out->rows = mem_zero(out->count + 1, sizeof(*out->rows));
	for (size_t i = 0; i < out->count; i++)
		out->rows[i].name =
			mem_text(i >= roots  ? g->roots[i - roots].name
				 : i < named ? (words->words[i].name ? words->words[i].name : "")
					     : types.groups.names[i - named]);
	for (uint32_t n = 1; n <= g->nodes; n++) {
		uint32_t place = 0;

		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e), name = WORD_UNNAMED;

			place = graph_edges_place(&g->edges, e, place);
			if (d->parent[to] != n || of[to] != NO_ROW)
				continue;
			if (n <= g->blocks)
				heap_graph_word(g, words, n, place, &name);
			of[to] = n > g->blocks ? (uint32_t)roots + n - g->blocks - 1
				 : name != WORD_UNNAMED
					 ? name
					 : (uint32_t)named + graph_names_find(&types, g, n);
		}
	}
	graph_names_deinit(&types);
	return NULL;
}

static struct shiny_err *make_rows(struct store *store, const struct heap_graph *g,
				   const struct dominators *d, const struct type_words *words,
				   enum retained_by by, bool full, uint32_t *of,
				   struct retained *out)
{
	static const enum group_by groups[] = { [RETAINED_BY_TYPE] = GROUP_TYPE,
						[RETAINED_BY_SITE] = GROUP_SITE,
						[RETAINED_BY_COMPONENT] = GROUP_COMPONENT };

	if (by == RETAINED_BY_MEMBER)
		return rows_of_members(store, g, d, words, full, of, out);
	if (by != RETAINED_BY_ROOT)
		return rows_of_blocks(store, g, groups[by], full, of, out);
	rows_of_roots(g, of, out);
	return NULL;
}

/* Loads the graph again, with places, only when needed: finding dominators takes the most memory,
 * and needs no places. */
static struct shiny_err *load_places(struct store *store, const struct filter *filter,
				     const struct type_words *words, struct heap_graph *g)
{
	uint32_t snapshot = g->facts.snapshot;

	heap_graph_deinit(g);
	return heap_graph_load(store, filter, snapshot, GRAPH_PLACES, words, g);
}

struct graph_part { /* what all tables of one snapshot share */
	struct heap_graph graph;
	struct dominators dominators;
	struct type_words words;
};

static struct shiny_err *add_rows(struct store *store, const struct graph_part *part,
				  const struct sums_of_subtrees *sums, enum retained_by by,
				  bool full_names, struct retained *out)
{
	const struct heap_graph *g = &part->graph;
	AUTO_FREE uint32_t *of = mem_alloc(((size_t)g->nodes + 1) * sizeof(*of));

	for (uint32_t n = 0; n <= g->nodes; n++)
		of[n] = NO_ROW;
	SHINY_TRY(make_rows(store, g, &part->dominators, &part->words, by, full_names, of, out));
	out->facts = g->facts;
	out->blocks = sums->blocks[0];
	out->bytes = sums->bytes[0];
	out->unreachable = g->blocks - sums->blocks[0];
	out->unreachable_bytes = g->facts.bytes - sums->bytes[0];
	count_rows(g, &part->dominators, of, sums, out);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_retained_bytes);
	while (out->count && !out->rows[out->count - 1].retained)
		free(out->rows[--out->count].name);
	return NULL;
}

static struct shiny_err *add_all(struct store *store, const struct filter *filter,
				 struct graph_part *part, const enum retained_by *by, size_t count,
				 bool full_names, struct retained *out)
{
	AUTO_FREE uint64_t *blocks = NULL;
	AUTO_FREE uint64_t *bytes = NULL;
	struct sums_of_subtrees sums;

	add_up(&part->graph, &part->dominators, &sums);
	blocks = sums.blocks;
	bytes = sums.bytes;
	for (size_t i = 0; i < count; i++) {
		if (by[i] == RETAINED_BY_MEMBER)
			SHINY_TRY(load_places(store, filter, &part->words, &part->graph));
		SHINY_TRY(add_rows(store, part, &sums, by[i], full_names, &out[i]));
		heap_graph_drop_edges(&part->graph);
	}
	return NULL;
}

struct shiny_err *retained_load(struct store *store, const struct filter *filter,
				uint32_t snapshot, const enum retained_by *by, size_t count,
				bool full_names, struct retained *out)
{
	struct graph_part part = { 0 };
	struct shiny_err *err = type_words_load(store, full_names, &part.words);

	memset(out, 0, count * sizeof(*out));
	if (!err)
		err = heap_graph_load(store, filter, snapshot, 0, &part.words, &part.graph);
	if (!err) {
		dominators_find(&part.graph, &part.dominators);
		heap_graph_drop_edges(&part.graph);
		err = add_all(store, filter, &part, by, count, full_names, out);
	}
	for (size_t i = 0; err && i < count; i++)
		retained_deinit(&out[i]);
	dominators_deinit(&part.dominators);
	type_words_deinit(&part.words);
	heap_graph_deinit(&part.graph);
	return err;
}

void retained_deinit(struct retained *retained)
{
	rows_free(retained->rows, retained->count, name);
	*retained = (struct retained){ 0 };
}
