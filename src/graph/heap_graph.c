/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_graph.c: see heap_graph.h.
 *
 * The file may be hostile: node numbers are checked before they index anything, and sources must
 * not fall, because counting them finds where a node's edges begin.
 */
#define _GNU_SOURCE
#include "heap_graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"

/* Bounds the rows of a session by its file's size: a row takes at least a bit. */
enum { ROWS_LEAST = 1 << 20, ROWS_A_BYTE = 64 };
enum { BLOCKS_MOST = 1 << 30 };

struct graph_reader {
	struct store *store;
	struct heap_graph *graph;
	uint32_t source; /* source of the edge before */
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
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	SHINY_TRY(query_format(store, &q,
			       "SELECT s.id, s.process, p.pid, s.ns, s.bytes, s.copied, s.unread, "
			       "s.stopped_ns, s.took_ns, s.blocks, s.edges FROM snapshot s LEFT "
			       "JOIN process p ON p.id = s.process WHERE %s AND (%" PRIu32
			       " = 0 OR s.id = %" PRIu32 ") ORDER BY s.id DESC LIMIT 1",
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
			.blocks = (uint64_t)query_number(q, 9),
			.edges = (uint64_t)query_number(q, 10),
		};
	if (!err && !row && which)
		err = shiny_err(SHINY_ERR_USAGE, "there is no snapshot %" PRIu32
				" of these processes", which);
	else if (!err && !row)
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE, "the session has no heap snapshot"),
			"`shinyctl tell PID snapshot` takes one while the program runs");
	else if (!err && !out->process)
		err = shiny_err(SHINY_ERR_OTHER, "snapshot %" PRIu32 " is of no process",
				out->snapshot);
	return err;
}

struct shiny_err *heap_graph_any(struct store *store, const struct filter *filter, bool *out)
{
	AUTO_QUERY struct query *q = NULL;

	SHINY_TRY(query_format(store, &q,
			       "SELECT 1 FROM snapshot s JOIN process p ON p.id = s.process WHERE "
			       "%s LIMIT 1",
			       filter->where));
	return query_step(q, out);
}

/* ---- nodes and edges ---- */

static struct shiny_err *take_blocks(void *context, const struct snapshot_block *blocks,
				     size_t count)
{
	struct graph_reader *r = context;
	struct heap_graph *g = r->graph;
	uint64_t most = store_bound(r->store, ROWS_LEAST, ROWS_A_BYTE);

	if (g->blocks + count > (most < BLOCKS_MOST ? most : BLOCKS_MOST))
		return store_too_much(r->store);
	for (size_t i = 0; i < count; i++)
		graph_blocks_add(&g->block, &blocks[i]);
	g->blocks = g->block.count;
	return NULL;
}

/* Loads the type of each kind of block into *types, which the caller frees. */
static struct shiny_err *find_types(struct store *store, const struct heap_graph *g,
				    uint32_t **types)
{
	SHINY_CLEANUP(type_table_deinit) struct type_table table = { 0 };

	SHINY_TRY(type_table_load(store, store_ids(store, "process") - 1, &table));
	*types = mem_alloc((g->block.kinds.count + 1) * sizeof(**types));
	for (size_t k = 0; k < g->block.kinds.count; k++)
		(*types)[k] = type_table_find(&table, g->facts.process, g->block.kinds.at[k].stack,
					      g->block.kinds.at[k].vtable);
	return NULL;
}

/* Names a root; of a variable's symbol it drops the offset, so all its words share one name. */
static char *root_name(const struct query *q)
{
	const char *kind = query_text(q, 0), *module = text_base(query_text(q, 1));
	const char *symbol = query_text(q, 4), *offset = strrchr(symbol, '+');
	int symbol_bytes = offset ? (int)(offset - symbol) : (int)strlen(symbol);
	uint64_t vaddr = (uint64_t)query_number(q, 2);

	if (!strcmp(kind, "variable"))
		return !*symbol ? mem_format("%s+0x%" PRIx64, module, vaddr)
				: mem_format("%.*s (%s)", symbol_bytes, symbol, module);
	if (!strcmp(kind, "wrapper"))
		return mem_text("JavaScript wrappers");
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
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = NULL;

	SHINY_TRY(store_query(store,
			      "SELECT r.kind, m.path, r.vaddr, r.tid, r.name FROM root r LEFT JOIN "
			      "module m ON m.id = r.module WHERE r.snapshot = ? ORDER BY r.id",
			      &q));
	query_bind_number(q, 1, g->facts.snapshot);
	QUERY_EACH (q, err) {
		char *name = root_name(q);
		bool exact = !strcmp(query_text(q, 0), "variable") ||
			     !strcmp(query_text(q, 0), "wrapper");

		if (roots.count && !strcmp(roots.at[roots.count - 1].name, name))
			free(name); /* another word of the variable */
		else
			*vec_push(&roots) = (struct graph_root){ name, exact };
		*vec_push(&r->node_of_root) = g->blocks + (uint32_t)roots.count;
	}
	g->roots = roots.at;
	g->nodes = g->blocks + (uint32_t)roots.count;
	return err;
}

static uint32_t node_of(const struct graph_reader *r, uint32_t source)
{
	uint32_t blocks = r->graph->blocks;

	return source <= blocks ? source : r->node_of_root.at[source - blocks - 1];
}

