/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_graph.h: a heap snapshot as a graph in memory, and what its blocks are called.
 *
 * Runs: CLI. Signals: no. Allocates: 28 bytes a block and 4 an edge; 8 more an edge with places.
 * Threads: one a graph.
 *
 * Nodes: 1 to `blocks` are blocks in order of address, the next up to `nodes` are roots; the words
 * of a variable that has a symbol are one root. Edges of a block are in the order of their places.
 */
#ifndef SHINY_HEAP_GRAPH_H
#define SHINY_HEAP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "../analysis/attribute/groups.h"
#include "../analysis/replay/type_table.h"
#include "../store/snapshot_parts.h"
#include "type_words.h"

/* Row of table snapshot. */
struct graph_facts {
	uint32_t snapshot, process, pid;
	uint64_t time, bytes, copied, unread, stopped, took;
};
struct graph_root {
	char *name; /* "g_cache (orders)", "stack of thread 12", … */
	bool variable; /* no stale word, as a stack may have */
};
/*
 * What is loaded beside the edges that keep a block. A pointer behind a block's end does not: what
 * begins there is another's, often the allocator's note about the next block.
 */
enum graph_options { GRAPH_PLACES = 1, GRAPH_ENDS = 2 };

struct heap_graph { /* zeroed: empty */
	struct graph_facts facts;
	uint32_t blocks, nodes;
	struct snapshot_block *block; /* [blocks + 1] */
	uint32_t *first;              /* [nodes + 2]; edges of n: first[n] to first[n + 1] - 1 */
	uint32_t *target;
	uint32_t *at, *into;          /* with places: offsets, cut to 32 bits; else NULL */
	uint32_t edges;
	struct graph_root *roots;     /* [nodes - blocks]; root node n: roots[n - blocks - 1] */
};

/*
 * The snapshot with this id; 0: the last one of the processes of the filter. A session without one
 * is an error that says how to take it. With `words`, a word that holds no pointer by its type's
 * layout is no edge; NULL: every word counts.
 */
SHINY_MUST_CHECK struct shiny_err *heap_graph_load(struct store *store, const struct filter *filter,
						   uint32_t snapshot, unsigned options,
						   const struct type_words *words,
						   struct heap_graph *out);
void heap_graph_deinit(struct heap_graph *graph);
/* Whether the processes of the filter have a snapshot. */
SHINY_MUST_CHECK struct shiny_err *heap_graph_any(struct store *store, const struct filter *filter,
						  bool *out);

static inline uint64_t heap_graph_bytes(const struct heap_graph *graph, uint32_t block)
{
	return graph->block[block].size;
}

/* What the blocks are called, by type, call site or component. */
struct graph_names {
	struct groups groups;
	struct type_table types;
};
SHINY_MUST_CHECK struct shiny_err *graph_names_load(struct store *store, enum group_by by,
						    bool full, struct graph_names *out);
void graph_names_deinit(struct graph_names *names);
/* Below names->groups.count. */
uint32_t graph_names_find(const struct graph_names *names, const struct heap_graph *graph,
			  uint32_t block);

#endif
