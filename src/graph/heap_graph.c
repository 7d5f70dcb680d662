/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_graph.c: see heap_graph.h.
 *
 * The file may be anybody's: numbers of nodes are checked before they index anything, and sources
 * must not fall, as the edges' place is found by counting.
 */
#define _GNU_SOURCE
#include "heap_graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"

/* What a session of its size may hold: a row takes a bit at least. */
enum { ROWS_LEAST = 1 << 20, ROWS_A_BYTE = 64 };

struct graph_reader {
	struct store *store;
	struct heap_graph *graph;
	size_t block_room, edge_room;
	uint32_t source; /* of the edge before */
	unsigned options;
	const struct type_words *words;
	VEC(uint32_t) node_of_root;
};

static struct shiny_err *damaged(const struct heap_graph *g)
{
	return shiny_err(SHINY_ERR_OTHER, "cannot read snapshot %" PRIu32 ": it is damaged",
			 g->facts.snapshot);
}

/* ---- which ---- */

static struct shiny_err *find_snapshot(struct store *store, const struct filter *filter,
				       uint32_t which, struct graph_facts *out)
{
	struct query *q;
	bool row = false;
	struct shiny_err *err;

	SHINY_TRY(query_format(store, &q,
			       "SELECT s.id, s.process, p.pid, s.ns, s.bytes, s.copied, s.unread, "
			       "s.stopped_ns, s.took_ns FROM snapshot s LEFT JOIN process p ON "
			       "p.id = s.process WHERE %s AND (%" PRIu32 " = 0 OR s.id = %" PRIu32
			       ") ORDER BY s.id DESC LIMIT 1",
			       filter->where, which, which));
	err = query_step(q, &row);
	if (!err && row)
		*out = (struct graph_facts){
			.snapshot = (uint32_t)query_number(q, 0),
			.process = query_id(q, 1, store_ids(store, "process")),
			.pid = (uint32_t)query_number(q, 2),
			.time = (uint64_t)query_number(q, 3),
			.bytes = (uint64_t)query_number(q, 4),
			.copied = (uint64_t)query_number(q, 5),
			.unread = (uint64_t)query_number(q, 6),
			.stopped = (uint64_t)query_number(q, 7),
			.took = (uint64_t)query_number(q, 8),
		};
	query_end(q);
	if (!err && !row && which)
		err = shiny_err(SHINY_ERR_USAGE, "there is no snapshot %" PRIu32
				" of these processes", which);
	else if (!err && !row)
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE, "the session has no heap snapshot"),
			"`shinyctl snapshot PID` takes one while the program runs");
	else if (!err && !out->process)
		err = shiny_err(SHINY_ERR_OTHER, "snapshot %" PRIu32 " is of no process",
				out->snapshot);
	return err;
}

struct shiny_err *heap_graph_any(struct store *store, const struct filter *filter, bool *out)
{
	struct query *q;
	struct shiny_err *err;

	SHINY_TRY(query_format(store, &q,
			       "SELECT 1 FROM snapshot s JOIN process p ON p.id = s.process WHERE "
			       "%s LIMIT 1",
			       filter->where));
	err = query_step(q, out);
	query_end(q);
	return err;
}

/* ---- nodes and edges ---- */

static struct shiny_err *take_blocks(void *context, const struct snapshot_block *blocks,
				     size_t count)
{
	struct graph_reader *r = context;
	struct heap_graph *g = r->graph;

	if (g->blocks + count > store_bound(r->store, ROWS_LEAST, ROWS_A_BYTE))
		return store_too_much(r->store);
	g->block = mem_reach(g->block, &r->block_room, g->blocks + count, sizeof(*g->block), 1024);
	memcpy(&g->block[g->blocks + 1], blocks, count * sizeof(*blocks));
	g->blocks += (uint32_t)count;
	return NULL;
}

/* Without the offset in a variable. */
static char *root_name(const struct query *q)
{
	const char *kind = query_text(q, 0), *module = text_base(query_text(q, 1));
	const char *symbol = query_text(q, 4), *offset = strrchr(symbol, '+');
	int symbol_bytes = offset ? (int)(offset - symbol) : (int)strlen(symbol);
	uint64_t vaddr = (uint64_t)query_number(q, 2);

	if (!strcmp(kind, "variable"))
		return !*symbol ? mem_format("%s+0x%" PRIx64, module, vaddr)
				: mem_format("%.*s (%s)", symbol_bytes, symbol, module);
	if (!strcmp(kind, "mapping"))
		return mem_format("mapping at 0x%" PRIx64, vaddr);
	return mem_format("%s of thread %d",
			  !strcmp(kind, "stack")      ? "stack"
			  : !strcmp(kind, "register") ? "registers"
						      : "thread-local variables",
			  (int)query_number(q, 3));
}

static struct shiny_err *load_roots(struct store *store, struct graph_reader *r)
{
	VEC(struct graph_root) roots = { 0 };
	struct heap_graph *g = r->graph;
	struct query *q;
	bool row = false;
	struct shiny_err *err;

	SHINY_TRY(store_query(store,
			      "SELECT r.kind, m.path, r.vaddr, r.tid, r.name FROM root r LEFT JOIN "
			      "module m ON m.id = r.module WHERE r.snapshot = ? ORDER BY r.id",
			      &q));
	query_bind_number(q, 1, g->facts.snapshot);
	while (!(err = query_step(q, &row)) && row) {
		char *name = root_name(q);

		if (roots.count && !strcmp(roots.at[roots.count - 1].name, name))
			free(name); /* another word of the variable */
		else
			*vec_push(&roots) = (struct graph_root){
				name, !strcmp(query_text(q, 0), "variable")
			};
		*vec_push(&r->node_of_root) = g->blocks + (uint32_t)roots.count;
	}
	query_end(q);
	g->roots = roots.at;
	g->nodes = g->blocks + (uint32_t)roots.count;
	return err;
}

