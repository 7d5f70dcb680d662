/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings_sample.h: schedules samples of processes' memory, and reads /proc for them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; that of errands.h reads /proc.
 *
 * Each SHINY_MEMORY_PERIOD milliseconds a process's /proc/PID/smaps is read: it completes the table
 * of segments and has the resident bytes (residency.h).
 *
 * The moment. A sample happens at the start of a round: t0, read, T. The round then applies all
 * records up to T (order.h), so that table, blocks and list are of one moment; ranges of calls
 * between t0 and T stay as the calls say (segments.h: flux). Memory of the list that is in no
 * segment is summed in a segment of its own, [0, 0), so that the sums are always the kernel's. If
 * the kernel does not provide the list at once (errands.h), a later round is the sample's moment.
 *
 * The cost. Reading the list of a Chromium process takes 5 to 10 ms (bench/run samples), for which
 * the loop waits. So samples are paid from an account that earns 2 % of the time, 0.25 % beside a
 * sample of the heap (SHINY_SAMPLE); with many or large processes, samples become rarer, and those
 * not sampled for longest are first. A process
 * without new page faults, sizes and records since its last sample is not read again: that sample's
 * sums are written once more. A process is sampled soon after its start too, and again before a
 * second has passed: many live no longer.
 *
 * Rights. Reading /proc/PID/smaps needs the permission to ptrace (same user, and dumpable). If that
 * is refused, the process's total is read from /proc/PID/status, with a note.
 */
#ifndef SHINY_MAPPINGS_SAMPLE_H
#define SHINY_MAPPINGS_SAMPLE_H

#include <stdint.h>

struct session;

/* Call at the start of a round: samples a process, if one is due. */
void mappings_take_sample(struct session *session);
/* Call after the round's merge, at `now`: applies the sample. */
void mappings_take(struct session *session, uint64_t now);

#endif
