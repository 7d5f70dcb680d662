/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the aggregates of one process: per site and type, lifetimes, peaks, the timeline.
 *
 * Runs: sidecar. Signals: no. Allocates: yes; memory is bounded by distinct sites and types, never
 * by the number of events.
 * Threads: one.
 *
 * A block is counted when it ends, or as live when its process does: its type is not known better
 * before. So "allocs" of a row = blocks of it that ended or live, without the inherited ones, and
 * for every row
 *     allocs + inherited_frees = frees + live.
 * If the process ended before the session's end, finish.c writes the live ones as abandoned.
 *
 * Blocks inherited by a fork are separate, as their pages are shared with the parent until either
 * writes to them. Such a block is counted as inherited, and as a free if the child frees it; live
 * blocks, lifetimes and peaks do not include it.
 *
 * The composition of the session's peak is counted when blocks end, too: a block lived at the peak
 * if it had been born by then: if its birth is not later than the latest one known at the peak.
 * (A record that comes late can be miscounted so.) Nothing is stored at births, and most blocks
 * that end are younger than the peak. When the peak moves on, all counts of the earlier one are
 * void: `round` of struct total grows, and rows of an earlier round are empty. It is the peak of
 * running processes.
 *
 * An object that is resized in place counts the growth as allocated bytes, and the shrinkage as
 * freed bytes: bytes begun less bytes ended are always the live ones, in each row and in each
 * bucket.
 *
 * A block of a sample (SHINY_SAMPLE) counts as many blocks as it stands for (the wire's
 * sample_weight.h), and the rows' sums of weight * (weight - 1) are the variances of their errors.
 * An object keeps the size by which it was drawn.
 *
 * Peaks are per site and follow births, which do not need the type. A site is a process's own index
 * of a session-wide stack id: events find their row by two array look-ups without a hash. A stack
 * from which threads with tags have allocated has further sites, one per tag, chained to the one
 * without.
 */
#ifndef SHINY_STATS_H
#define SHINY_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/sample_weight.h>
#include <shiny/wire/wire.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../store/sum_list.h"
#include "registry.h"
#include "total.h"

struct bin {
	uint64_t count, bytes;
};
struct bins { /* a dense range of log2 bins */
	struct bin *at;
	uint8_t first, count;
};

/* The ways in which a block ends: the states D and R of "Shiny Objects" (Upadhyay & Venkat, 2026),
 * and a third one of garbage-collected objects. */
enum block_end {
	END_FREED,    /* the program freed it, or its destructor ran */
	END_REUSED,   /* not freed: another block has its place */
	END_RELEASED, /* not freed: its memory was returned to the collector's free lists or to the
	               * system */
};

/* Counts that are zero in most rows. */
struct tally_rare {
#define MEMBER(name, kind, how, ...) SUM_##how(uint64_t name;)
	SUMS_EACH(MEMBER, MEMBER)
#undef MEMBER
	uint64_t reused, released; /* part of tally_frees() */
	uint64_t live, live_bytes; /* when its process ended */
	struct bins living;
};

/* A row of one site and vtable. The members that each block's end changes come first, in one cache
 * line. */
struct tally {
	_Alignas(64) struct tally *next;
	uint32_t vtable;
	bool second_word;        /* its vptrs were second words */
	bool complete;           /* a vptr was read in a complete object, without doubt */
	struct bins ended;
	uint64_t last_size;
	uint64_t settled;        /* blocks whose vptr was read in the middle of their lives */
	uint64_t allocs, bytes;

	uint64_t dying;          /* blocks whose vptr was read only at the free */
	uint64_t size_step; /* every size is min_size + k * size_step; 0: all are the same */
	uint64_t max_size, min_size;   /* of all blocks, inherited ones too; min_size UINT64_MAX:
	                                * none yet */
	uint64_t at_peak, at_peak_bytes; /* live at the peak, in this round; tally_at_peak() */
	struct tally_rare *rare; /* NULL: all zero; tally_rare() */
	uint32_t type;           /* store_type id, 0 unknown: block_types.c */
	uint32_t peak_round;     /* of struct total */
};
_Static_assert(offsetof(struct tally, dying) == 64 && sizeof(struct tally) == 128, "two lines");

struct site_stats {
	uint32_t stack; /* session-wide id, 0 none */
	uint32_t api;   /* enum shiny_api of its latest block */
	uint32_t tag;   /* session-wide id, 0 none */
	uint32_t next;  /* next site of this stack with a tag, most recently used first; 0 none
	                 * (site 0 has no tag) */
	uint64_t live_blocks, live_bytes;
	uint64_t peak_blocks, peak_bytes, peak_time; /* peak_time: ticks of peak_bytes */
	struct tally *stats; /* most recently used first */
};

struct bucket {
	uint64_t allocs, frees, alloc_bytes, free_bytes, live_blocks, live_bytes;
	uint64_t most_bytes; /* the most live bytes after any event in it */
	bool touched; /* live_* are set */
};

