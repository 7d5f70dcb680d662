/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watches.h: live blocks that are drawn at random and watched for their next use (SHINY_ACCESS).
 *
 * Runs: sidecar. Signals: no. Allocates: about 200 bytes a watched block. Threads: the loop's; the
 * waiting is done in that of breakpoints.h.
 *
 * What is learnt. A block that is drawn at a moment (watch_draw.h says with which probability) is
 * watched for a window: 100 ms, 1 s or 10 s, drawn beforehand and never changed by what happens, so
 * that a window that runs out censors without bias. Short ones are frequent (WINDOWS): unused
 * blocks hold their debug register for all of it. Its row says when it was used first, by a read or
 * a write and from where; or that it was not until the window ran out, it was freed, it was moved
 * by realloc, or its process ended. analysis/access makes shares of it.
 *
 * Time decides, not the order in which things become known. A row is made when all records up to
 * the end of its watch have been applied, so that the block's own end is known. A block that had
 * ended before all threads were armed is dropped: nothing was learnt. The library reads the clock
 * before the real free, which writes into the block: what comes later is no use, and what comes in
 * the last WATCH_BLUR before it cannot be told from it, as the two clocks are set against each
 * other anew for each result. The library's own reads of young blocks do not count either.
 *
 * The cost. An access to a watched word costs the program about WATCH_HIT until the events are
 * closed, and arming keeps each of its threads a little. Both are counted, and draws pause until
 * they are less than 1/WATCH_SHARE of the time since the start. The pass over the registry that a
 * draw needs is bounded alike. So a large heap, a program of many threads and one that touches all
 * its blocks all the time are watched at a lower rate, and the rows say how often.
 *
 * What is missing is one note a process and reason: perf_event_paranoid, a sandbox, a debugger that
 * is attached (the registers are left to it), no free debug register, no descriptors.
 *
 * What works on which kernel, as found on Linux 6.18 in a virtual machine without a PMU: perf
 * breakpoints work as root and for one's own processes with perf_event_paranoid 2, with four
 * registers; the fifth event of a thread is refused with ENOSPC.
 */
#ifndef SHINY_WATCHES_H
#define SHINY_WATCHES_H

#include "../state/session.h"

enum { WATCH_SHARE = 100 };
#define WATCH_HIT  UINT64_C(2500) /* ns */
#define WATCH_BLUR UINT64_C(1000) /* ns */

/* False: they cannot be had here; a note at the end says why. */
bool watches_on(struct session *session);
/* They are on. What is under way ends; its rows come when their time is applied. */
void watches_off(struct session *session);
/* Once a round: takes what has become known, and draws. */
void watches_serve(struct session *session);
/* Everything is applied, and they are off. */
void watches_end(struct session *session);
/* When the rows of types are written: the type of each watched block. */
void watches_put_types(struct session *session);
void watches_destroy(struct watches *watches); /* accepts NULL */

#endif
