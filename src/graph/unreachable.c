/* SPDX-License-Identifier: Apache-2.0 */
/* unreachable.c: see unreachable.h. */
#include "unreachable.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/attribute/suppressions.h"
#include "../base/mem.h"
#include "../base/row_order.h"

enum reach { REACH_NOT, REACH_ROOT, REACH_INDIRECT };

static uint8_t *mark_reached(const struct heap_graph *g)
{
	uint8_t *reach = mem_zero((size_t)g->nodes + 1, 1);
	bool *reached = heap_graph_reached(g);

	for (uint32_t n = 1; n <= g->blocks; n++)
		reach[n] = reached[n] ? REACH_ROOT : REACH_NOT;
	free(reached);
	return reach;
}

/* Marks the unreachable blocks that another one points to. */
static void mark_indirect(const struct heap_graph *g, uint8_t *reach)
{
	for (uint32_t n = 1; n <= g->blocks; n++)
		for (uint32_t e = heap_graph_first(g, n);
		     reach[n] != REACH_ROOT && e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e);

			if (to != n && reach[to] == REACH_NOT)
				reach[to] = REACH_INDIRECT;
		}
}

static void count_block(struct unreachable_sums *sums, bool direct, uint64_t bytes)
{
	*(direct ? &sums->direct : &sums->indirect) += 1;
	*(direct ? &sums->direct_bytes : &sums->indirect_bytes) += bytes;
}

static void count_rows(const struct heap_graph *g, const struct graph_names *names,
		       const struct suppressions *suppressions, const uint8_t *reach,
		       struct unreachable *out)
{
	for (uint32_t n = 1; n <= g->blocks; n++) {
		uint32_t stack = heap_graph_stack(g, n);
		uint64_t bytes = heap_graph_bytes(g, n);
		bool direct = reach[n] == REACH_NOT;
		struct unreachable_row *row;

		if (reach[n] == REACH_ROOT)
			continue;
		if (suppressions_hide(suppressions, stack)) {
			out->suppressed++;
			out->suppressed_bytes += bytes;
			continue;
		}
		row = &out->rows[graph_names_find(names, g, n)];
		if (!row->address || (direct && !row->sums.direct)) {
			row->address = heap_graph_address(g, n);
			row->stack = stack;
		}
		count_block(&row->sums, direct, bytes);
		count_block(&out->sums, direct, bytes);
	}
}

static uint64_t weight(const struct unreachable_row *row)
{
	return row->sums.direct_bytes + row->sums.indirect_bytes;
}

ORDER_BY(by_weight, struct unreachable_row,
	 ORDER_FIRST(address) ?: ORDER_VALUES(weight(b), weight(a)) ?: ORDER_TEXT(name))

static void make_rows(struct graph_names *names, struct unreachable *out)
{
	out->count = names->groups.count;
	out->rows = mem_zero(out->count + 1, sizeof(*out->rows));
	for (size_t i = 0; i < out->count; i++)
		out->rows[i].name = mem_text(names->groups.names[i]);
}

static void drop_empty_rows(struct unreachable *out)
{
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_weight);
	while (out->count && !out->rows[out->count - 1].address)
		free(out->rows[--out->count].name);
}

struct shiny_err *unreachable_load(struct store *store, const struct filter *filter,
				   uint32_t snapshot, enum group_by by, const char *suppressions,
				   bool full_names, struct unreachable *out)
{
	struct unreachable result = { 0 };
	SHINY_CLEANUP(suppressions_deinit) struct suppressions hidden = { 0 };
	SHINY_CLEANUP(graph_names_deinit) struct graph_names names = { 0 };
	SHINY_CLEANUP(heap_graph_deinit) struct heap_graph graph = { 0 };
	uint8_t *reach;

	SHINY_TRY(heap_graph_load(store, filter, snapshot, 0, NULL, &graph));
	SHINY_TRY(graph_names_load(store, &graph, by, full_names, &names));
	SHINY_TRY(suppressions_load(store, suppressions, false, &hidden));
	reach = mark_reached(&graph);
	mark_indirect(&graph, reach);
	heap_graph_drop_edges(&graph);
	result.facts = graph.facts;
	result.blocks = graph.blocks;
	result.bytes = graph.facts.bytes;
	make_rows(&names, &result);
	count_rows(&graph, &names, &hidden, reach, &result);
	drop_empty_rows(&result);
	free(reach);
	*out = result;
	return NULL;
}

void unreachable_deinit(struct unreachable *u)
{
	rows_free(u->rows, u->count, name);
	*u = (struct unreachable){ 0 };
}
