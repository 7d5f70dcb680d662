/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.c: see by_site.h.
 *
 * Ten rows or more become one, so they are added up by a hash table first, and only what is left is
 * sorted.
 */
#include "by_site.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/hash_table.h"
#include "../base/mem.h"

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_stat_key(const void *left, const void *right)
{
	const struct store_stat *a = left, *b = right;

	return order((uint64_t)a->process << 32 | a->stack,
		     (uint64_t)b->process << 32 | b->stack) ?:
	       order((uint64_t)a->type << 32 | a->vtable, (uint64_t)b->type << 32 | b->vtable) ?:
	       order((uint64_t)a->tag << 32 | a->reading, (uint64_t)b->tag << 32 | b->reading);
}

static int by_lifetime_key(const void *left, const void *right)
{
	const struct store_lifetime *a = left, *b = right;

	return order((uint64_t)a->process << 32 | a->stack, (uint64_t)b->process << 32 | b->stack)
		       ?: order((uint64_t)a->type << 32 | (uint32_t)(a->bin << 1 | a->censored),
				(uint64_t)b->type << 32 | (uint32_t)(b->bin << 1 | b->censored));
}

static int by_peak_key(const void *left, const void *right)
{
	const struct store_peak *a = left, *b = right;

	return order((uint64_t)a->process << 32 | a->stack, (uint64_t)b->process << 32 | b->stack)
		       ?: order(a->tag, b->tag);
}

static void add_stat(struct store_stat *to, const struct store_stat *more)
{
	if (more->allocs + more->inherited &&
	    (!(to->allocs + to->inherited) || more->min_size < to->min_size))
		to->min_size = more->min_size;
	if (more->max_size > to->max_size)
		to->max_size = more->max_size;
	to->allocs += more->allocs;
	to->reallocs += more->reallocs;
	to->frees += more->frees;
	to->reused += more->reused;
	to->released += more->released;
	to->bytes += more->bytes;
	to->live += more->live;
	to->live_bytes += more->live_bytes;
	to->abandoned += more->abandoned;
	to->abandoned_bytes += more->abandoned_bytes;
	to->inherited += more->inherited;
	to->inherited_bytes += more->inherited_bytes;
	to->inherited_frees += more->inherited_frees;
}

static uint64_t hash_stat(const struct store_stat *row)
{
	return hash_pair(hash_keys((uint64_t)row->process << 32 | row->stack,
				   (uint64_t)row->type << 32 | row->vtable),
			 (uint64_t)row->tag << 32 | row->reading);
}

static uint64_t hash_lifetime(const struct store_lifetime *row)
{
	return hash_keys((uint64_t)row->process << 32 | row->stack,
			 (uint64_t)row->type << 32 | (uint32_t)(row->bin << 1 | row->censored));
}

static uint64_t hash_peak(const struct store_peak *row)
{
	return hash_keys((uint64_t)row->process << 32 | row->stack, row->tag);
}

static void merge_stats(struct by_site *w)
{
	struct hash_table table = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < w->stats.count; i++) {
		const struct store_stat *row = &w->stats.at[i];
		uint64_t hash = hash_stat(row);
		uint32_t at = hash_table_find(&table, hash, k, !by_stat_key(&w->stats.at[k], row));

		if (at == HASH_NONE) {
			hash_table_add(&table, hash, (uint32_t)kept);
			w->stats.at[kept++] = *row;
		} else {
			add_stat(&w->stats.at[at], row);
		}
	}
	hash_table_deinit(&table);
	w->stats.count = kept;
	if (kept)
		qsort(w->stats.at, kept, sizeof(*w->stats.at), by_stat_key);
}

static void merge_lifetimes(struct by_site *w)
{
	struct hash_table table = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < w->lifetimes.count; i++) {
		const struct store_lifetime *row = &w->lifetimes.at[i];
		uint64_t hash = hash_lifetime(row);
		uint32_t at = hash_table_find(&table, hash, k,
					      !by_lifetime_key(&w->lifetimes.at[k], row));

		if (at == HASH_NONE) {
			hash_table_add(&table, hash, (uint32_t)kept);
			w->lifetimes.at[kept++] = *row;
		} else {
			w->lifetimes.at[at].count += row->count;
			w->lifetimes.at[at].bytes += row->bytes;
		}
	}
	hash_table_deinit(&table);
	w->lifetimes.count = kept;
	if (kept)
		qsort(w->lifetimes.at, kept, sizeof(*w->lifetimes.at), by_lifetime_key);
}

/* The time is that of the largest peak of a stack of the site. */
static void merge_peaks(struct by_site *w)
{
	uint64_t *most = mem_alloc((w->peaks.count + 1) * sizeof(*most));
	struct hash_table table = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < w->peaks.count; i++) {
		const struct store_peak *row = &w->peaks.at[i];
		uint64_t hash = hash_peak(row);
		uint32_t at = hash_table_find(&table, hash, k, !by_peak_key(&w->peaks.at[k], row));

		if (at == HASH_NONE) {
			hash_table_add(&table, hash, (uint32_t)kept);
			most[kept] = row->peak_bytes;
			w->peaks.at[kept++] = *row;
			continue;
		}
		w->peaks.at[at].peak_blocks += row->peak_blocks;
		w->peaks.at[at].peak_bytes += row->peak_bytes;
		if (row->peak_bytes > most[at]) {
			most[at] = row->peak_bytes;
			w->peaks.at[at].peak_time = row->peak_time;
		}
	}
	hash_table_deinit(&table);
	free(most);
	w->peaks.count = kept;
	if (kept)
		qsort(w->peaks.at, kept, sizeof(*w->peaks.at), by_peak_key);
}

void by_site_merge(struct by_site *w, const uint32_t *sites, size_t limit)
{
	for (size_t i = 0; i < w->stats.count; i++)
		w->stats.at[i].stack =
			w->stats.at[i].stack < limit ? sites[w->stats.at[i].stack] : 0;
	for (size_t i = 0; i < w->lifetimes.count; i++)
		w->lifetimes.at[i].stack =
			w->lifetimes.at[i].stack < limit ? sites[w->lifetimes.at[i].stack] : 0;
	for (size_t i = 0; i < w->peaks.count; i++)
		w->peaks.at[i].stack =
			w->peaks.at[i].stack < limit ? sites[w->peaks.at[i].stack] : 0;
	merge_stats(w);
	merge_lifetimes(w);
	merge_peaks(w);
}

void by_site_deinit(struct by_site *w)
{
	free(w->stats.at);
	free(w->lifetimes.at);
	free(w->peaks.at);
	*w = (struct by_site){ 0 };
}
