/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings_state.h: the mapped memory of a process and of a session, as mappings.c,
 * mappings_sample.c and residency.c share it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_MAPPINGS_STATE_H
#define SHINY_MAPPINGS_STATE_H

#include "../../base/texts.h"
#include "../../store/store.h"
#include "../proc/errands.h"
#include "segments.h"
#include "smaps.h"

#define MEMORY_FIRST UINT64_C(10000000) /* ns from a process's start to the first sample */
/* ns of sampling that a session starts with, and the most that it can save up */
#define MEMORY_CREDIT INT64_C(20000000)
enum {
	MEMORY_SHARE = 50, /* samples may take one fiftieth of the time, */
	MEMORY_SHARE_SAMPLED = 400, /* and this part of it beside a sample of the heap, which is to
	                             * cost less in all than they do */
	MEMORY_PAGE = 4096,
	MEMORY_BRIEF_MAX = 100000,
	MEMORY_COUNTED_PAGES = 1 << 18, /* most pages of pagemap read for one sample: 2 MiB of it */
};

/* A part of an area of the list that lies in one segment. */
struct part {
	uint64_t start, end, committed;
	struct vm_segment *segment;
	uint64_t rss, pss, private, swap;
	uint64_t malloc_blocks, malloc_bytes;
	uint64_t other_blocks, other_bytes; /* of heaps beside malloc, and collected objects */
	uint8_t heap; /* enum shiny_api of such a heap's blocks; 0: none lies in it */
};

/* Numbers that change whenever a process's memory changes. */
struct stillness {
	uint64_t minor_faults, major_faults, bytes, pages; /* from /proc/PID/stat */
	uint64_t events;				   /* records applied */
};

/* An area that holds several segments: it has `ranges` parts, whose bounds begin at
 * sample.bounds[first]. */
struct shared_area {
	size_t first, ranges;
	bool counted;
};

/* The questions to /proc for one sample; errands.h. */
struct mappings_sample {
	struct errand errand;
	uint32_t pid;
	uint64_t cost; /* processor ns of the thread */

	/* the first question: the list */
	int error;
	bool totals; /* refused, except its sums */
	struct smaps smaps;

	/* the second question: the pages of areas that hold several segments */
	VEC(struct shared_area) shared;
	VEC(uint64_t) bounds; /* addresses */
	VEC(uint64_t) counts; /* pages from each bound to the next */
};

enum sample_state {
	SAMPLE_NONE,
	SAMPLE_ASKED, /* the list is requested */
	SAMPLE_LISTED,
	SAMPLE_COUNTING, /* the pages are requested */
	SAMPLE_COUNTED,
};

struct mappings_watch {
	uint64_t period; /* ns; 0 off */
	uint32_t ids;	 /* id of the last segment */
	struct texts texts;
	uint32_t heap;	   /* id of "[heap]" */
	uint32_t pools[2]; /* ids of PartitionAlloc's name for its memory, as it sets it and as
			    * kernels show it */
	VEC(struct vm_segment *) past;
	uint64_t brief, brief_dropped;

	/* the sample under way; nearly always this round's */
	struct process *sampled; /* NULL: none, or it has closed meanwhile */
	enum sample_state sample_state;
	uint64_t sample_began; /* ticks */
	uint64_t sample_ended; /* ticks; end of the last finished part */
	uint64_t sample_cost;  /* processor ns of the loop */
	struct stillness sample_still;
	struct mappings_sample sample;
	VEC(struct flux) flux;
	VEC(struct part) parts;
	uint64_t live_blocks, live_bytes; /* malloc's, at that sample */

	/* the account */
	int64_t credit;
	uint64_t credit_wall;
	uint64_t samples, cost, longest; /* totals; cost and longest in ns */
};

struct mappings {
	struct segments segments;
	uint64_t due; /* wall ns of the next sample */
	unsigned samples;
	bool refused;
	struct stillness before;  /* at the last sample */
	struct store_memory seen; /* row of the last sample */
	/* super pages of PartitionAlloc that hold, or held, malloc's blocks; sorted */
	VEC(uint64_t) malloc_regions;
	struct vm_segment *remainder; /* resident memory in no segment */
};

/* `period` ms; 0: calls only. */
struct mappings_watch *mappings_watch_create(uint64_t period);
void mappings_watch_destroy(struct mappings_watch *watch); /* accepts NULL */
struct mappings *mappings_create(struct mappings_watch *watch, uint32_t process);
void mappings_destroy(struct mappings *memory); /* accepts NULL */

/* Returns the id of a text; 0: it is empty. */
uint32_t mappings_text(struct mappings_watch *watch, const char *text);
const char *mappings_text_of(const struct mappings_watch *watch, uint32_t id); /* NULL: 0 */

#endif
