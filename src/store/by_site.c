/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.c: see by_site.h.
 */
#include "by_site.h"

#include <stdlib.h>

static bool make_room(void *rows_pointer, size_t count, size_t *room, size_t each)
{
	void **rows = rows_pointer, *bigger;
	size_t more = *room ? *room * 2 : 64;

	if (count < *room)
		return true;
	bigger = reallocarray(*rows, more, each);
	if (!bigger)
		return false;
	*rows = bigger;
	*room = more;
	return true;
}

struct shiny_err *by_site_stat(struct by_site *w, const struct store_stat *row)
{
	if (!make_room(&w->stats, w->stat_count, &w->stat_room, sizeof(*row)))
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	w->stats[w->stat_count++] = *row;
	return NULL;
}

struct shiny_err *by_site_lifetime(struct by_site *w, const struct store_lifetime *row)
{
	if (!make_room(&w->lifetimes, w->lifetime_count, &w->lifetime_room, sizeof(*row)))
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	w->lifetimes[w->lifetime_count++] = *row;
	return NULL;
}

struct shiny_err *by_site_peak(struct by_site *w, const struct store_peak *row)
{
	if (!make_room(&w->peaks, w->peak_count, &w->peak_room, sizeof(*row)))
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	w->peaks[w->peak_count++] = *row;
	return NULL;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_stat_key(const void *left, const void *right)
{
	const struct store_stat *a = left, *b = right;

	return order((uint64_t)a->process << 32 | a->stack, (uint64_t)b->process << 32 | b->stack) ?:
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

static void merge_stats(struct by_site *w)
{
	size_t kept = 0;

	if (w->stat_count)
		qsort(w->stats, w->stat_count, sizeof(*w->stats), by_stat_key);
	for (size_t i = 0; i < w->stat_count; i++)
		if (kept && by_stat_key(&w->stats[kept - 1], &w->stats[i]) == 0)
			add_stat(&w->stats[kept - 1], &w->stats[i]);
		else
			w->stats[kept++] = w->stats[i];
	w->stat_count = kept;
}

static void merge_lifetimes(struct by_site *w)
{
	size_t kept = 0;

	if (w->lifetime_count)
		qsort(w->lifetimes, w->lifetime_count, sizeof(*w->lifetimes), by_lifetime_key);
	for (size_t i = 0; i < w->lifetime_count; i++) {
		struct store_lifetime *last = kept ? &w->lifetimes[kept - 1] : NULL;

		if (last && by_lifetime_key(last, &w->lifetimes[i]) == 0) {
			last->count += w->lifetimes[i].count;
			last->bytes += w->lifetimes[i].bytes;
		} else {
			w->lifetimes[kept++] = w->lifetimes[i];
		}
	}
	w->lifetime_count = kept;
}

static void merge_peaks(struct by_site *w)
{
	uint64_t most = 0; /* the largest single peak of the site */
	size_t kept = 0;

	if (w->peak_count)
		qsort(w->peaks, w->peak_count, sizeof(*w->peaks), by_peak_key);
	for (size_t i = 0; i < w->peak_count; i++) {
		struct store_peak *last = kept ? &w->peaks[kept - 1] : NULL, *peak = &w->peaks[i];

		if (!last || by_peak_key(last, peak) != 0) {
			most = peak->peak_bytes;
			w->peaks[kept++] = *peak;
			continue;
		}
		last->peak_blocks += peak->peak_blocks;
		last->peak_bytes += peak->peak_bytes;
		if (peak->peak_bytes > most) {
			most = peak->peak_bytes;
			last->peak_time = peak->peak_time;
		}
	}
	w->peak_count = kept;
}

void by_site_merge(struct by_site *w, const uint32_t *sites, size_t limit)
{
	for (size_t i = 0; i < w->stat_count; i++)
		w->stats[i].stack = w->stats[i].stack < limit ? sites[w->stats[i].stack] : 0;
	for (size_t i = 0; i < w->lifetime_count; i++)
		w->lifetimes[i].stack =
			w->lifetimes[i].stack < limit ? sites[w->lifetimes[i].stack] : 0;
	for (size_t i = 0; i < w->peak_count; i++)
		w->peaks[i].stack = w->peaks[i].stack < limit ? sites[w->peaks[i].stack] : 0;
	merge_stats(w);
	merge_lifetimes(w);
	merge_peaks(w);
}

void by_site_deinit(struct by_site *w)
{
	free(w->stats);
	free(w->lifetimes);
	free(w->peaks);
	*w = (struct by_site){ 0 };
}
