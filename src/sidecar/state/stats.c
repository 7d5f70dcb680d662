/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: see stats.h. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/estimate.h"
#include "../../base/hash.h"

#define FIRST_BUCKET_NS UINT64_C(10000000)

enum { SLAB_LEAST = 4096, SLAB_LARGEST = 9 };
_Static_assert(SLAB_LEAST << SLAB_LARGEST == MEM_HUGE, "one huge page");

void stats_init(struct stats *stats, struct total *total, uint64_t sample)
{
	*stats = (struct stats){ .bucket_ns = FIRST_BUCKET_NS, .total = total, .sample = sample };
	stats_site(stats, 0);
}

/* Most processes have few rows, a browser a hundred thousand. */
static size_t slab_bytes(size_t number)
{
	return number < SLAB_LARGEST ? (size_t)SLAB_LEAST << number : (size_t)MEM_HUGE;
}

static struct tally *tally_new(struct stats *stats)
{
	size_t count = stats->slabs.count;

	if (!count || stats->slab_used == slab_bytes(count - 1) / sizeof(struct tally)) {
		*vec_push(&stats->slabs) = mem_pages(slab_bytes(count));
		stats->slab_used = 0;
	}
	return &stats->slabs.at[stats->slabs.count - 1][stats->slab_used++];
}

__attribute__((noinline, cold)) struct tally_rare *stats_rare(struct tally *s)
{
	if (!s->rare)
		s->rare = mem_zero(1, sizeof(*s->rare));
	return s->rare;
}

static void rare_free(struct tally *s)
{
	if (s->rare)
		free(s->rare->living.at);
	free(s->rare);
	s->rare = NULL;
}

void stats_deinit(struct stats *stats)
{
	for (size_t i = 0; i < stats->sites.count; i++)
		for (struct tally *s = stats->sites.at[i].stats; s; s = s->next) {
			free(s->ended.at);
			rare_free(s);
		}
	for (size_t i = 0; i < stats->slabs.count; i++)
		mem_pages_free(stats->slabs.at[i], slab_bytes(i));
	free(stats->slabs.at);
	free(stats->sites.at);
	hash_table_deinit(&stats->by_stack);
	free(stats->buckets);
	*stats = (struct stats){ 0 };
}

uint32_t stats_site(struct stats *stats, uint32_t stack)
{
	uint32_t at = hash_table_find(&stats->by_stack, hash_key(stack), i,
				      stats->sites.at[i].stack == stack);

	if (at == HASH_NONE) {
		at = (uint32_t)stats->sites.count;
		*vec_push(&stats->sites) = (struct site_stats){ .stack = stack };
		hash_table_add(&stats->by_stack, hash_key(stack), at);
	}
	return at;
}

uint32_t stats_tagged(struct stats *stats, uint32_t site, uint32_t tag)
{
	struct site_stats *base = &stats->sites.at[site], *at;
	uint32_t before = site, found = base->next;

	for (; found; before = found, found = stats->sites.at[found].next)
		if (stats->sites.at[found].tag == tag)
			break;
	if (found && before == site)
		return found;
	if (found) {
		stats->sites.at[before].next = stats->sites.at[found].next;
	} else {
		at = vec_push(&stats->sites);
		base = &stats->sites.at[site];
		*at = (struct site_stats){ .stack = base->stack, .tag = tag };
		found = (uint32_t)stats->sites.count - 1;
	}
	stats->sites.at[found].next = base->next;
	base->next = found;
	return found;
}

void stats_clone_sites(struct stats *stats, const struct stats *parent)
{
	for (size_t i = 0; i < parent->sites.count; i++) {
		const struct site_stats *site = &parent->sites.at[i];
		/* a site with a tag follows the one without */
		uint32_t index = stats_site(stats, site->stack);

		if (site->tag)
			stats_tagged(stats, index, site->tag);
	}
}

struct tally *stats_tally_slow(struct stats *stats, struct site_stats *site, uint32_t vtable)
{
	struct tally **link = &site->stats, *s;

	for (; (s = *link); link = &s->next) {
		if (s->vtable != vtable)
			continue;
		*link = s->next;
		goto found;
	}
	s = tally_new(stats);
	s->vtable = vtable;
	s->min_size = UINT64_MAX;
	s->last_size = UINT64_MAX; /* no block has it */
found:
	s->next = site->stats;
	site->stats = s;
	return s;
}

