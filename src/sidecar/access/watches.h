/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watches.h: draws live blocks at random and watches each for its next use (SHINY_ACCESS).
 *
 * Runs: sidecar. Signals: no. Allocates: about 200 bytes a watched block. Threads: the loop's; the
 * thread of breakpoints.h waits.
 *
 * The result. A drawn block (watch_draw.h has the probabilities) is watched for a window of 100 ms,
 * 1 s or 10 s. The window is drawn beforehand and never changes, so that its end censors without
 * bias. Short windows are frequent (WINDOWS), as an unused block holds its debug registers for the
 * whole window. A row says when the block was used first, by a read or a write and from where; or
 * that it was not used before the window ended, it was freed, it was moved by realloc, or its
 * process ended. analysis/access turns rows into shares.
 *
 * Times decide, not the order in which data arrives. A row is written when all records up to the
 * end of its watch have been applied, so that the block's own end is known. A block that ended
 * before all threads were armed is dropped. The library reads the clock before the real free, which
 * writes into the block: a later access is no use, and one in the last WATCH_BLUR before cannot be
 * told from it, as the two clocks are compared anew for each result. The library's own reads of
 * young blocks do not count either.
 *
 * The cost. An access to a watched word costs the program about WATCH_HIT until the events are
 * closed, and arming delays each of its threads a little. Both are counted, and draws pause until
 * the sum is less than 1/WATCH_SHARE of the time since the start. The pass over the registry that a
 * draw needs is bounded likewise. So a large heap, a program of many threads and one that touches
 * all its blocks all the time are watched at a lower rate.
 *
 * Each process has one note per reason for missing rows: perf_event_paranoid, a sandbox, an
 * attached debugger (which keeps the registers), no free debug register, no descriptors.
 *
 * Kernels. On Linux 6.18 in a virtual machine without a PMU, perf breakpoints work as root and for
 * one's own processes with perf_event_paranoid 2, with four registers; the fifth event of a thread
 * is refused with ENOSPC.
 */
#ifndef SHINY_WATCHES_H
#define SHINY_WATCHES_H

#include "../state/output.h"
#include "../state/people.h"

struct watches;

enum { WATCH_SHARE = 100 };
#define WATCH_HIT  UINT64_C(2500) /* ns */
#define WATCH_BLUR UINT64_C(1000) /* ns */

/* False: they are not available here; a note says why. */
bool watches_on(struct watches **watches);
/* Requires that they are on. Ends the watches under way; their rows are written when all records up
 * to their end are applied. */
void watches_off(struct watches *w, struct output *output);
/* Call once a round: takes results, writes rows, and draws. */
void watches_serve(struct watches *w, struct output *output, const struct people *people);
/* Call when all records are applied and the watches are off. */
void watches_end(struct watches *w, struct output *output);
/* Call when the rows of types are written: adds the type of each watched block. */
void watches_put_types(struct watches *w, struct output *output);
void watches_destroy(struct watches *watches); /* accepts NULL */

#endif