enum { BUCKETS_FIRST = 16, BUCKETS_MAX = 2000 };
struct stats {
	VEC(struct site_stats) sites; /* [0] is the site of no stack */
	struct hash_table by_stack; /* indices of the sites without a tag */
	struct total_part live;
	struct total *total; /* of all processes */
	uint64_t sample;     /* mean of the sample, bytes; 0: every block is recorded */

	VEC(struct tally *) slabs; /* memory of the tallies */
	size_t slab_used;          /* tallies used in the last slab */

	struct bucket *buckets;
	size_t bucket_count, bucket_room;
	uint64_t bucket_first; /* index of buckets[0]: its start / bucket_ns */
	uint64_t bucket_ns;    /* length of a bucket, ns; doubles when there are too many */
	uint64_t from, to;     /* the current bucket's range, ns */
	struct bucket *current;
};

void stats_init(struct stats *stats, struct total *total, uint64_t sample);
void stats_deinit(struct stats *stats);
uint32_t stats_site(struct stats *stats, uint32_t stack); /* index of the site, created when new */
/* Returns the site of the same stack for blocks of that tag, created when new. */
uint32_t stats_tagged(struct stats *stats, uint32_t site, uint32_t tag);
/* Gives a forked child its parent's sites, at the same indices, without counts. */
void stats_clone_sites(struct stats *stats, const struct stats *parent);

static inline const struct tally_rare *tally_rare(const struct tally *tally)
{
	static const struct tally_rare none;

	return tally->rare ? tally->rare : &none;
}
/* Returns the number of the row's blocks that ended. */
static inline uint64_t tally_frees(const struct tally *tally)
{
	return tally->allocs + tally_rare(tally)->inherited_frees - tally_rare(tally)->live;
}

/* Tells when the row's vptrs were read. SETTLED: nearly all in the middle of lives, one of them
 * beyond doubt; FREE: most at the free; FLUSH: else, some may have been too young. */
enum shiny_vptr_api stats_reading(const struct tally *tally);
/* Adds row `from` to `to`, and frees the memory of `from`. */
void stats_merge(struct tally *to, struct tally *from);
/* Returns whether the row's at_peak counts are of the session's peak. */
static inline bool tally_at_peak(const struct tally *tally, const struct total *total)
{
	return tally->peak_round == total->round && total->counted;
}
/* Counts a new size of a block; entry->size is still the old one. */
void stats_resize(struct stats *stats, const struct entry *entry, uint64_t size, uint64_t ns,
		  uint64_t ticks);
/* Counts a block that is live at its process's end, `age` ns old. */
void stats_live(struct stats *stats, const struct entry *entry, uint64_t age);

/* ---- a block's beginning and end ----
 *
 * These functions are inline, with their rare parts out of line: they run once an event, and calls,
 * with the registers that these spill, were a third of the cost.
 */

/* Finds or creates the row; it is the site's first one afterwards. */
struct tally *stats_tally_slow(struct stats *stats, struct site_stats *site, uint32_t vtable);
/* Makes room for `bin`, which is outside of the range. */
void stats_reach_bin(struct bins *bins, unsigned bin);
/* Makes the timeline's bucket at `ns` the current one. */
void stats_find_bucket(struct stats *stats, uint64_t ns);
/* Counts a size that differs from that of the row's last block. */
void stats_take_size(struct tally *tally, uint64_t size);
/* Returns the row's rare counts, created when missing. */
struct tally_rare *stats_rare(struct tally *tally);

/* Adds to the variances of a row's sums: of all its blocks, of those that live at the end, of those
 * that lived at the peak. */
enum stats_spread { SPREAD_ALLOCS, SPREAD_LIVE, SPREAD_AT_PEAK };
void stats_spread(struct tally *tally, enum stats_spread of, uint64_t size, uint64_t weight);

/* Returns how many blocks this one counts as. */
static inline uint64_t stats_weight(const struct stats *stats, const struct entry *entry)
{
	return __builtin_expect(!stats->sample, 1)
		       ? 1
		       : shiny_sample_weight(
				 entry->size,
				 shiny_sample_mean(stats->sample,
						   entry->flags >> ENTRY_LEVEL_SHIFT));
}

/* Returns the row of a site's blocks of a vtable. */
static inline struct tally *stats_tally(struct stats *stats, struct site_stats *site,
					uint32_t vtable)
{
	struct tally *first = site->stats;

	return first && first->vtable == vtable ? first : stats_tally_slow(stats, site, vtable);
}

static inline void stats_count_bin(struct bins *bins, uint64_t ns, uint64_t blocks, uint64_t bytes)
{
	unsigned bin = 63 - (unsigned)__builtin_clzll(ns | 1);

	if (__builtin_expect(bin - bins->first >= bins->count, 0))
		stats_reach_bin(bins, bin);
	bins->at[bin - bins->first].count += blocks;
	bins->at[bin - bins->first].bytes += bytes;
}

