/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h: describes the pages of the heap at a moment: their fill, the objects that are and were
 * on them, and the blocks that keep them.
 *
 * Runs: CLI. Signals: no. Allocates: see cost. Threads: one a store.
 *
 * Definitions, after "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026), sections on pages
 * (F9, F10, F11):
 *   page           4 KiB of one process's address space that holds at least one byte of a live
 *                  block; line: 64 bytes, range: 2 MiB likewise. Bytes are as requested, without
 *                  the allocator's overhead. A block of 0 bytes occupies its address.
 *   utilization    live bytes / (4096 * pages): the share that the blocks use of the memory they
 *                  need. With it, if the sidecar sampled the process, the bytes that malloc and the
 *                  garbage-collected heaps had committed and resident then (memory.h).
 *   state          of an object that has ended by the moment: D destroyed, R reused (lifetimes.h);
 *                  of one that is live: P. A page is labelled by the set of states of all objects
 *                  that ever lay on it until the moment (F9a; in a forked process: since its fork).
 *                  `D` alone is a page without live objects. An object that a collection moved away
 *                  was R there, and so are bytes that an object lost by shrinking. Z: live, and
 *                  proven to be untouched around the moment (touched.h); without proof, or without
 *                  a recording, it is P.
 *   fate           of an object that is live at the moment: its later end, D or R, or P if it never
 *                  ends; Z as above, if it never ends. A page's label is the set over its live
 *                  objects: a page of D only will become free, one of D+P is kept by its P objects.
 *   pinned         a page with less than `under` live bytes on it, or with a single block that does
 *                  not fill it ("page pollution").
 *   reclaimable    by size bucket (F10's): pages with blocks of this bucket only, less the pages
 *                  that those blocks need side by side: alone - ceil(bytes on these pages / 4096).
 *                  Pooling this size would free them; over each process's pages.
 * The same at 2 MiB is a huge page's view: ranges by their share of live bytes, and by their share
 * of pages with any.
 *
 * The moment: PAGES_AT_END is the session's end, as in `report`: each of its processes at its own
 * end or the recording's. At any other time it is the processes that run then; page_moment.h
 * defines the peak. Forked processes have pages of their own, although the kernel copies a page
 * only when one of the two writes to it: blocks that a fork copied fill them, and count here, but
 * in no other report.
 *
 * If blocks overlap (the end of one was not seen), each byte counts once, for the block that begins
 * first; a block without bytes left is on no page.
 *
 * Cost: one pass over the events (replay.h; PEAK: two, if the session's peak is not the filter's);
 * 24 bytes a live block and 24 a run of pages at the moment; with history 1 byte a page that was
 * ever used; for points what page_count.h says. Over test/lib/session_make's session of 10 million
 * events, history and points add a third to a half to the processor time of a pass (`shinyctl
 * pages` against `pages --map`, which has neither), and it needs 110 MB.
 */
#ifndef SHINY_PAGES_H
#define SHINY_PAGES_H

#include "../../answer/field.h"
#include "../attribute/groups.h"
#include "page_history.h"
#include "page_series.h"
#include "touched.h"

enum pages_moment { PAGES_AT_END, PAGES_AT_PEAK, PAGES_AT_TIME, PAGES_AT_SHARE };

struct pages_ask {
	enum pages_moment at;
	uint64_t time;   /* for PAGES_AT_TIME: ns since the session's start */
	double share;    /* for PAGES_AT_SHARE: of the session's duration, 0 to 1; struct pages then
			  * has PAGES_AT_TIME */
	uint64_t under;  /* a page with fewer live bytes is pinned; 1 to 4096 */
	size_t points;   /* points of the series over time, evenly spaced; 0: none */
	bool history;    /* find the states of all objects that lay on a page */
	const char *match; /* pattern of row names (text_matches); NULL: all. Sums include all */
	bool full_names, progress;
};
enum { PAGES_UNDER = 512, PAGES_POINTS = 40 }; /* the command's defaults */

enum { PAGES_TENTHS = 10 }; /* [0, 10 %), … [90 %, 100 %] */
enum { PAGES_BUCKETS = 6 };
extern const uint64_t pages_bucket_up_to[PAGES_BUCKETS]; /* 64, 256, 1 K, 4 K, 16 K, UINT64_MAX: the
							  * largest size of each */
extern const char *const pages_bucket_names[PAGES_BUCKETS]; /* "65 - 256 B" */

struct pages_bucket { /* blocks of one size bucket */
	uint64_t blocks, bytes;
	uint64_t pages;       /* with such a block */
	uint64_t alone;       /* with such blocks only */
	uint64_t alone_bytes; /* on those pages */
	uint64_t reclaimable;
};
struct pages_sums {
	uint64_t blocks, bytes, pages, lines, ranges;
	uint64_t under, under_bytes;   /* pages with fewer bytes than ask.under, and the bytes on
				        * them */
	uint64_t single, single_bytes; /* pages of one block that does not fill them */
	uint64_t pinned, pinned_bytes; /* union of both kinds */
	uint64_t overlaps, overlap_bytes; /* blocks that begin inside others; their bytes inside
					   * those. bytes - overlap_bytes are on the pages */
	uint64_t by_use[PAGES_TENTHS];       /* pages by share of live bytes */
	/* ranges by share of live bytes, and of pages with any */
	uint64_t ranges_by_use[PAGES_TENTHS], ranges_by_pages[PAGES_TENTHS];
	uint64_t ever[PAGE_SETS], ever_ranges[PAGE_SETS];   /* pages and ranges by set of states;
							     * with `history` */
	uint64_t fates[PAGE_SETS], fate_ranges[PAGE_SETS];  /* by fates of live objects */
	uint64_t zombies, zombie_bytes; /* blocks that are Z; pages and ranges with Z only:
					 * fates[PAGE_ZOMBIE], fate_ranges[PAGE_ZOMBIE] */
	uint64_t sampled;			   /* processes with a sample up to the moment; of
						    * these: */
	uint64_t committed, resident, sample_live; /* bytes of malloc and garbage-collected heaps;
						    * live in them at that sample */
	struct pages_bucket buckets[PAGES_BUCKETS];
};

/* adjacent equal pages; more than one only inside a block */
struct page_run {
	uint64_t page, count; /* page: address / 4096 of the first */
	uint32_t blocks, bytes; /* on each page; bytes: those counted */
	uint8_t lines, fates;   /* fates: a set of enum page_state */
	bool pinned;
};
struct pages_process {
	uint32_t id, pid;
	char *name;         /* role, or program */
	uint64_t sample_time; /* of the last sample up to the moment; 0: none */
	bool touched;         /* its pages have a reading for the moment */
	bool mapped;          /* the caller sets it: pages_fields has its pages */
	struct pages_sums sums;
	struct page_run *runs; /* sorted by page */
	size_t run_count, run_room;
	struct page_history history; /* with live objects as P */
};
struct pages_pin { /* a type or a call site */
	char *name;
	uint64_t blocks, bytes, pages; /* live; pages with one of its blocks */
	uint64_t pinned;       /* pinned ones of these pages */
	uint64_t pinned_bytes; /* its own bytes on pinned pages */
	uint64_t freed;        /* pinned pages with its blocks only: they would be free without
			        * it */
	uint64_t idle;         /* bytes of those pages that are not live */
};
struct pages_pins {
	struct pages_pin *rows; /* most `idle` first, then `pinned` */
	size_t count;
};
struct pages {
	enum pages_moment at;
	uint64_t time, duration; /* ns since the session's start; ns of the session */
	uint64_t under;          /* as asked */
	struct touched_sums touched; /* for the moment; processes 0: Z is unknown */
	struct pages_sums total; /* sum of the processes */
	struct pages_process *processes; /* those with blocks at the moment, or with `history` ever;
					  * most pages first */
	size_t count, room;
	struct pages_pins by_type, by_site;
	struct pages_point *points;
	size_t point_count;
};

static inline double pages_utilization(const struct pages_sums *sums)
{
	return sums->pages ? (double)(sums->bytes - sums->overlap_bytes) /
				     ((double)sums->pages * PAGE_BYTES)
			   : 0;
}

static inline uint64_t pages_live(const struct pages_sums *sums)
{
	return sums->bytes - sums->overlap_bytes;
}

/* The arrays of sums, as rows. */
struct pages_size {
	unsigned index; /* of pages_bucket_up_to */
	struct pages_bucket bucket;
};
struct pages_tenth {
	unsigned index;
	uint64_t pages, ranges, ranges_by_pages;
};
struct pages_set {
	const char *name;
	uint64_t pages, ranges;
};
struct pages_tables {
	uint64_t pages, ranges, ever_pages, fate_pages;
	struct pages_size sizes[PAGES_BUCKETS];
	struct pages_tenth tenths[PAGES_TENTHS];
	struct pages_set ever[PAGE_SETS], fates[PAGE_SETS]; /* without the empty set */
};
void pages_tables(const struct pages_sums *sums, struct pages_tables *out);

/* Loads the pages. A time behind the session's end is a usage error. */
SHINY_MUST_CHECK struct shiny_err *pages_load(struct store *store, const struct filter *filter,
					      const struct pages_ask *ask, struct pages *out);
void pages_deinit(struct pages *pages);

extern const struct field pages_fields[];        /* of struct pages */
extern const struct field pages_tables_fields[]; /* of struct pages_tables */

#endif
