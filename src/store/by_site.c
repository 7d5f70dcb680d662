/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.c: see by_site.h.
 *
 * Ten rows or more become one, so hash tables add them up, and only the sums are sorted.
 */
#include "by_site.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "sums.h"

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* ---- statistics ---- */

/* Compares the keys, with `site` in place of b's stack. */
static int compare_stats(const struct store_stat *a, const struct store_stat *b, uint32_t site)
{
	return order(pair(a->process, a->stack), pair(b->process, site)) ?:
	       order(pair(a->type, a->vtable), pair(b->type, b->vtable)) ?:
	       order(pair(a->reading, a->tag), pair(b->reading, b->tag));
}

static int by_stat_key(const void *left, const void *right)
{
	const struct store_stat *b = right;

	return compare_stats(left, b, b->stack);
}

static uint64_t hash_stat(const struct store_stat *row, uint32_t site)
{
	return hash_pair(hash_keys(pair(row->process, site), pair(row->type, row->vtable)),
			 pair(row->tag, row->reading));
}

static void add_stat(struct store_stat *to, const struct store_stat *more)
{
	if (more->allocs + more->inherited &&
	    (!(to->allocs + to->inherited) || more->min_size < to->min_size))
		to->min_size = more->min_size;
	if (more->max_size > to->max_size)
		to->max_size = more->max_size;
#define ADD(name, ...) to->name += more->name;
	SUMS_EACH(ADD, ADD)
#undef ADD
	to->reused += more->reused;
	to->released += more->released;
}

void by_site_add_stat(struct by_site *sums, const struct store_stat *row, uint32_t site)
{
	uint64_t hash = hash_stat(row, site);
	uint32_t at = hash_table_find(&sums->stat_table, hash, k,
				      !compare_stats(&sums->stats.at[k], row, site));

	if (at != HASH_NONE) {
		add_stat(&sums->stats.at[at], row);
		return;
	}
	hash_table_add(&sums->stat_table, hash, (uint32_t)sums->stats.count);
	*vec_push(&sums->stats) = *row;
	sums->stats.at[sums->stats.count - 1].stack = site;
}

/* ---- lifetimes ---- */

static uint32_t bin_of(const struct store_lifetime *row)
{
	return (uint32_t)(row->bin << 1 | row->censored);
}

static int compare_lifetimes(const struct store_lifetime *a, const struct store_lifetime *b,
			     uint32_t site)
{
	return order(pair(a->process, a->stack), pair(b->process, site)) ?:
	       order(pair(a->type, bin_of(a)), pair(b->type, bin_of(b)));
}

static int by_lifetime_key(const void *left, const void *right)
{
	const struct store_lifetime *b = right;

	return compare_lifetimes(left, b, b->stack);
}

void by_site_add_lifetime(struct by_site *sums, const struct store_lifetime *row, uint32_t site)
{
	uint64_t hash = hash_keys(pair(row->process, site), pair(row->type, bin_of(row)));
	uint32_t at = hash_table_find(&sums->lifetime_table, hash, k,
				      !compare_lifetimes(&sums->lifetimes.at[k], row, site));

	if (at != HASH_NONE) {
		sums->lifetimes.at[at].count += row->count;
		sums->lifetimes.at[at].bytes += row->bytes;
		return;
	}
	hash_table_add(&sums->lifetime_table, hash, (uint32_t)sums->lifetimes.count);
	*vec_push(&sums->lifetimes) = *row;
	sums->lifetimes.at[sums->lifetimes.count - 1].stack = site;
}

/* ---- peaks ---- */

static int compare_peaks(const struct store_peak *a, const struct store_peak *b, uint32_t site)
{
	return order(pair(a->process, a->stack), pair(b->process, site)) ?:
	       order(a->tag, b->tag);
}

static int by_peak_key(const void *left, const void *right)
{
	const struct store_peak *b = right;

	return compare_peaks(left, b, b->stack);
}

/* The time becomes that of the largest peak of the site's stacks. */
void by_site_add_peak(struct by_site *sums, const struct store_peak *row, uint32_t site)
{
	uint64_t hash = hash_keys(pair(row->process, site), row->tag);
	uint32_t at = hash_table_find(&sums->peak_table, hash, k,
				      !compare_peaks(&sums->peaks.at[k], row, site));

	if (at == HASH_NONE) {
		hash_table_add(&sums->peak_table, hash, (uint32_t)sums->peaks.count);
		*vec_push(&sums->peaks) = *row;
		sums->peaks.at[sums->peaks.count - 1].stack = site;
		*vec_push(&sums->most) = row->peak_bytes;
		return;
	}
	sums->peaks.at[at].peak_blocks += row->peak_blocks;
	sums->peaks.at[at].peak_bytes += row->peak_bytes;
	if (row->peak_bytes > sums->most.at[at]) {
		sums->most.at[at] = row->peak_bytes;
		sums->peaks.at[at].peak_time = row->peak_time;
	}
}

/* ---- the end ---- */

void by_site_sort(struct by_site *sums)
{
	if (sums->stats.count)
		qsort(sums->stats.at, sums->stats.count, sizeof(*sums->stats.at), by_stat_key);
	if (sums->lifetimes.count)
		qsort(sums->lifetimes.at, sums->lifetimes.count, sizeof(*sums->lifetimes.at),
		      by_lifetime_key);
	if (sums->peaks.count)
		qsort(sums->peaks.at, sums->peaks.count, sizeof(*sums->peaks.at), by_peak_key);
}

void by_site_deinit(struct by_site *sums)
{
	free(sums->stats.at);
	free(sums->lifetimes.at);
	free(sums->peaks.at);
	free(sums->most.at);
	hash_table_deinit(&sums->stat_table);
	hash_table_deinit(&sums->lifetime_table);
	hash_table_deinit(&sums->peak_table);
	*sums = (struct by_site){ 0 };
}
