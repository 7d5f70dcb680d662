/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h: the pages of the heap at a moment: how full they are, what was and is on them, and what
 * keeps them.
 *
 * Runs: CLI. Signals: no. Allocates: see cost. Threads: one a store.
 *
 * Definitions, after "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026), sections on pages
 * (F9, F10, F11):
 *   page           4 KiB of one process's address space that holds at least one byte of a live
 *                  block; line: 64 bytes, range: 2 MiB likewise. Bytes are as requested: what the
 *                  allocator adds is not live. A block of 0 bytes holds the place where it begins.
 *   utilization    live bytes / (4096 * pages): the share of what has to be in memory for these
 *                  blocks that they use. Beside it, where the sidecar sampled the process, what
 *                  malloc and the garbage-collected heaps had committed and resident then
 *                  (memory.h).
 *   state          of an object that has ended by the moment: D destroyed, R reused (lifetimes.h);
 *                  of one that is live: P. A page is labelled by the set of states of all objects
 *                  that ever lay on it until the moment (F9a; in a forked process: since its fork).
 *                  `D` alone is a page that has nothing live any more. What a collection moved
 *                  away was R there, and so is what an object lost that was made smaller. Z: live,
 *                  and proven to be touched by nobody around the moment (touched.h); where that is
 *                  not known, or not recorded, it is P.
 *   fate           of an object that is live at the moment: how it ends later, D or R, or P if it
 *                  never does; Z as above, and it never ends. A page's label is the set over its
 *                  live objects: a page of D only will be free by itself, one of D+P will be kept
 *                  by what is P.
 *   pinned         a page with less than `under` live bytes on it, or with a single block that does
 *                  not fill it: kept for little ("page pollution").
 *   reclaimable    by size bucket (F10's): pages that only blocks of this bucket lie on, less what
 *                  those blocks need side by side: alone - ceil(bytes on these pages / 4096). What
 *                  pooling this size would give back; over each process's pages.
 * The same at 2 MiB is a huge page's view: ranges by their share of live bytes, and by their share
 * of pages that are there at all.
 *
 * The moment: PAGES_AT_END is the session's end, as in `report`: each of its processes as it was
 * when it ended, or the recording did. At any other time it is the processes that run then; the
 * peak is page_moment.h's. Forked processes have pages of their own, although the kernel copies a
 * page only when one of the two writes to it: what a fork brought along fills them, and is counted
 * here, and in no other report.
 *
 * Blocks that overlap (the end of one was not seen): each byte counts once, for the block that
 * begins first; one that has none left is on no page.
 *
 * Cost: one pass over the events (replay.h; PEAK: two, where the session does not say it); 24 bytes
 * a live block and 24 a run of pages at the moment; with history 1 byte a page that was ever used;
 * for points what page_count.h says.
 * Over test/lib/session_make's session of 10 million events, history and points add a third to a
 * half to the processor time of a pass (`shinyctl pages` against `pages --map`, which has neither),
 * and it needs 110 MB.
 */
#ifndef SHINY_PAGES_H
#define SHINY_PAGES_H

#include "../attribute/groups.h"
#include "page_history.h"
#include "page_series.h"
#include "touched.h"

enum pages_moment { PAGES_AT_END, PAGES_AT_PEAK, PAGES_AT_TIME, PAGES_AT_SHARE };

struct pages_ask {
	enum pages_moment at;
	uint64_t time;   /* PAGES_AT_TIME: ns since the session's start */
	double share;    /* PAGES_AT_SHARE: of the session's duration, 0 to 1; struct pages then
	                  * says PAGES_AT_TIME */
	uint64_t under;  /* a page with fewer live bytes is pinned; 1 to 4096 */
	size_t points;   /* of the series over time, evenly spaced; 0 none */
	bool history;    /* states of what ever lay there */
	const char *match; /* rows whose name matches (text_matches); NULL all. The sums are over
	                    * all */
	bool full_names, progress;
};
enum { PAGES_UNDER = 512, PAGES_POINTS = 40 }; /* the command's defaults */

enum { PAGES_TENTHS = 10 }; /* [0, 10 %), … [90 %, 100 %] */
enum { PAGES_BUCKETS = 6 };
extern const uint64_t pages_bucket_up_to[PAGES_BUCKETS]; /* 64, 256, 1 K, 4 K, 16 K, UINT64_MAX:
                                                          * sizes up to and with this one */
extern const char *const pages_bucket_names[PAGES_BUCKETS]; /* "65 - 256 B" */

struct pages_bucket { /* blocks of a size */
	uint64_t blocks, bytes;
	uint64_t pages;       /* that hold one */
	uint64_t alone;       /* that hold none of another size */
	uint64_t alone_bytes; /* on these */
	uint64_t reclaimable;
};
struct pages_sums {
	uint64_t blocks, bytes, pages, lines, ranges;
	uint64_t under, under_bytes;   /* pages with fewer bytes than asked for, and what is on
	                                * them */
	uint64_t single, single_bytes; /* pages of one block that does not fill them */
	uint64_t pinned, pinned_bytes; /* both kinds; a page can be of both */
	uint64_t overlaps, overlap_bytes; /* blocks that begin inside others; bytes that so count
	                                   * once. bytes - overlap_bytes lie on the pages */
	uint64_t by_use[PAGES_TENTHS];       /* pages by live bytes */
	/* ranges by live bytes, and by pages that hold some */
	uint64_t ranges_by_use[PAGES_TENTHS], ranges_by_pages[PAGES_TENTHS];
	uint64_t ever[PAGE_SETS], ever_ranges[PAGE_SETS];   /* pages and ranges by what ever lay
	                                                     * there; with `history` */
	uint64_t fates[PAGE_SETS], fate_ranges[PAGE_SETS];  /* by how what is live there ends */
	uint64_t zombies, zombie_bytes; /* blocks that are Z, of those that never end; their pages:
					 * fates[PAGE_ZOMBIE], fate_ranges[PAGE_ZOMBIE] hold
					 * nothing else */
	uint64_t sampled;			   /* processes that the sidecar sampled until
						    * the moment; of these: */
	uint64_t committed, resident, sample_live; /* malloc and garbage-collected heaps, bytes;
						    * live in them at that sample */
	struct pages_bucket buckets[PAGES_BUCKETS];
};

/* pages next to each other that are the same; more than one only inside a block */
struct page_run {
	uint64_t page, count; /* of the first: address / 4096 */
	uint32_t blocks, bytes; /* on each; bytes that count for a block */
	uint8_t lines, fates;   /* fates: a set of enum page_state */
	bool pinned;
};
struct pages_process {
	uint32_t id, pid;
	char *name;         /* role, or program */
	uint64_t sample_time; /* of the last sample until the moment; 0 none */
	bool touched;         /* there is a reading of its pages for the moment */
	struct pages_sums sums;
	struct page_run *runs; /* ascending */
	size_t run_count, run_room;
	struct page_history history; /* with P for what is live */
};
struct pages_pin { /* a type or a call site */
	char *name;
	uint64_t blocks, bytes, pages; /* live; pages that it has a block on */
	uint64_t pinned;       /* of these, pinned ones */
	uint64_t pinned_bytes; /* its own on those */
	uint64_t freed;        /* pinned pages that nothing else lies on: they would be free without
	                        * it */
	uint64_t idle;         /* bytes that are not live on these */
};
struct pages_pins {
	struct pages_pin *rows; /* most `idle` first, then `pinned` */
	size_t count;
};
struct pages {
	enum pages_moment at;
	uint64_t time, duration; /* ns since the session's start; of the session */
	struct touched_sums touched; /* for the moment; processes 0: there can be no Z */
	struct pages_sums total; /* over the processes */
	struct pages_process *processes; /* that hold something at the moment, or with `history`
	                                  * ever did; most pages first */
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

/* A time behind the session's end: a usage error. */
SHINY_MUST_CHECK struct shiny_err *pages_load(struct store *store, const struct filter *filter,
					      const struct pages_ask *ask, struct pages *out);
void pages_deinit(struct pages *pages);

#endif
