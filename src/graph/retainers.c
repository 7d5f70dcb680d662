/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retainers.c: see retainers.h.
 *
 * A way is the steps from a root to a block. Ways form a tree: each (way so far, root or type,
 * member) has one number, so a block's way takes one look-up after that of the block before it.
 * Only wanted ways are written out.
 */
#include "retainers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/hash_table.h"
#include "../base/mem.h"
#include "../base/row_order.h"
#include "../base/text.h"

#define NO_WAY UINT32_MAX

struct way_step {
	uint32_t before; /* NO_WAY: the way begins here */
	uint32_t what;	 /* root's row or type's group */
	uint32_t member; /* member of `before` that leads here: a row of type_words.h */
	uint64_t offset; /* offset in `before` of the word that leads here */
	uint32_t steps;
	bool mixed;    /* blocks of this step differ in `offset` */
	bool doubtful; /* a doubtful word leads here */
	bool repeated;
	uint64_t blocks, bytes, address; /* sums of wanted blocks; the address of one */
};
struct way_search {
	const struct heap_graph *graph;
	const struct graph_names *types;
	const struct type_words *words;
	VEC(struct way_step) ways;
	struct hash_table by_key;
	uint32_t *of; /* node → its way; NO_WAY: not reached */
	uint32_t *queue, queued;
};

/* The word that leads to a step. */
struct way_word {
	uint64_t offset;
	uint32_t member; /* WORD_UNNAMED: none */
	bool doubtful;
};

static struct way_word word_of(const struct way_search *s, uint32_t node, uint32_t place)
{
	const struct heap_graph *g = s->graph;
	struct way_word word = { .offset = place, .member = WORD_UNNAMED };

	if (node > g->blocks)
		word.doubtful = !g->roots[node - g->blocks - 1].exact;
	else
		word.doubtful =
			heap_graph_word(g, s->words, node, place, &word.member) != WORD_POINTER;
	return word;
}

static uint32_t way_to(struct way_search *s, uint32_t before, uint32_t what,
		       const struct way_word *word)
{
	uint64_t hash = hash_keys((uint64_t)before << 32 | what, word->member);
	uint32_t at;

	if (before != NO_WAY && s->ways.at[before].before != NO_WAY &&
	    s->ways.at[before].what == what) {
		s->ways.at[before].repeated = true;
		return before;
	}
	at = hash_table_find(&s->by_key, hash, i,
			     s->ways.at[i].before == before && s->ways.at[i].what == what &&
				     s->ways.at[i].member == word->member);
	if (at == HASH_NONE) {
		at = (uint32_t)s->ways.count;
		*vec_push(&s->ways) = (struct way_step){
			.before = before,
			.what = what,
			.member = word->member,
			.offset = word->offset,
			.steps = before == NO_WAY ? 1 : s->ways.at[before].steps + 1,
		};
		hash_table_add(&s->by_key, hash, at);
	} else if (s->ways.at[at].offset != word->offset) {
		s->ways.at[at].mixed = true;
	}
	s->ways.at[at].doubtful = s->ways.at[at].doubtful || word->doubtful;
	return at;
}

/* Queues the blocks without a way to which the node's words lead that are doubtful, or are not. */
static void follow(struct way_search *s, uint32_t node, bool doubtful)
{
	const struct heap_graph *g = s->graph;
	uint32_t place = 0;

	for (uint32_t e = heap_graph_first(g, node); e < heap_graph_first(g, node + 1); e++) {
		uint32_t to = heap_graph_target(g, e);
		struct way_word word;

		place = graph_edges_place(&g->edges, e, place);
		if (s->of[to] != NO_WAY)
			continue;
		word = word_of(s, node, place);
		if (word.doubtful != doubtful)
			continue;
		s->of[to] = way_to(s, s->of[node], graph_names_find(s->types, g, to), &word);
		s->queue[s->queued++] = to;
	}
}

/* Searches in breadth, from all roots at once. Ways over no doubtful word come first, then those
 * over one, and so on. */
static void search(struct way_search *s)
{
	const struct heap_graph *g = s->graph;
	uint32_t level = 0, head = 0;

	s->queue = mem_alloc(((size_t)g->nodes + 1) * sizeof(*s->queue));
	s->of = mem_alloc(((size_t)g->nodes + 1) * sizeof(*s->of));
	for (uint32_t n = 0; n <= g->nodes; n++)
		s->of[n] = NO_WAY;
	for (uint32_t n = g->blocks + 1; n <= g->nodes; n++) {
		s->of[n] = way_to(s, NO_WAY, n - g->blocks - 1,
				  &(struct way_word){ .member = WORD_UNNAMED });
		s->queue[s->queued++] = n;
	}
	while (level < s->queued) {
		uint32_t end;

		while (head < s->queued)
			follow(s, s->queue[head++], false);
		for (end = s->queued; level < end; level++)
			follow(s, s->queue[level], true);
	}
	free(s->queue);
}

