/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.c: see pooling.h; adds up the results of pooling_model.h. */
#include "pooling.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "pooling_model.h"

static void add_counts(const struct pooling_constants *k, struct pooling_row *row,
		       const struct pool_counts *c)
{
	uint64_t slow = c->slow_begun + c->slow_ended;

	row->blocks = c->blocks;
	row->bytes = c->bytes;
	row->objects = c->objects;
	row->destroyed = c->destroyed;
	row->without.calls = c->blocks + c->freed;
	row->without.slow = slow;
	row->without.cycles = (c->blocks - c->slow_begun) * k->alloc +
			      (c->ended - c->slow_ended) * k->free + slow * k->slow;
	row->with.cycles = (c->blocks + c->ended) * k->reuse;
}

static void add_pool(const struct pooling_model *m, struct pooling_row *row, const struct pooled *p)
{
	uint64_t slots, chunks;

	pooling_chunk_bytes(m, p->slot, &slots);
	chunks = (p->pool.high + slots - 1) / slots;
	row->most += p->pool.high;
	row->pools++;
	row->deferred += p->destroyed < p->pool.high ? p->destroyed : p->pool.high;
	row->with.calls += chunks;
	row->with.slow += chunks;
	row->with.cycles += chunks * m->constants->slow;
}

static void add_side(struct pooling_side *to, const struct pooling_side *side)
{
	to->calls += side->calls;
	to->slow += side->slow;
	to->cycles += side->cycles;
}

/* Adds all members but the pages. */
static void add_row(struct pooling_row *to, const struct pooling_row *row)
{
	to->blocks += row->blocks;
	to->bytes += row->bytes;
	to->most += row->most;
	to->pools += row->pools;
	to->objects += row->objects;
	to->destroyed += row->destroyed;
	to->deferred += row->deferred;
	add_side(&to->without, &row->without);
	add_side(&to->with, &row->with);
}

static void set_pages(struct pooling_row *row, const uint64_t peak[2], const uint64_t end[2])
{
	row->without.peak_pages = peak[0];
	row->with.peak_pages = peak[1];
	row->without.end_pages = end[0];
	row->with.end_pages = end[1];
}

static void count_used(void *context, uint32_t groups, uint64_t pages)
{
	struct pooling *out = context;

	out->total.used_pages += pages;
	for (uint32_t b = 0; b < PAGES_BUCKETS; b++) {
		uint32_t replay = groups >> b * POPULATIONS & ((1 << POPULATIONS) - 1);

		out->sizes[b].all.used_pages += replay ? pages : 0;
		for (uint32_t p = 0; p < POPULATIONS; p++)
			out->sizes[b].lifetimes[p].used_pages += replay >> p & 1 ? pages : 0;
	}
}

ORDER_BY(by_saving, struct pooling_row,
	 ORDER_VALUES(pooling_saved(b), pooling_saved(a)) ?: ORDER_TEXT(name))

static struct pooling_row *row_at(struct pooling *out, size_t of)
{
	return of < POOLING_GROUPS ? &out->sizes[of / POPULATIONS].lifetimes[of % POPULATIONS]
				   : &out->types[of - POOLING_GROUPS];
}

static void set_ways(struct pooling *out)
{
	const struct pooling_row *t = &out->total;
	const struct pooling_way ways[POOLING_WAYS] = {
		[POOLING_AS_WAS] = { "as it was", t->without, t->destroyed, 0, 0 },
		[POOLING_POOLS] = { "pools", t->with, t->destroyed, 0, 0 },
		[POOLING_DEFERRED] = { "pools, destructors deferred", t->with, t->deferred, 0, 0 },
	};

	memcpy(out->ways, ways, sizeof(ways));
	for (size_t i = 0; i < POOLING_WAYS; i++) {
		struct pooling_way *way = &out->ways[i];

		way->cycles = pooling_cycles(out, &way->side, way->destructors);
		way->reclaimable = pooling_reclaimable(t, &way->side);
	}
}

static void finish(struct pooling_model *m, const char *match, struct pooling *out)
{
	size_t kept = 0;

	out->types = mem_zero(m->types.count, sizeof(*out->types));
	for (size_t i = 0; i < POOLING_GROUPS + m->types.count; i++)
		add_counts(m->constants, row_at(out, i), &m->counts[i]);
	for (size_t i = 0; i < m->pool_count; i++)
		if (m->pools[i].blocks)
			add_pool(m, row_at(out, m->pools[i].of), &m->pools[i]);
	for (uint32_t g = 0; g < POOLING_GROUPS; g++) {
		struct pooling_row *row = row_at(out, g);

		row->bucket = g / POPULATIONS;
		row->lifetime = population_names[g % POPULATIONS];
		set_pages(row, m->peak.of[g], m->end.of[g]);
		add_row(&out->sizes[row->bucket].all, row);
		add_row(&out->total, row);
	}
	for (uint32_t b = 0; b < PAGES_BUCKETS; b++) {
		out->sizes[b].all.bucket = b;
		set_pages(&out->sizes[b].all, m->peak.buckets[b], m->end.buckets[b]);
	}
	set_pages(&out->total, m->peak.total, m->end.total);
	for (size_t i = 0; i <= m->process_count; i++)
		used_pages_each(&m->used[i], count_used, out);
	for (size_t i = 0; i < m->types.count; i++) {
		struct pooling_row row = out->types[i];

		if (!row.blocks || (match && !text_matches(match, m->types.names[i])))
			continue;
		set_pages(&row, m->peak.of[POOLING_GROUPS + i], m->end.of[POOLING_GROUPS + i]);
		row.name = m->types.names[i];
		m->types.names[i] = NULL;
		out->types[kept++] = row;
	}
	out->type_count = kept;
	if (kept)
		qsort(out->types, kept, sizeof(*out->types), by_saving);
	out->constants = *m->constants;
	out->duration = m->lives->duration;
	out->peak_time = m->lives->peak_time;
	out->collected = m->lives->objects;
	set_ways(out);
}

struct shiny_err *pooling_load_known(struct store *store, const struct filter *filter,
				     const struct site_lives *lives,
				     const struct pooling_constants *constants, const char *match,
				     unsigned flags, struct pooling *out)
{
	struct pooling_model *m = mem_zero(1, sizeof(*m));
	struct shiny_err *err;

	m->constants = constants;
	m->lives = lives;
	err = pooling_model_run(m, store, filter, flags);
	if (!err) {
		*out = (struct pooling){ 0 };
		finish(m, match, out);
	}
	pooling_model_free(m);
	return err;
}

struct shiny_err *pooling_load(struct store *store, const struct filter *filter,
			       const struct pooling_constants *constants, const char *match,
			       unsigned flags, struct pooling *out)
{
	SHINY_CLEANUP(site_lives_deinit) struct site_lives lives = { 0 };

	SHINY_TRY(site_lives_load(store, filter, flags & POOLING_FULL_NAMES,
				  flags & POOLING_PROGRESS, &lives));
	return pooling_load_known(store, filter, &lives, constants, match, flags, out);
}

void pooling_deinit(struct pooling *p)
{
	rows_free(p->types, p->type_count, name);
	*p = (struct pooling){ 0 };
}