/* Returns the bucket at `ns`, after setting its live counts. */
static inline struct bucket *stats_bucket(struct stats *stats, uint64_t ns)
{
	struct bucket *bucket;

	/* without a bucket yet, from and to are equal */
	if (__builtin_expect(ns - stats->from >= stats->to - stats->from, 0))
		stats_find_bucket(stats, ns);
	bucket = stats->current;
	bucket->live_blocks = stats->live.blocks;
	bucket->live_bytes = stats->live.bytes;
	if (stats->live.bytes > bucket->most_bytes)
		bucket->most_bytes = stats->live.bytes;
	bucket->touched = true;
	return bucket;
}

/* Counts a birth. `ns`: session time. */
static inline __attribute__((always_inline)) void
stats_begin(struct stats *stats, const struct entry *entry, uint64_t ns)
{
	struct site_stats *site = &stats->sites.at[entry->site];
	struct bucket *bucket;
	uint64_t blocks = stats_weight(stats, entry), size = entry->size * blocks;

	/* the line is written anyhow; a test for the first block would cost more */
	site->api = entry->flags & ENTRY_API;
	site->live_blocks += blocks;
	if (site->live_blocks > site->peak_blocks)
		site->peak_blocks = site->live_blocks;
	site->live_bytes += size;
	if (site->live_bytes > site->peak_bytes) {
		site->peak_bytes = site->live_bytes;
		site->peak_time = entry->birth;
	}
	stats->live.blocks += blocks;
	stats->live.bytes += size;
	total_raise(stats->total, blocks, size, entry->birth);
	bucket = stats_bucket(stats, ns);
	bucket->allocs += blocks;
	bucket->alloc_bytes += size;
}

/* Counts a block in its row, once: when it ends, or is live at its process's end. */
static inline __attribute__((always_inline)) struct tally *
stats_count(struct stats *stats, const struct entry *entry, uint64_t blocks)
{
	struct tally *s = stats_tally(stats, &stats->sites.at[entry->site], entry->vtable);
	unsigned flags = entry->flags, reading = (flags & ENTRY_READING) >> ENTRY_READING_SHIFT;
	uint64_t size = entry->size;

	if (reading == SHINY_VPTR_SETTLED || reading == SHINY_VPTR_EXIT)
		s->settled += blocks;
	s->complete |= (reading == SHINY_VPTR_SETTLED && !(flags & ENTRY_DOUBTED)) ||
		       reading == SHINY_VPTR_EXIT;
	if (reading == SHINY_VPTR_FREE)
		s->dying += blocks;
	s->second_word = flags & ENTRY_SECOND_WORD;
	if (size != s->last_size)
		stats_take_size(s, size);
	if (__builtin_expect(flags & ENTRY_INHERITED, 0)) {
		stats_rare(s)->inherited += blocks;
		stats_rare(s)->inherited_bytes += size * blocks;
		return s;
	}
	s->allocs += blocks;
	s->bytes += size * blocks;
	if (flags & ENTRY_REALLOC)
		stats_rare(s)->reallocs += blocks;
	if (__builtin_expect(blocks != 1, 0))
		stats_spread(s, SPREAD_ALLOCS, size, blocks);
	return s;
}

/* Adds to the row's counts at the peak; `bytes` may be negative. */
static inline void stats_at_peak(struct total *total, struct tally *s, uint64_t blocks,
				 uint64_t bytes)
{
	if (!tally_at_peak(s, total)) {
		total->counted = true;
		s->peak_round = total->round;
		s->at_peak = s->at_peak_bytes = 0;
		if (s->rare)
			s->rare->at_peak_variance = s->rare->at_peak_bytes_variance = 0;
	}
	s->at_peak += blocks;
	s->at_peak_bytes += bytes;
}

/* Counts an end after `lifetime` ns. */
static inline __attribute__((always_inline)) void
stats_end(struct stats *stats, const struct entry *entry, enum block_end how, uint64_t ns,
	  uint64_t lifetime)
{
	struct site_stats *site = &stats->sites.at[entry->site];
	uint64_t blocks = stats_weight(stats, entry), size = entry->size * blocks;
	struct tally *s = stats_count(stats, entry, blocks);
	struct bucket *bucket;

	if (how == END_REUSED)
		stats_rare(s)->reused += blocks;
	else if (how == END_RELEASED)
		stats_rare(s)->released += blocks;
	if (__builtin_expect(entry->flags & ENTRY_INHERITED, 0)) {
		stats_rare(s)->inherited_frees += blocks;
		stats_bucket(stats, ns)->frees += blocks;
		return;
	}
	if (entry->birth <= stats->total->peak_newest) {
		stats_at_peak(stats->total, s, blocks, size);
		if (__builtin_expect(blocks != 1, 0))
			stats_spread(s, SPREAD_AT_PEAK, entry->size, blocks);
	}
	stats_count_bin(&s->ended, lifetime, blocks, size);
	site->live_blocks -= blocks;
	site->live_bytes -= size;
	stats->live.blocks -= blocks;
	stats->live.bytes -= size;
	total_lower(stats->total, blocks, size);
	bucket = stats_bucket(stats, ns);
	bucket->frees += blocks;
	bucket->free_bytes += size;
}

#endif