/* False for a pointer just behind a block's end (unless GRAPH_ENDS), and for a word that by its
 * type's layout holds no pointer or a weak one. */
static bool keeps(const struct graph_reader *r, const struct snapshot_edge *e)
{
	const struct heap_graph *g = r->graph;
	enum word_use use;
	uint32_t name;

	if (e->into && e->into == heap_graph_bytes(g, e->target) && !(r->options & GRAPH_ENDS))
		return false;
	if (!r->words || e->source > g->blocks)
		return true;
	use = heap_graph_word(g, r->words, e->source, e->at, &name);
	return use != WORD_NOTHING && use != WORD_WEAK;
}

static struct shiny_err *take_edges(void *context, const struct snapshot_edge *edges, size_t count)
{
	struct graph_reader *r = context;
	struct heap_graph *g = r->graph;

	if (g->edges.count + count > store_bound(r->store, ROWS_LEAST, ROWS_A_BYTE) ||
	    g->edges.count + count > UINT32_MAX)
		return store_too_much(r->store);
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_edge *e = &edges[i];

		if (e->source < r->source || !e->source || !e->target || e->target > g->blocks ||
		    (e->source > g->blocks && e->source - g->blocks > r->node_of_root.count))
			return damaged(g);
		r->source = e->source;
		if (keeps(r, e))
			graph_edges_add(&g->edges, node_of(r, e->source), e->target, e->at,
					e->into);
	}
	return NULL;
}

/* The rows to allocate for: `rows` as the file says, at most what a file of its size can hold. */
static size_t expected(const struct graph_reader *r, uint64_t rows)
{
	uint64_t most = store_bound(r->store, ROWS_LEAST, ROWS_A_BYTE);

	return (size_t)(rows < most ? rows : most);
}

static struct shiny_err *load_nodes_and_edges(struct graph_reader *r)
{
	struct heap_graph *g = r->graph;

	graph_blocks_begin(&g->block, expected(r, g->facts.blocks));
	SHINY_TRY(snapshot_each_block(r->store, g->facts.snapshot, take_blocks, r));
	SHINY_TRY(load_roots(r->store, r));
	if (r->words)
		SHINY_TRY(find_types(r->store, g, &g->type_of_kind));
	graph_edges_begin(&g->edges, g->blocks, g->nodes, r->options,
			  expected(r, g->facts.edges));
	SHINY_TRY(snapshot_each_edge(r->store, g->facts.snapshot, take_edges, r));
	graph_edges_end(&g->edges);
	return NULL;
}

struct shiny_err *heap_graph_load(struct store *store, const struct filter *filter,
				  uint32_t snapshot, unsigned options,
				  const struct type_words *words, struct heap_graph *out)
{
	SHINY_CLEANUP(heap_graph_deinit) struct heap_graph graph = { 0 };
	struct graph_reader reader = {
		.store = store, .graph = &graph, .options = options, .words = words
	};
	struct shiny_err *err;

	SHINY_TRY(find_snapshot(store, filter, snapshot, &graph.facts));
	err = load_nodes_and_edges(&reader);
	free(reader.node_of_root.at);
	if (!err)
		*out = shiny_steal(graph);
	return err;
}

void heap_graph_deinit(struct heap_graph *g)
{
	for (uint32_t i = 0; g->roots && i < g->nodes - g->blocks; i++)
		free(g->roots[i].name);
	free(g->roots);
	graph_blocks_deinit(&g->block);
	graph_edges_deinit(&g->edges);
	free(g->type_of_kind);
	*g = (struct heap_graph){ 0 };
}

void heap_graph_drop_edges(struct heap_graph *g)
{
	graph_edges_deinit(&g->edges);
}

bool *heap_graph_reached(const struct heap_graph *g)
{
	uint32_t *waiting = mem_alloc(((size_t)g->nodes + 1) * sizeof(*waiting)), count = 0;
	bool *reached = mem_zero((size_t)g->nodes + 1, sizeof(*reached));

	for (uint32_t n = g->blocks + 1; n <= g->nodes; n++)
		waiting[count++] = n;
	while (count) {
		uint32_t n = waiting[--count];

		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e);

			if (!reached[to]) {
				reached[to] = true;
				waiting[count++] = to;
			}
		}
	}
	free(waiting);
	return reached;
}

/* ---- names ---- */

struct shiny_err *graph_names_load(struct store *store, const struct heap_graph *graph,
				   enum group_by by, bool full, struct graph_names *out)
{
	SHINY_CLEANUP(graph_names_deinit) struct graph_names names = { 0 };
	uint32_t *types;

	SHINY_TRY(groups_load(store, by, full, &names.groups));
	SHINY_TRY(find_types(store, graph, &names.of_kind));
	types = names.of_kind;
	for (size_t k = 0; k < graph->block.kinds.count; k++)
		types[k] = groups_find_ids(&names.groups, types[k], graph->block.kinds.at[k].stack);
	*out = shiny_steal(names);
	return NULL;
}

void graph_names_deinit(struct graph_names *names)
{
	groups_deinit(&names->groups);
	free(names->of_kind);
	names->of_kind = NULL;
}
