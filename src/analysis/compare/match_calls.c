/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "match_calls.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	PART = 6,   /* frames in a row of tables stack and stack_tail */
	RADIUS = 6, /* labels reach this many calls far */
};

/* Parts of two frames, besides their calls, that must agree; the strictest first. */
enum strictness { STRICT_SIZES, STRICT_TYPE, STRICT_CALLS, STRICTNESSES };

/* The narrowest neighbourhood that counts: little of the frame itself could agree by chance. */
static const int least_radius[STRICTNESSES] = { 0, 1, 2 };

struct graph {
	const struct breakdown *breakdown;
	const struct match_feature *features;
	const bool *open;
	size_t frames;          /* 1 + the highest id */
	uint64_t *known;        /* frame → number that both sessions share; 0: not matched yet */
	uint32_t *modules;      /* frame → key of its module, the same in both sessions */
	uint64_t *addresses;    /* frame → address in its file */
	uint32_t *sites;        /* frame → id of its open site; 0: none */
	uint64_t *labels[RADIUS + 1]; /* frame → label of its neighbourhood of that radius */
	VEC(uint64_t) edges;    /* callee << 32 | caller; each once, sorted */
};
struct calls_found {
	uint64_t label, address;
	uint32_t frame;
	uint8_t side;
};
struct matcher {
	struct store *const *stores;
	struct graph sides[2];
	struct texts keys; /* keys of modules */
	VEC(struct calls_found) list;
	uint64_t pins;
	match_calls_fn *tell;
	void *context;
};

/* ---- reading ---- */

static struct shiny_err *read_frames(struct matcher *m, int side)
{
	struct graph *g = &m->sides[side];
	const struct breakdown *other = m->sides[!side].breakdown;
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	g->frames = store_ids(m->stores[side], "frame");
	g->known = mem_zero(g->frames, sizeof(*g->known));
	g->modules = mem_zero(g->frames, sizeof(*g->modules));
	g->addresses = mem_zero(g->frames, sizeof(*g->addresses));
	g->sites = mem_zero(g->frames, sizeof(*g->sites));
	for (int i = 0; i <= RADIUS; i++)
		g->labels[i] = mem_zero(g->frames, sizeof(*g->labels[i]));
	err = store_query(m->stores[side],
			  "SELECT f.id, f.module, f.vaddr, n.name FROM frame f LEFT JOIN "
			  "frame_line l ON l.frame = f.id AND l.depth = 0 "
			  "LEFT JOIN function n ON n.id = l.function",
			  &q);
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, g->frames),
			 module = query_id(q, 1, g->breakdown->module_count);
		const struct breakdown_module *mod = &g->breakdown->modules[module];
		const char *name = query_text(q, 3);

		g->modules[id] = texts_put(&m->keys, mod->key ? mod->key : "");
		g->addresses[id] = (uint64_t)query_number(q, 2);
		for (size_t i = 1;
		     mod->build_id && *mod->build_id && !g->known[id] && i < other->module_count;
		     i++)
			if (other->modules[i].build_id &&
			    strcmp(other->modules[i].build_id, mod->build_id) == 0)
				g->known[id] =
					hash_pair(XXH3_64bits(mod->build_id, strlen(mod->build_id)),
						  g->addresses[id]) |
					1;
		if (!g->known[id] && *name)
			g->known[id] =
				hash_pair(XXH3_64bits(name, strlen(name)), g->modules[id]) | 1;
	}
	return err;
}

static void add_part(struct graph *g, const struct query *q, uint32_t *callee)
{
	for (int i = 0; i < PART; i++) {
		uint32_t frame = query_id(q, 1 + i, g->frames);

		if (!frame)
			break;
		if (*callee)
			*vec_push(&g->edges) = (uint64_t)*callee << 32 | frame;
		*callee = frame;
	}
}

static void sort_edges(struct graph *g)
{
	size_t kept = 0;

	if (g->edges.count)
		qsort(g->edges.at, g->edges.count, sizeof(*g->edges.at), order_numbers);
	for (size_t i = 0; i < g->edges.count; i++)
		if (!kept || g->edges.at[i] != g->edges.at[kept - 1])
			g->edges.at[kept++] = g->edges.at[i];
	g->edges.count = kept;
}

/* Reads the calls from tables stack and stack_tail; the first frame of a row's tail calls the row's
 * last frame. */
static struct shiny_err *read_calls(struct matcher *m, int side)
{
	enum { OFTEN = 1 << 20 };
	struct graph *g = &m->sides[side];
	struct query *q = NULL;
	uint32_t *heads = NULL; /* tail → its first frame */
	size_t tails = store_ids(m->stores[side], "stack_tail"), next = OFTEN;
	struct shiny_err *err;