static void search_deinit(struct way_search *s)
{
	free(s->ways.at);
	free(s->of);
	hash_table_deinit(&s->by_key);
}

/* The data that a search reads. */
struct way_input {
	struct type_words words;
	struct heap_graph graph;
	struct graph_names types;
};

static struct shiny_err *input_load(struct store *store, const struct filter *filter,
				    uint32_t snapshot, bool full, struct way_input *out)
{
	SHINY_TRY(type_words_load(store, full, &out->words));
	SHINY_TRY(heap_graph_load(store, filter, snapshot, GRAPH_PLACES, &out->words, &out->graph));
	return graph_names_load(store, &out->graph, GROUP_TYPE, full, &out->types);
}

static void input_deinit(struct way_input *in)
{
	graph_names_deinit(&in->types);
	type_words_deinit(&in->words);
	heap_graph_deinit(&in->graph);
}

static struct way_search search_of(const struct way_input *in)
{
	struct way_search s = { .graph = &in->graph, .types = &in->types, .words = &in->words };

	search(&s);
	return s;
}

/* ---- which blocks are wanted ---- */

static bool mark_matching(const struct heap_graph *g, const struct graph_names *names,
			  const char *what, bool *wanted)
{
	bool *matches = mem_zero(names->groups.count + 1, sizeof(*matches)), any = false;

	for (size_t i = 0; i < names->groups.count; i++)
		matches[i] = text_matches(what, names->groups.names[i]);
	for (uint32_t n = 1; n <= g->blocks; n++) {
		wanted[n] = matches[graph_names_find(names, g, n)];
		any = any || wanted[n];
	}
	free(matches);
	return any;
}

static bool mark_address(const struct heap_graph *g, uint64_t address, bool *wanted)
{
	bool any = false;

	for (uint32_t n = 1; n <= g->blocks; n++) {
		uint64_t start = heap_graph_address(g, n);

		wanted[n] = address - start < heap_graph_bytes(g, n) || address == start;
		any = any || wanted[n];
	}
	return any;
}

static struct shiny_err *mark_wanted(struct store *store, const struct heap_graph *g,
				     const struct graph_names *types, const char *what, bool full,
				     bool *wanted)
{
	struct graph_names sites;
	struct shiny_err *err = NULL;
	bool any;

	if (!strncmp(what, "0x", 2)) {
		any = mark_address(g, strtoull(what, NULL, 16), wanted);
	} else {
		any = mark_matching(g, types, what, wanted);
		if (!any) {
			err = graph_names_load(store, g, GROUP_SITE, full, &sites);
			if (err)
				return err;
			any = mark_matching(g, &sites, what, wanted);
			graph_names_deinit(&sites);
		}
	}
	return any ? NULL
		   : shiny_err(SHINY_ERR_USAGE,
			       "no block of snapshot %" PRIu32 " is of a type or call site that "
			       "matches '%s', or has this address",
			       g->facts.snapshot, what);
}

/* ---- rows ---- */

static void count_wanted(struct way_search *s, const bool *wanted, struct retainers *out)
{
	for (uint32_t n = 1; n <= s->graph->blocks; n++) {
		uint64_t bytes = heap_graph_bytes(s->graph, n);
		struct way_step *way;

		if (!wanted[n])
			continue;
		if (s->of[n] == NO_WAY) {
			out->unreachable++;
			out->unreachable_bytes += bytes;
			continue;
		}
		way = &s->ways.at[s->of[n]];
		way->blocks++;
		way->bytes += bytes;
		way->address = heap_graph_address(s->graph, n);
		out->blocks++;
		out->bytes += bytes;
	}
}

static void write_steps(const struct way_search *s, const struct way_step *way,
			struct retainer_row *row)
{
	row->step_count = way->steps;
	row->steps = mem_zero(way->steps, sizeof(*row->steps));
	for (size_t i = way->steps; i-- > 0;) {
		struct retainer_step *step = &row->steps[i];

		step->name = mem_text(way->before == NO_WAY ? s->graph->roots[way->what].name
							    : s->types->groups.names[way->what]);
		step->repeated = way->repeated;
		if (i) {
			if (way->member != WORD_UNNAMED)
				step[-1].member = mem_text(s->words->words[way->member].name);
			step[-1].offset = way->offset;
			step[-1].one_offset = !way->mixed;
			step[-1].sure = !way->doubtful;
			step[-1].leads = true;
			way = &s->ways.at[way->before];
		}
	}
}

