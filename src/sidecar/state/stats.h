/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the aggregates of one process: per site and type, lifetimes, peaks, the timeline.
 *
 * Runs: sidecar. Signals: no. Allocates: yes; memory is bounded by distinct sites and types, never
 * by the number of events.
 * Threads: one.
 *
 * A block is counted when it ends, or as live when its process does: only then is its type known as
 * well as it ever will be. So "allocs" of a row = blocks of it that ended or live, without the
 * inherited ones, and for every row
 *     allocs + inherited_frees = frees + live.
 * Where the process ended before the session's end, finish.c writes the live ones as abandoned.
 *
 * What a fork brought along stands apart: its pages are its parent's until somebody writes to them.
 * Such a block is counted as inherited, and as a free if the child frees it; it has no part in what
 * is live, in lifetimes and in peaks.
 *
 * An object that is resized in place has asked for what it grew by, and given back what it shrank
 * by: bytes begun less bytes ended are always the live ones, in each row and in each bucket.
 *
 * Peaks are per site and follow births, for which the type is not needed. A site is a process's own
 * index of a session-wide stack id: events reach their row by two array look-ups and no hash. A
 * stack from which threads with tags have allocated has further sites, one a tag, chained to the
 * one without.
 */
#ifndef SHINY_STATS_H
#define SHINY_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "registry.h"
#include "total.h"

struct bin {
	uint64_t count, bytes;
};
struct bins { /* a dense range of log2 bins */
	struct bin *at;
	uint8_t first, count;
};

/* How a block ended: the states D and R of "Shiny Objects" (Upadhyay & Venkat, 2026), and a
 * garbage-collected one's third way. */
enum block_end {
	END_FREED,    /* the program freed it, or its destructor ran */
	END_REUSED,   /* nobody did: another one has its place */
	END_RELEASED, /* nobody did: its memory was given back, to the collector's free lists or to
	               * the system */
};

/* What most rows have none of. */
struct tally_rare {
	uint64_t reallocs;
	uint64_t reused, released; /* of tally_frees() */
	uint64_t inherited, inherited_bytes;
	uint64_t inherited_frees;  /* of tally_frees() */
	struct bins living;
};

/* What each block's end changes comes first, in one cache line. */
struct tally {
	_Alignas(64) struct tally *next;
	uint32_t vtable;
	bool second_word;        /* its vptrs were second words */
	bool complete;           /* a vptr was read when its object was complete, beyond doubt */
	struct bins ended;
	uint64_t last_size;
	uint64_t settled;        /* blocks whose vptr was read in the middle of their lives */
	uint64_t allocs, bytes;

	uint64_t dying;          /* blocks whose vptr was read only at the free */
	uint64_t size_step; /* every size is min_size + k * size_step; 0: all are the same */
	uint64_t max_size, min_size;   /* of all, inherited ones too; min_size UINT64_MAX: none
	                                * yet */
	uint64_t live, live_bytes;
	struct tally_rare *rare; /* NULL: all zero; tally_rare() */
	uint32_t type;           /* store_type id, 0 unknown: block_types.c */
};
_Static_assert(offsetof(struct tally, dying) == 64 && sizeof(struct tally) == 128, "two lines");

struct site_stats {
	uint32_t stack; /* session-wide id, 0 none */
	uint32_t api;   /* enum shiny_api of its latest block */
	uint32_t tag;   /* session-wide id, 0 none */
	uint32_t next;  /* the next one of this stack with a tag, 0 none (site 0 has no tag); the
	                 * most recently used first */
	uint64_t live_blocks, live_bytes;
	uint64_t peak_blocks, peak_bytes, peak_time; /* time in ticks, of peak_bytes */
	struct tally *stats; /* most recently used first */
};

struct bucket {
	uint64_t allocs, frees, alloc_bytes, free_bytes, live_blocks, live_bytes;
	uint64_t most_bytes; /* live at any moment in it, as far as something happened */
	bool touched; /* live_* are set */
};

enum { BUCKETS_FIRST = 16, BUCKETS_MAX = 2000 };
struct stats {
	VEC(struct site_stats) sites; /* [0] is the site of no stack */
	uint32_t *by_stack;     /* session-wide stack id → index + 1 */
	size_t by_stack_room;
	struct total_part live;
	struct total *total; /* of all processes */

	VEC(struct tally *) slabs; /* where the tallies are */
	size_t slab_used;          /* of the last one */

	struct bucket *buckets;
	size_t bucket_count, bucket_room;
	uint64_t bucket_first; /* index, in lengths since the session's start, of buckets[0] */
	uint64_t bucket_ns;    /* their length; doubles when there are too many */
	uint64_t from, to;     /* the current bucket's range, ns */
	struct bucket *current;
};

void stats_init(struct stats *stats, struct total *total);
void stats_deinit(struct stats *stats);
uint32_t stats_site(struct stats *stats, uint32_t stack); /* index of the site; made when new */
/* The site of the same stack for blocks of that tag. */
uint32_t stats_tagged(struct stats *stats, uint32_t site, uint32_t tag);
/* A forked child starts with its parent's sites, at the same indices, and nothing counted. */
void stats_clone_sites(struct stats *stats, const struct stats *parent);

static inline const struct tally_rare *tally_rare(const struct tally *tally)
{
	static const struct tally_rare none;

	return tally->rare ? tally->rare : &none;
}
/* How many blocks of it ended. */
static inline uint64_t tally_frees(const struct tally *tally)
{
	return tally->allocs + tally_rare(tally)->inherited_frees - tally->live;
}