__attribute__((noinline, cold)) void stats_reach_bin(struct bins *bins, unsigned bin)
{
	if (!bins->count) {
		bins->at = mem_zero(1, sizeof(*bins->at));
		bins->first = (uint8_t)bin;
		bins->count = 1;
	} else if (bin < bins->first) {
		unsigned more = bins->first - bin;

		bins->at = mem_resize(bins->at, bins->count + more, sizeof(*bins->at));
		memmove(bins->at + more, bins->at, bins->count * sizeof(*bins->at));
		memset(bins->at, 0, more * sizeof(*bins->at));
		bins->first = (uint8_t)bin;
		bins->count = (uint8_t)(bins->count + more);
	} else {
		unsigned count = bin - bins->first + 1;

		bins->at = mem_resize(bins->at, count, sizeof(*bins->at));
		memset(bins->at + bins->count, 0, (count - bins->count) * sizeof(*bins->at));
		bins->count = (uint8_t)count;
	}
}

/* ---- the timeline ---- */

/* Halves the number of buckets; pairs are aligned to the session's start, so that all processes'
 * buckets stay comparable. */
static void merge_buckets(struct stats *stats)
{
	uint64_t first = stats->bucket_first / 2;
	size_t count = 0;
	size_t room = stats->bucket_count / 2 + 2;
	struct bucket *merged = mem_zero(room, sizeof(*merged));

	for (size_t i = 0; i < stats->bucket_count; i++) {
		const struct bucket *b = &stats->buckets[i];
		struct bucket *m = &merged[(stats->bucket_first + i) / 2 - first];

		m->allocs += b->allocs;
		m->frees += b->frees;
		m->alloc_bytes += b->alloc_bytes;
		m->free_bytes += b->free_bytes;
		if (b->most_bytes > m->most_bytes)
			m->most_bytes = b->most_bytes;
		if (b->touched) {
			m->live_blocks = b->live_blocks;
			m->live_bytes = b->live_bytes;
			m->touched = true;
		}
		count = (size_t)(m - merged) + 1;
	}
	free(stats->buckets);
	stats->buckets = merged;
	stats->bucket_room = room;
	stats->bucket_count = count;
	stats->bucket_first = first;
	stats->bucket_ns *= 2;
}

__attribute__((noinline, cold)) void stats_find_bucket(struct stats *stats, uint64_t ns)
{
	uint64_t index = ns / stats->bucket_ns;
	size_t at;

	if (!stats->bucket_count)
		stats->bucket_first = index;
	/* a late record from before the process's first: its bucket is the first */
	if (index < stats->bucket_first)
		index = stats->bucket_first;
	while (index - stats->bucket_first >= BUCKETS_MAX) {
		if (stats->bucket_ns > UINT64_MAX / 4) {
			index = stats->bucket_first;
			break;
		}
		merge_buckets(stats);
		index = ns / stats->bucket_ns;
		if (index < stats->bucket_first)
			index = stats->bucket_first;
	}
	at = (size_t)(index - stats->bucket_first);
	stats->buckets = mem_reach(stats->buckets, &stats->bucket_room, at, sizeof(*stats->buckets),
				   BUCKETS_FIRST);
	if (at >= stats->bucket_count)
		stats->bucket_count = at + 1;
	stats->current = &stats->buckets[at];
	stats->from = index * stats->bucket_ns;
	stats->to = stats->from + stats->bucket_ns;
}

/* ---- blocks ---- */