ORDER_BY(by_bytes, struct retainer_row,
	 ORDER_DOWN(bytes) ?: ORDER_DOWN(blocks) ?: ORDER_UP(address))

static void make_rows(const struct way_search *s, struct retainers *out)
{
	VEC(struct retainer_row) rows = { 0 };

	for (size_t i = 0; i < s->ways.count; i++) {
		const struct way_step *way = &s->ways.at[i];
		struct retainer_row row = { .blocks = way->blocks,
					    .bytes = way->bytes,
					    .address = way->address };

		if (!way->blocks)
			continue;
		write_steps(s, way, &row);
		*vec_push(&rows) = row;
	}
	if (rows.count)
		qsort(rows.at, rows.count, sizeof(*rows.at), by_bytes);
	out->rows = rows.at;
	out->count = rows.count;
}

struct shiny_err *retainers_load(struct store *store, const struct filter *filter,
				 uint32_t snapshot, const char *what, bool full_names,
				 struct retainers *out)
{
	SHINY_CLEANUP(input_deinit) struct way_input in = { 0 };
	SHINY_CLEANUP(search_deinit) struct way_search s = { 0 };
	AUTO_FREE bool *wanted = NULL;

	SHINY_TRY(input_load(store, filter, snapshot, full_names, &in));
	wanted = mem_zero((size_t)in.graph.blocks + 1, sizeof(*wanted));
	SHINY_TRY(mark_wanted(store, &in.graph, &in.types, what, full_names, wanted));
	s = search_of(&in);
	*out = (struct retainers){ .facts = in.graph.facts };
	count_wanted(&s, wanted, out);
	make_rows(&s, out);
	return NULL;
}

static void row_deinit(struct retainer_row *row)
{
	for (size_t k = 0; k < row->step_count; k++) {
		free(row->steps[k].name);
		free(row->steps[k].member);
	}
	free(row->steps);
}

void retainers_deinit(struct retainers *r)
{
	for (size_t i = 0; i < r->count; i++)
		row_deinit(&r->rows[i]);
	free(r->rows);
	*r = (struct retainers){ 0 };
}

/* ---- what keeps most of each ---- */

/* Adds the group's row, if the group has blocks. */
static void find_keeper(struct way_search *s, const uint32_t *group_of, uint32_t group,
			const char *name, struct keepers *out, size_t *room)
{
	const struct heap_graph *g = s->graph;
	struct keeper_row row = { .snapshot = g->facts.snapshot };
	const struct way_step *best = NULL;

	for (size_t i = 0; i < s->ways.count; i++)
		s->ways.at[i].blocks = s->ways.at[i].bytes = 0;
	for (uint32_t n = 1; n <= g->blocks; n++) {
		struct way_step *way;

		if (group_of[n] != group)
			continue;
		row.blocks++;
		row.bytes += heap_graph_bytes(g, n);
		if (s->of[n] == NO_WAY)
			continue;
		way = &s->ways.at[s->of[n]];
		way->blocks++;
		way->bytes += heap_graph_bytes(g, n);
		way->address = heap_graph_address(g, n);
	}
	if (!row.blocks)
		return;
	for (size_t i = 0; i < s->ways.count; i++)
		if (s->ways.at[i].blocks && (!best || s->ways.at[i].bytes > best->bytes))
			best = &s->ways.at[i];
	if (best) {
		row.way = (struct retainer_row){ .blocks = best->blocks,
						 .bytes = best->bytes,
						 .address = best->address };
		write_steps(s, best, &row.way);
	}
	row.name = mem_text(name);
	out->rows = mem_reach(out->rows, room, out->count, sizeof(*out->rows), 8);
	out->rows[out->count++] = row;
}

/* Returns the group with most bytes; SIZE_MAX: no group has any. */
static size_t next_largest(const uint64_t *bytes, size_t count)
{
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		if (bytes[i] && (most == SIZE_MAX || bytes[i] > bytes[most]))
			most = i;
	return most;
}

