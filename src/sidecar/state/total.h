/* SPDX-License-Identifier: Apache-2.0 */
/*
 * total.h: the session's live bytes and peak over all processes, and which processes are gone.
 *
 * Runs: sidecar. Signals: no. Allocates: 24 bytes a process, 56 more for one that has ended and is
 * not gone. Threads: one.
 *
 * The definitions are those of `shinyctl help definitions`. Programs of several processes end one
 * process after the other, over a second or more, and their user asks what they held together. But
 * a script's commands, a server's connections and a browser's closed pages end, too, and their
 * blocks were never live together. So a process that has ended is a *leaver* at first, and its
 * blocks still count. It is *gone* once the session continued without it: another process began,
 * and the live bytes rose again, above the level after its end, by as much as it had held or by a
 * tenth. (A new process alone proves little: Chromium starts a spare renderer while it closes its
 * pages. Nor do bytes alone: the remaining processes of a program that ends may allocate a little.)
 * Exec keeps no blocks: a replaced process is never a leaver.
 *
 * The peak is the highest of two sums: the live bytes of running processes at any moment; and the
 * same plus the bytes of those leavers that are not gone in the end. For the latter, each leaver
 * stores the most running bytes between its end and the next leaver's; when one is gone, the leaver
 * before it covers its time. That is exact, independent of the timeline's buckets and however short
 * a process lives: the events of all processes are in one order, and starts and ends of processes
 * are inserted between them (moments).
 */
#ifndef SHINY_TOTAL_H
#define SHINY_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/mem.h"

enum { TOTAL_RISE = 10 }; /* 1/10 of the live bytes */

struct total_peak {
	uint64_t blocks, bytes, time; /* ticks */
};
/* One process's part of the total. */
struct total_part {
	uint64_t blocks, bytes; /* live, without inherited ones */
	uint64_t left_at;       /* when it ended, ticks, if `left` */
	bool left, gone;        /* it has ended; the session continued without it */
};
struct total_leaver {
	struct total_part *part;
	uint64_t goes;          /* it is gone at this many running bytes, if `followed` */
	bool followed;          /* another process has begun */
	struct total_peak most; /* running bytes between its end and the next leaver's */
};
struct total_moment {
	uint64_t time;           /* ticks */
	struct total_part *part; /* of the process that ends; NULL: a process begins */
	bool replaced;           /* by exec */
};
struct total {
	uint64_t blocks, bytes; /* of running processes */
	struct total_peak peak; /* of running processes */
	uint64_t newest;        /* latest birth, ticks */
	uint64_t peak_newest;   /* the same, when the peak was */
	uint32_t round;         /* number of the peak among those of which a row counts blocks */
	bool counted;           /* a row has counted a block of this peak */
	VEC(struct total_leaver) leavers; /* in the order of their ends */
	uint64_t rise;          /* running bytes at which a first leaver is gone; UINT64_MAX:
	                         * none */
	VEC(struct total_moment) moments; /* pending, in any order */
	uint64_t next;                    /* time of the earliest; UINT64_MAX: none */
};

void total_init(struct total *total);
void total_deinit(struct total *total);
/* Announce that a process begins or ends at `time` (ticks); total_until applies it. */
void total_begins(struct total *total, uint64_t time);
void total_ends(struct total *total, struct total_part *part, uint64_t time, bool replaced);
/* Applies the moments before `time`. */
void total_until_slow(struct total *total, uint64_t time);
static inline void total_until(struct total *total, uint64_t time)
{
	if (time > total->next)
		total_until_slow(total, time);
}
/* Takes back the end of a process that still has an event, of `time`. One from before the end was
 * only read late: the process ends again before the next event from after it. `replaced`: by
 * exec. */
void total_returns(struct total *total, struct total_part *part, uint64_t time, bool replaced);
/* Returns the session's peak; call at the end. */
struct total_peak total_highest(const struct total *total);

void total_rise(struct total *total);

/* Adds `blocks` and `bytes` of a running process at `time`. */
static inline void total_raise(struct total *t, uint64_t blocks, uint64_t bytes, uint64_t time)
{
	struct total_peak *since =
		t->leavers.count ? &t->leavers.at[t->leavers.count - 1].most : &t->peak;

	t->blocks += blocks;
	t->bytes += bytes;
	t->newest = time > t->newest ? time : t->newest;
	if (t->bytes > t->peak.bytes) {
		t->peak_newest = t->newest;
		t->peak = (struct total_peak){ t->blocks, t->bytes, time };
		t->round += t->counted;
		t->counted = false;
	}
	if (t->bytes > since->bytes)
		*since = (struct total_peak){ t->blocks, t->bytes, time };
	if (t->bytes >= t->rise)
		total_rise(t);
}

static inline void total_lower(struct total *t, uint64_t blocks, uint64_t bytes)
{
	t->blocks -= blocks;
	t->bytes -= bytes;
}

#endif