	heads = mem_zero(tails, sizeof(*heads));
	err = store_query(m->stores[side], "SELECT id, frame0 FROM stack_tail", &q);
	QUERY_EACH (q, err)
		heads[query_id(q, 0, tails)] = query_id(q, 1, g->frames);
	query_end(q);
	q = NULL;
	if (!err)
		err = store_query(m->stores[side],
				  "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail "
				  "FROM stack UNION ALL "
				  "SELECT id, frame0, frame1, frame2, frame3, frame4, frame5, tail "
				  "FROM stack_tail",
				  &q);
	QUERY_EACH (q, err) {
		uint32_t callee = 0, tail = query_id(q, 1 + PART, tails);

		add_part(g, q, &callee);
		if (callee && tail && heads[tail])
			*vec_push(&g->edges) = (uint64_t)callee << 32 | heads[tail];
		if (g->edges.count >= next) { /* drops duplicates: memory is for distinct calls */
			sort_edges(g);
			next = 2 * g->edges.count + OFTEN;
		}
	}
	query_end(q);
	free(heads);
	sort_edges(g);
	return err;
}

/* ---- labels ---- */

static uint64_t own_label(const struct graph *g, uint32_t frame, enum strictness strict)
{
	const struct breakdown_site *site = &g->breakdown->sites[g->sites[frame]];
	const struct match_feature *f = &g->features[g->sites[frame]];
	uint64_t label = hash_mix(g->modules[frame] + 1);

	if (g->known[frame])
		return g->known[frame];
	if (!g->sites[frame] || strict == STRICT_CALLS)
		return label;
	label = hash_pair(label, (uint64_t)f->type << 8 | site->api);
	if (strict == STRICT_SIZES)
		label = hash_pair(hash_pair(label, f->least_size), f->most_size);
	return label;
}

static void label_all(struct graph *g, enum strictness strict)
{
	for (uint32_t i = 1; i < g->frames; i++)
		g->labels[0][i] = own_label(g, i, strict);
	for (int r = 0; r < RADIUS; r++) {
		const uint64_t *from = g->labels[r];
		uint64_t *to = g->labels[r + 1];

		for (uint32_t i = 1; i < g->frames; i++)
			to[i] = hash_mix(from[i] + 1);
		for (size_t i = 0; i < g->edges.count; i++) {
			uint32_t callee = (uint32_t)(g->edges.at[i] >> 32),
				 caller = (uint32_t)g->edges.at[i];

			/* a sum, as the order of neighbours must not matter */
			to[callee] += hash_mix(from[caller] ^ UINT64_C(0x9e3779b97f4a7c15));
			to[caller] += hash_mix(from[callee] ^ UINT64_C(0xc2b2ae3d27d4eb4f));
		}
		for (uint32_t i = 1; i < g->frames; i++)
			if (g->known[i]) /* known labels do not change */
				to[i] = g->known[i];
	}
}

/* ---- matches ---- */

ORDER_BY(by_label, struct calls_found, ORDER_UP(label) ?: ORDER_UP(side) ?: ORDER_UP(address))

/* Lists the unknown frames by label. `sites`: only those of open sites. */
static void list_unknown(struct matcher *m, int radius, bool sites)
{
	m->list.count = 0;
	for (uint8_t side = 0; side < 2; side++) {
		const struct graph *g = &m->sides[side];

		for (uint32_t i = 1; i < g->frames; i++)
			if (!g->known[i] && (!sites || g->sites[i]))
				*vec_push(&m->list) =
					(struct calls_found){ g->labels[radius][i], g->addresses[i],
							      i, side };
	}
	if (m->list.count)
		qsort(m->list.at, m->list.count, sizeof(*m->list.at), by_label);
}

/* Returns the end of the run of one label from `from` on; *middle: its first entry of the newer
 * session. */
static size_t run_of(const struct matcher *m, size_t from, size_t *middle)
{
	size_t end = from;

	while (end < m->list.count && m->list.at[end].label == m->list.at[from].label &&
	       m->list.at[end].side == 0)
		end++;
	*middle = end;
	while (end < m->list.count && m->list.at[end].label == m->list.at[from].label)
		end++;
	return end;
}

static void tell(struct matcher *m, size_t from, size_t middle, size_t end)
{
	uint32_t *ids = mem_alloc((end - from) * sizeof(*ids));

	for (size_t i = from; i < end; i++)
		ids[i - from] = m->sides[m->list.at[i].side].sites[m->list.at[i].frame];
	m->tell(m->context, (const uint32_t *const[2]){ ids, ids + (middle - from) },
		(const size_t[2]){ middle - from, end - middle });
	free(ids);
}

