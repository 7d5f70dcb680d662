/* SPDX-License-Identifier: Apache-2.0 */
/*
 * total.h: what is live over all processes at once, the most that ever was, and which processes are
 * gone: the session's live and peak.
 *
 * Runs: sidecar. Signals: no. Allocates: 24 bytes a process, 56 more for one that has ended and is
 * not gone. Threads: one.
 *
 * The definitions are those of `shinyctl help definitions`. Programs of several processes end one
 * process after the other, over a second or more, and what they held together is what their user
 * asks about. But a script's commands, a server's connections and a browser's closed pages have
 * ended, too, and what they held was never live together. So a process that has ended is a *leaver*
 * at first, and what it held counts on. It is *gone* once the session has gone on without it:
 * another process began, and what is live rose again, above what its end had left, by as much as it
 * had held or by a tenth. (A beginning alone says little: Chromium makes a spare renderer while it
 * closes its pages. Nor do bytes alone: what is left of a program that ends may allocate a little.)
 * Exec leaves nothing: its process never is a leaver.
 *
 * The peak is the highest of: what running processes held, at any moment; and that with what those
 * leavers held that are not gone in the end. For the latter, each leaver keeps the most that was
 * running from its end to the next one's; when one is gone, its time falls to the one before. That
 * is exact, whatever the timeline's buckets are, and however short a process lives: the events of
 * all processes come in one order, and ends and beginnings of processes are put between them
 * (moments).
 */
#ifndef SHINY_TOTAL_H
#define SHINY_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/mem.h"

enum { TOTAL_RISE = 10 }; /* one part in so many */

struct total_peak {
	uint64_t blocks, bytes, time; /* ticks */
};
/* What one process holds of it. */
struct total_part {
	uint64_t blocks, bytes; /* live, without inherited ones */
	bool left, gone;        /* it has ended; and the session went on without it */
};
struct total_leaver {
	struct total_part *part;
	uint64_t goes;          /* running bytes with which it is gone, if followed */
	bool followed;          /* another process has begun */
	struct total_peak most; /* running, since its end and before the next leaver's */
};
struct total_moment {
	uint64_t time;           /* ticks */
	struct total_part *part; /* of the process that ends; NULL: one begins */
	bool replaced;           /* by exec */
};
struct total {
	uint64_t blocks, bytes; /* running */
	struct total_peak peak; /* of these */
	VEC(struct total_leaver) leavers; /* by their ends */
	uint64_t rise;          /* running bytes with which the first leaver is gone; UINT64_MAX
	                         * none */
	VEC(struct total_moment) moments; /* that are still to come, in no order */
	uint64_t next;                    /* time of the first; UINT64_MAX none */
};

void total_init(struct total *total);
void total_deinit(struct total *total);
/* A process began, or ended, then. It is taken into account by total_until. */
void total_begins(struct total *total, uint64_t time);
void total_ends(struct total *total, struct total_part *part, uint64_t time, bool replaced);
/* What lies before `time`. */
void total_until_slow(struct total *total, uint64_t time);
static inline void total_until(struct total *total, uint64_t time)
{
	if (time > total->next)
		total_until_slow(total, time);
}
/* Events of a process that was taken for ended. */
void total_returns(struct total *total, struct total_part *part);
/* The session's peak, at its end. */
struct total_peak total_highest(const struct total *total);

void total_rise(struct total *total);

/* `bytes` of a running process are there from now on. */
static inline void total_raise(struct total *t, uint64_t blocks, uint64_t bytes, uint64_t time)
{
	struct total_peak *since =
		t->leavers.count ? &t->leavers.at[t->leavers.count - 1].most : &t->peak;

	t->blocks += blocks;
	t->bytes += bytes;
	if (t->bytes > t->peak.bytes)
		t->peak = (struct total_peak){ t->blocks, t->bytes, time };
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
