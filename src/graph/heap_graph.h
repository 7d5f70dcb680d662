/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_graph.h: a heap snapshot as a graph in memory, and what its blocks are called.
 *
 * Runs: CLI. Signals: no. Allocates: 16 bytes a block, 3 or 4 an edge (graph_edges.h). Threads: one
 * a graph.
 *
 * Nodes: 1 to `blocks` are blocks in order of address, the next up to `nodes` are roots; the words
 * of a variable that has a symbol are one root. Edges of a block are in the order of their places.
 */
#ifndef SHINY_HEAP_GRAPH_H
#define SHINY_HEAP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "../answer/field.h"
#include "../analysis/attribute/groups.h"
#include "../analysis/replay/type_table.h"
#include "graph_blocks.h"
#include "graph_edges.h"
#include "type_words.h"

/* A row of table snapshot. */
struct graph_facts {
	uint32_t snapshot, process, pid;
	uint64_t time, blocks, bytes, edges, copied, unread, stopped, took;
};
extern const struct field graph_facts_fields[]; /* of struct graph_facts: which snapshot */
struct graph_root {
	char *name; /* "g_cache (orders)", "stack of thread 12", … */
	bool exact; /* true for variables and wrappers; a stack or register may hold a stale word */
};
struct heap_graph { /* zeroed: empty */
	struct graph_facts facts;
	uint32_t blocks, nodes;
	struct graph_blocks block;
	struct graph_edges edges;
	uint32_t *type_of_kind;   /* the type of each kind of block; NULL: loaded without words */
	struct graph_root *roots; /* [nodes - blocks]; root node n: roots[n - blocks - 1] */
};

/*
 * Loads the snapshot with this id; 0: the last one of the filter's processes. A session without one
 * is an error that says how to take it. With `words`, a word that holds no pointer by its type's
 * layout makes no edge; NULL: every word counts.
 */
SHINY_MUST_CHECK struct shiny_err *heap_graph_load(struct store *store, const struct filter *filter,
						   uint32_t snapshot, unsigned options,
						   const struct type_words *words,
						   struct heap_graph *out);
void heap_graph_deinit(struct heap_graph *graph);
/* Frees the edges of a graph that is not walked again: most of its memory. */
void heap_graph_drop_edges(struct heap_graph *graph);
/* Finds the blocks that the roots reach: [nodes + 1], set for these only. The caller frees it. */
bool *heap_graph_reached(const struct heap_graph *graph);
/* Sets *out if the filter's processes have a snapshot. */
SHINY_MUST_CHECK struct shiny_err *heap_graph_any(struct store *store, const struct filter *filter,
						  bool *out);

static inline uint64_t heap_graph_bytes(const struct heap_graph *graph, uint32_t block)
{
	return graph_blocks_size(&graph->block, block);
}
static inline uint64_t heap_graph_address(const struct heap_graph *graph, uint32_t block)
{
	return graph_blocks_address(&graph->block, block);
}
static inline uint32_t heap_graph_stack(const struct heap_graph *graph, uint32_t block)
{
	return graph->block.kinds.at[graph->block.at[block].kind].stack;
}
static inline uint32_t heap_graph_target(const struct heap_graph *graph, uint32_t edge)
{
	return graph_edges_target(&graph->edges, edge);
}
/* for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) */
static inline uint32_t heap_graph_first(const struct heap_graph *graph, uint32_t node)
{
	return graph->edges.first[node];
}
/* Says what the word at `at` of the block is by its type (type_words.h). The graph must have been
 * loaded with `words`. */
static inline enum word_use heap_graph_word(const struct heap_graph *graph,
					    const struct type_words *words, uint32_t block,
					    uint64_t at, uint32_t *name)
{
	return type_words_find(words, graph->type_of_kind[graph->block.at[block].kind],
			       heap_graph_bytes(graph, block), at, name);
}

/* Groups of the blocks by type, call site or component. */
struct graph_names {
	struct groups groups;
	uint32_t *of_kind; /* kind of block → group */
};
SHINY_MUST_CHECK struct shiny_err *graph_names_load(struct store *store,
						    const struct heap_graph *graph,
						    enum group_by by, bool full,
						    struct graph_names *out);
void graph_names_deinit(struct graph_names *names);

/* Returns a group below names->groups.count. */
static inline uint32_t graph_names_find(const struct graph_names *names,
					const struct heap_graph *graph, uint32_t block)
{
	return names->of_kind[graph->block.at[block].kind];
}

#endif