static uint64_t common_step(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * The step of sizes is the greatest common divisor of their differences, for which those between
 * neighbours in time are enough. Most blocks have the size of the one before, and steps soon become
 * powers of two, mostly 1 or 8: only the others divide.
 */
__attribute__((noinline)) void stats_take_size(struct tally *s, uint64_t size)
{
	uint64_t difference = size > s->last_size ? size - s->last_size : s->last_size - size;

	if (s->min_size != UINT64_MAX && ((s->size_step & (s->size_step - 1)) || !s->size_step ||
					  difference & (s->size_step - 1)))
		s->size_step = common_step(s->size_step, difference);
	s->last_size = size;
	if (size > s->max_size)
		s->max_size = size;
	if (size < s->min_size)
		s->min_size = size;
}

__attribute__((noinline, cold)) void stats_spread(struct tally *s, enum stats_spread of,
						  uint64_t size, uint64_t weight)
{
	struct tally_rare *rare = stats_rare(s);
	uint64_t *const sums[][2] = {
		[SPREAD_ALLOCS] = { &rare->allocs_variance, &rare->bytes_variance },
		[SPREAD_LIVE] = { &rare->live_variance, &rare->live_bytes_variance },
		[SPREAD_AT_PEAK] = { &rare->at_peak_variance, &rare->at_peak_bytes_variance },
	};

	estimate_vary(sums[of][0], sums[of][1], size, weight);
}

void stats_resize(struct stats *stats, const struct entry *entry, uint64_t size, uint64_t ns,
		  uint64_t ticks)
{
	struct site_stats *site = &stats->sites.at[entry->site];
	bool grows = size > entry->size;
	uint64_t most = stats->total->peak.bytes;
	uint64_t difference = grows ? size - entry->size : entry->size - size;
	struct bucket *bucket;

	if (entry->flags & ENTRY_INHERITED || stats->sample)
		return;
	site->live_bytes += size - entry->size;
	stats->live.bytes += size - entry->size;
	bucket = stats_bucket(stats, ns);
	if (grows) {
		bucket->alloc_bytes += difference;
		total_raise(stats->total, 0, difference, ticks);
		if (stats->total->peak.bytes != most)
			return;
	} else {
		/* its end will add only the smaller size */
		stats_tally(stats, site, entry->vtable)->bytes += difference;
		bucket->free_bytes += difference;
		total_lower(stats->total, 0, difference);
	}
	/* its end will add the new size */
	if (entry->birth <= stats->total->peak_newest)
		stats_at_peak(stats->total, stats_tally(stats, site, entry->vtable), 0,
			      entry->size - size);
}

void stats_live(struct stats *stats, const struct entry *entry, uint64_t age)
{
	uint64_t blocks = stats_weight(stats, entry), size = entry->size * blocks;
	struct tally *s = stats_count(stats, entry, blocks);
	bool spreads = blocks != 1;

	if (entry->flags & ENTRY_INHERITED)
		return;
	stats_rare(s)->live += blocks;
	stats_rare(s)->live_bytes += size;
	if (spreads)
		stats_spread(s, SPREAD_LIVE, entry->size, blocks);
	if (entry->birth <= stats->total->peak_newest &&
	    (!stats->live.left || stats->total->peak.time < stats->live.left_at)) {
		stats_at_peak(stats->total, s, blocks, size);
		if (spreads)
			stats_spread(s, SPREAD_AT_PEAK, entry->size, blocks);
	}
	stats_count_bin(&stats_rare(s)->living, age, blocks, size);
}

enum shiny_vptr_api stats_reading(const struct tally *s)
{
	uint64_t blocks = s->allocs + tally_rare(s)->inherited;

	if (!s->vtable || (s->complete && s->settled * 10 >= blocks * 9))
		return SHINY_VPTR_SETTLED;
	return s->dying * 2 > blocks ? SHINY_VPTR_FREE : SHINY_VPTR_FLUSH;
}

static void add_bins(struct bins *to, const struct bins *from)
{
	struct bins sum = { .first = to->first, .count = to->count };
	unsigned last;

	if (!from->count)
		return;
	if (!to->count || from->first < sum.first)
		sum.first = from->first;
	last = from->first + from->count;
	if (to->count && (unsigned)to->first + to->count > last)
		last = to->first + to->count;
	sum.count = (uint8_t)(last - sum.first);
	sum.at = mem_zero(sum.count, sizeof(*sum.at));
	for (unsigned i = 0; i < to->count; i++)
		sum.at[to->first - sum.first + i] = to->at[i];
	for (unsigned i = 0; i < from->count; i++) {
		sum.at[from->first - sum.first + i].count += from->at[i].count;
		sum.at[from->first - sum.first + i].bytes += from->at[i].bytes;
	}
	free(to->at);
	*to = sum;
}

static void merge_rare(struct tally_rare *to, const struct tally_rare *from)
{
#define ADD(name, kind, how, ...) SUM_##how(to->name += from->name;)
	SUMS_EACH(ADD, ADD)
#undef ADD
	to->reused += from->reused;
	to->released += from->released;
	to->live += from->live;
	to->live_bytes += from->live_bytes;
	add_bins(&to->living, &from->living);
}

/* Leaves in `from` what merge_rare() is to add to `to`; counts of an earlier peak are void. */
static void merge_peak_variance(struct tally *to, struct tally *from)
{
	struct tally *earlier = from->peak_round > to->peak_round   ? to
				: from->peak_round < to->peak_round ? from
								    : NULL;

	if (earlier && earlier->rare)
		earlier->rare->at_peak_variance = earlier->rare->at_peak_bytes_variance = 0;
}

void stats_merge(struct tally *to, struct tally *from)
{
	to->allocs += from->allocs;
	to->bytes += from->bytes;
	merge_peak_variance(to, from);
	if (from->at_peak && from->peak_round >= to->peak_round) {
		bool same = from->peak_round == to->peak_round;

		to->at_peak = from->at_peak + (same ? to->at_peak : 0);
		to->at_peak_bytes = from->at_peak_bytes + (same ? to->at_peak_bytes : 0);
		to->peak_round = from->peak_round;
	}
	to->settled += from->settled;
	to->complete |= from->complete;
	to->dying += from->dying;
	if (from->min_size != UINT64_MAX) {
		stats_take_size(to, from->min_size);
		stats_take_size(to, from->max_size);
		to->size_step = common_step(to->size_step, from->size_step);
	}
	add_bins(&to->ended, &from->ended);
	if (from->rare)
		merge_rare(stats_rare(to), from->rare);
	free(from->ended.at);
	rare_free(from);
}