/* When its vptrs were read: for nearly all in the middle, and one of them beyond doubt, SETTLED;
 * for most at the free, FREE; else FLUSH, some may have been too young. */
enum shiny_vptr_api stats_reading(const struct tally *tally);
/* Adds one row to another, and leaves nothing of it. */
void stats_merge(struct tally *to, struct tally *from);
/* The block has another size from now on; entry->size is still the old one. */
void stats_resize(struct stats *stats, const struct entry *entry, uint64_t size, uint64_t ns,
		  uint64_t ticks);
/* At the process's end: the block was not freed, and is `age` ns old. */
void stats_live(struct stats *stats, const struct entry *entry, uint64_t age);

/* ---- a block's beginning and end ----
 *
 * Inline, with what is rarely needed out of line: this is done once an event, and calls, and what
 * does not stay in registers across them, were a third of what it cost.
 */

/* Finds the row, or makes it; it is the site's first one afterwards. */
struct tally *stats_tally_slow(struct stats *stats, struct site_stats *site, uint32_t vtable);
/* Makes room for `bin`, which is outside of the range. */
void stats_reach_bin(struct bins *bins, unsigned bin);
/* The timeline's bucket at `ns` becomes the current one. */
void stats_find_bucket(struct stats *stats, uint64_t ns);
/* A size that is not that of the row's last block. */
void stats_take_size(struct tally *tally, uint64_t size);
/* What most rows have none of; made where there is none. */
struct tally_rare *stats_rare(struct tally *tally);

/* The row of a site's blocks of a vtable. */
static inline struct tally *stats_tally(struct stats *stats, struct site_stats *site,
					uint32_t vtable)
{
	struct tally *first = site->stats;

	return first && first->vtable == vtable ? first : stats_tally_slow(stats, site, vtable);
}

static inline void stats_count_bin(struct bins *bins, uint64_t ns, uint64_t bytes)
{
	unsigned bin = 63 - (unsigned)__builtin_clzll(ns | 1);

	if (__builtin_expect(bin - bins->first >= bins->count, 0))
		stats_reach_bin(bins, bin);
	bins->at[bin - bins->first].count++;
	bins->at[bin - bins->first].bytes += bytes;
}

/* The bucket, which is told what is live now. */
static inline struct bucket *stats_bucket(struct stats *stats, uint64_t ns)
{
	struct bucket *bucket;

	/* there is none, so far: their difference is 0 */
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

/* A block began. `ns` session time. */
static inline __attribute__((always_inline)) void
stats_begin(struct stats *stats, const struct entry *entry, uint64_t ns)
{
	struct site_stats *site = &stats->sites.at[entry->site];
	struct bucket *bucket;
	uint64_t size = entry->size;

	/* the line is written anyhow; a test for the first block would cost more */
	site->api = entry->flags & ENTRY_API;
	if (++site->live_blocks > site->peak_blocks)
		site->peak_blocks = site->live_blocks;
	site->live_bytes += size;
	if (site->live_bytes > site->peak_bytes) {
		site->peak_bytes = site->live_bytes;
		site->peak_time = entry->birth;
	}
	stats->live.blocks++;
	stats->live.bytes += size;
	total_raise(stats->total, 1, size, entry->birth);
	bucket = stats_bucket(stats, ns);
	bucket->allocs++;
	bucket->alloc_bytes += size;
}

/* What is counted once a block, whether it ended or is live at its process's end. */
static inline __attribute__((always_inline)) struct tally *
stats_count(struct stats *stats, const struct entry *entry)
{
	struct tally *s = stats_tally(stats, &stats->sites.at[entry->site], entry->vtable);
	unsigned flags = entry->flags, reading = (flags & ENTRY_READING) >> ENTRY_READING_SHIFT;
	uint64_t size = entry->size;

	s->settled += reading == SHINY_VPTR_SETTLED || reading == SHINY_VPTR_EXIT;
	s->complete |= (reading == SHINY_VPTR_SETTLED && !(flags & ENTRY_DOUBTED)) ||
		       reading == SHINY_VPTR_EXIT;
	if (reading == SHINY_VPTR_FREE)
		s->dying++;
	s->second_word = flags & ENTRY_SECOND_WORD;
	if (size != s->last_size)
		stats_take_size(s, size);
	if (__builtin_expect(flags & ENTRY_INHERITED, 0)) {
		stats_rare(s)->inherited++;
		stats_rare(s)->inherited_bytes += size;
		return s;
	}
	s->allocs++;
	s->bytes += size;
	if (flags & ENTRY_REALLOC)
		stats_rare(s)->reallocs++;
	return s;
}

/* A block ended after `lifetime` ns. */
static inline __attribute__((always_inline)) void
stats_end(struct stats *stats, const struct entry *entry, enum block_end how, uint64_t ns,
	  uint64_t lifetime)
{
	struct site_stats *site = &stats->sites.at[entry->site];
	struct tally *s = stats_count(stats, entry);
	uint64_t size = entry->size;
	struct bucket *bucket;

	if (how == END_REUSED)
		stats_rare(s)->reused++;
	else if (how == END_RELEASED)
		stats_rare(s)->released++;
	if (__builtin_expect(entry->flags & ENTRY_INHERITED, 0)) {
		stats_rare(s)->inherited_frees++;
		stats_bucket(stats, ns)->frees++;
		return;
	}
	stats_count_bin(&s->ended, lifetime, size);
	site->live_blocks--;
	site->live_bytes -= size;
	stats->live.blocks--;
	stats->live.bytes -= size;
	total_lower(stats->total, 1, size);
	bucket = stats_bucket(stats, ns);
	bucket->frees++;
	bucket->free_bytes += size;
}

#endif