static uint32_t node_of(const struct graph_reader *r, uint32_t source)
{
	uint32_t blocks = r->graph->blocks;

	return source <= blocks ? source : r->node_of_root.at[source - blocks - 1];
}

/* Not where a pointer behind a block's end is none, nor a word that holds none. */
static bool keeps(const struct graph_reader *r, const struct snapshot_edge *e)
{
	const struct heap_graph *g = r->graph;
	uint32_t name;

	if (e->into && e->into == heap_graph_bytes(g, e->target) && !(r->options & GRAPH_ENDS))
		return false;
	return !r->words || e->source > g->blocks ||
	       type_words_find(r->words, g->facts.process, &g->block[e->source], e->at, &name) !=
		       WORD_NOTHING;
}

static struct shiny_err *take_edges(void *context, const struct snapshot_edge *edges, size_t count)
{
	struct graph_reader *r = context;
	struct heap_graph *g = r->graph;
	bool places = g->at != NULL;

	if (g->edges + count > store_bound(r->store, ROWS_LEAST, ROWS_A_BYTE) ||
	    g->edges + count > UINT32_MAX)
		return store_too_much(r->store);
	if (g->edges + count > r->edge_room) {
		r->edge_room = r->edge_room * 3 / 2 + count;
		g->target = mem_resize(g->target, r->edge_room, sizeof(*g->target));
		if (places) {
			g->at = mem_resize(g->at, r->edge_room, sizeof(*g->at));
			g->into = mem_resize(g->into, r->edge_room, sizeof(*g->into));
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_edge *e = &edges[i];

		if (e->source < r->source || !e->target || e->target > g->blocks ||
		    (e->source > g->blocks && e->source - g->blocks > r->node_of_root.count))
			return damaged(g);
		r->source = e->source;
		if (!keeps(r, e))
			continue;
		g->first[node_of(r, e->source) + 1]++;
		if (places) {
			g->at[g->edges] = e->at < UINT32_MAX ? (uint32_t)e->at : UINT32_MAX;
			g->into[g->edges] = e->into < UINT32_MAX ? (uint32_t)e->into : UINT32_MAX;
		}
		g->target[g->edges++] = e->target;
	}
	return NULL;
}

static struct shiny_err *load_nodes_and_edges(struct graph_reader *r)
{
	struct heap_graph *g = r->graph;

	g->block = mem_reach(NULL, &r->block_room, 0, sizeof(*g->block), 1024);
	SHINY_TRY(snapshot_each_block(r->store, g->facts.snapshot, take_blocks, r));
	SHINY_TRY(load_roots(r->store, r));
	g->first = mem_zero((size_t)g->nodes + 2, sizeof(*g->first));
	if (r->options & GRAPH_PLACES) {
		r->edge_room = 1;
		g->target = mem_alloc(sizeof(*g->target));
		g->at = mem_alloc(sizeof(*g->at));
		g->into = mem_alloc(sizeof(*g->into));
	}
	SHINY_TRY(snapshot_each_edge(r->store, g->facts.snapshot, take_edges, r));
	for (uint32_t n = 1; n <= g->nodes + 1; n++)
		g->first[n] += g->first[n - 1];
	return NULL;
}

struct shiny_err *heap_graph_load(struct store *store, const struct filter *filter,
				  uint32_t snapshot, unsigned options,
				  const struct type_words *words, struct heap_graph *out)
{
	struct heap_graph graph = { 0 };
	struct graph_reader reader = {
		.store = store, .graph = &graph, .options = options, .words = words
	};
	struct shiny_err *err = find_snapshot(store, filter, snapshot, &graph.facts);

	if (!err)
		err = load_nodes_and_edges(&reader);
	free(reader.node_of_root.at);
	if (err)
		heap_graph_deinit(&graph);
	else
		*out = graph;
	return err;
}

void heap_graph_deinit(struct heap_graph *g)
{
	for (uint32_t i = 0; g->roots && i < g->nodes - g->blocks; i++)
		free(g->roots[i].name);
	free(g->roots);
	free(g->block);
	free(g->first);
	free(g->target);
	free(g->at);
	free(g->into);
	*g = (struct heap_graph){ 0 };
}

/* ---- names ---- */

struct shiny_err *graph_names_load(struct store *store, enum group_by by, bool full,
				   struct graph_names *out)
{
	struct graph_names names = { 0 };
	struct shiny_err *err = groups_load(store, by, full, &names.groups);

	if (!err)
		err = type_table_load(store, store_ids(store, "process") - 1, &names.types);
	if (err)
		graph_names_deinit(&names);
	else
		*out = names;
	return err;
}

void graph_names_deinit(struct graph_names *names)
{
	groups_deinit(&names->groups);
	type_table_deinit(&names->types);
}

uint32_t graph_names_find(const struct graph_names *names, const struct heap_graph *graph,
			  uint32_t block)
{
	const struct snapshot_block *b = &graph->block[block];
	uint32_t type = type_table_find(&names->types, graph->facts.process, b->stack, b->vtable);

	return groups_find_ids(&names->groups, type, b->stack);
}