/* Matches two frames; false: only one of them is of an open site. */
static bool match_pair(struct matcher *m, size_t base, size_t new)
{
	uint32_t a = m->list.at[base].frame, b = m->list.at[new].frame;

	if (!m->sides[0].sites[a] != !m->sides[1].sites[b])
		return false;
	if (m->sides[0].sites[a])
		m->tell(m->context,
			(const uint32_t *const[2]){ &m->sides[0].sites[a], &m->sides[1].sites[b] },
			(const size_t[2]){ 1, 1 });
	m->sides[0].known[a] = m->sides[1].known[b] = hash_mix(++m->pins) | 1;
	return true;
}

/* Matches frames whose label is unique in both sessions. */
static bool match_single(struct matcher *m, int radius)
{
	bool any = false;

	list_unknown(m, radius, false);
	for (size_t i = 0, middle, end; i < m->list.count; i = end) {
		end = run_of(m, i, &middle);
		if (middle - i == 1 && end - middle == 1)
			any |= match_pair(m, i, middle);
	}
	return any;
}

/* Matches frames of one label in order, if both sessions have as many, equally far apart: they are
 * of one function with the same code. */
static bool match_in_order(struct matcher *m, int radius)
{
	bool any = false;

	list_unknown(m, radius, false);
	for (size_t i = 0, middle, end; i < m->list.count; i = end) {
		const struct calls_found *base = &m->list.at[i], *new;
		size_t count;
		bool same;

		end = run_of(m, i, &middle);
		count = middle - i;
		new = base + count;
		same = count > 1 && end - middle == count;
		for (size_t k = 1; same && k < count; k++)
			same = base[k].address - base[k - 1].address ==
			       new[k].address - new[k - 1].address;
		for (size_t k = 0; same && k < count; k++)
			any |= match_pair(m, i + k, middle + k);
	}
	return any;
}

/* Matches the remaining frames of one label together. */
static void match_together(struct matcher *m, enum strictness strict)
{
	for (int side = 0; side < 2; side++)
		label_all(&m->sides[side], strict);
	list_unknown(m, strict == STRICT_TYPE ? 1 : RADIUS, true);
	for (size_t i = 0, middle, end; i < m->list.count; i = end) {
		end = run_of(m, i, &middle);
		if (middle == i || middle == end)
			continue;
		tell(m, i, middle, end);
		m->pins++;
		for (size_t k = i; k < end; k++)
			m->sides[m->list.at[k].side].known[m->list.at[k].frame] =
				hash_mix(m->pins) | 1;
	}
}

static void match_all(struct matcher *m)
{
	for (int strict = 0; strict < STRICTNESSES; strict++)
		for (bool any = true; any;) {
			any = false;
			for (int side = 0; side < 2; side++)
				label_all(&m->sides[side], (enum strictness)strict);
			for (int radius = RADIUS; radius >= least_radius[strict] && !any; radius--)
				any = match_single(m, radius) || match_in_order(m, radius);
		}
	match_together(m, STRICT_SIZES);
	match_together(m, STRICT_TYPE);
}

struct shiny_err *match_calls(struct store *const stores[2],
			      const struct breakdown *const breakdowns[2],
			      const struct match_feature *const features[2],
			      const bool *const open[2], match_calls_fn *found, void *context)
{
	struct matcher m = { .stores = stores, .tell = found, .context = context };
	struct shiny_err *err = NULL;

	for (int side = 0; side < 2; side++)
		m.sides[side] = (struct graph){ .breakdown = breakdowns[side],
						.features = features[side],
						.open = open[side] };
	for (int side = 0; !err && side < 2; side++) {
		struct graph *g = &m.sides[side];

		err = read_frames(&m, side);
		if (!err)
			err = read_calls(&m, side);
		for (uint32_t i = 1; !err && i < breakdowns[side]->names[BREAKDOWN_SITE].count; i++)
			if (open[side][i] && breakdowns[side]->sites[i].frame < g->frames &&
			    !g->known[breakdowns[side]->sites[i].frame])
				g->sites[breakdowns[side]->sites[i].frame] = i;
	}
	if (!err)
		match_all(&m);
	for (int side = 0; side < 2; side++) {
		struct graph *g = &m.sides[side];

		free(g->known);
		free(g->modules);
		free(g->addresses);
		free(g->sites);
		free(g->edges.at);
		for (int i = 0; i <= RADIUS; i++)
			free(g->labels[i]);
	}
	free(m.list.at);
	texts_deinit(&m.keys);
	return err;
}