static void find_keepers(struct way_search *s, const struct graph_names *names,
			 const char *const *wanted, size_t count, struct keepers *out)
{
	const struct heap_graph *g = s->graph;
	uint32_t *group_of = mem_zero((size_t)g->blocks + 1, sizeof(*group_of));
	uint64_t *bytes = mem_zero(names->groups.count + 1, sizeof(*bytes));
	size_t room = 0;

	for (uint32_t n = 1; n <= g->blocks; n++) {
		group_of[n] = graph_names_find(names, g, n);
		bytes[group_of[n]] += heap_graph_bytes(g, n);
	}
	for (size_t i = 0; i < count; i++) {
		size_t group = wanted ? 0 : next_largest(bytes, names->groups.count);

		while (wanted && group < names->groups.count &&
		       strcmp(names->groups.names[group], wanted[i]) != 0)
			group++;
		if (group >= names->groups.count)
			continue;
		bytes[group] = 0;
		find_keeper(s, group_of, (uint32_t)group, names->groups.names[group], out, &room);
	}
	free(group_of);
	free(bytes);
}

struct shiny_err *keepers_load(struct store *store, const struct filter *filter, enum group_by by,
			       const char *const *names, size_t count, bool full_names,
			       struct keepers *out)
{
	SHINY_CLEANUP(input_deinit) struct way_input in = { 0 };
	SHINY_CLEANUP(graph_names_deinit) struct graph_names rows = { 0 };
	SHINY_CLEANUP(search_deinit) struct way_search s = { 0 };
	bool any = false;

	*out = (struct keepers){ 0 };
	SHINY_TRY(heap_graph_any(store, filter, &any));
	if (!any)
		return NULL;
	SHINY_TRY(input_load(store, filter, 0, full_names, &in));
	SHINY_TRY(graph_names_load(store, &in.graph, by, full_names, &rows));
	s = search_of(&in);
	out->facts = in.graph.facts;
	find_keepers(&s, &rows, names, count, out);
	return NULL;
}

void keepers_deinit(struct keepers *keepers)
{
	for (size_t i = 0; i < keepers->count; i++) {
		free(keepers->rows[i].name);
		row_deinit(&keepers->rows[i].way);
	}
	free(keepers->rows);
	*keepers = (struct keepers){ 0 };
}

/* ---- what holds each ---- */

ORDER_BY(by_holder_name, struct holder_row, ORDER_TEXT(name))

/* Returns the holder of each way: a row of type_words.h, or from word_count on, a root's index. */
static uint32_t *find_holders(const struct way_search *s)
{
	uint32_t *holder = mem_zero(s->ways.count + 1, sizeof(*holder));
	uint32_t members = (uint32_t)s->words->word_count;

	for (size_t i = 0; i < s->ways.count; i++) { /* a way comes after the one that it extends */
		const struct way_step *way = &s->ways.at[i];

		holder[i] = way->before == NO_WAY	  ? members + way->what
			    : way->member != WORD_UNNAMED ? way->member
							  : holder[way->before];
	}
	return holder;
}

static void sum_holders(const struct way_search *s, struct holders *out)
{
	size_t members = s->words->word_count, roots = s->graph->nodes - s->graph->blocks;
	struct holder_row *rows = mem_zero(members + roots + 1, sizeof(*rows));
	uint32_t *holder = find_holders(s);

	for (uint32_t n = 1; n <= s->graph->blocks; n++) {
		if (s->of[n] == NO_WAY)
			continue;
		rows[holder[s->of[n]]].blocks++;
		rows[holder[s->of[n]]].bytes += heap_graph_bytes(s->graph, n);
	}
	for (size_t i = 0; i < members + roots; i++) {
		if (!rows[i].blocks)
			continue;
		rows[out->count] = rows[i];
		rows[out->count++].name = mem_text(i < members ? s->words->words[i].name
							       : s->graph->roots[i - members].name);
	}
	if (out->count)
		qsort(rows, out->count, sizeof(*rows), by_holder_name);
	out->rows = rows;
	members = out->count;
	out->count = 0;
	for (size_t i = 0; i < members; i++) {
		struct holder_row *last = out->count ? &rows[out->count - 1] : NULL;

		if (last && !strcmp(last->name, rows[i].name)) {
			last->blocks += rows[i].blocks;
			last->bytes += rows[i].bytes;
			free(rows[i].name);
		} else {
			rows[out->count++] = rows[i];
		}
	}
	free(holder);
}

struct shiny_err *holders_load(struct store *store, const struct filter *filter, uint32_t snapshot,
			       bool full_names, struct holders *out)
{
	SHINY_CLEANUP(input_deinit) struct way_input in = { 0 };
	SHINY_CLEANUP(search_deinit) struct way_search s = { 0 };

	SHINY_TRY(input_load(store, filter, snapshot, full_names, &in));
	s = search_of(&in);
	*out = (struct holders){ .facts = in.graph.facts };
	sum_holders(&s, out);
	return NULL;
}

void holders_deinit(struct holders *holders)
{
	rows_free(holders->rows, holders->count, name);
	*holders = (struct holders){ 0 };
}
