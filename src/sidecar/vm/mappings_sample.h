/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings_sample.h: when a process's memory is sampled, and what /proc is asked for it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; /proc is read in that of errands.h.
 *
 * Each SHINY_MEMORY_PERIOD milliseconds a process's /proc/PID/smaps is read: it completes the table
 * of segments and says what is resident (residency.h).
 *
 * The moment. A sample happens at the start of a round: t0, read, T. The round then applies all
 * records up to T (order.h), so that table, blocks and list are of one moment; the ranges of calls
 * between t0 and T are left as the calls say (segments.h: flux). What of the list then belongs to
 * no segment is kept in one of its own, [0, 0), so that the sums are always the kernel's. A list
 * that the kernel does not give out at once (errands.h) is that of a later round, which then is the
 * sample's moment.
 *
 * The cost. Reading the list of a Chromium process takes 5 to 10 ms (bench/run samples), for which
 * the loop stands still. So samples are paid from an account that earns 2 % of the time that
 * passes; where the processes are many or large, samples become rarer, the longest unseen first.
 * A process in which nothing has happened since its last sample (its page faults, sizes and records
 * say so) is not read again: that sample's sums are written once more. A process is sampled soon
 * after its start too, and again before a second has passed: many live no longer.
 *
 * What it needs: the right to read /proc/PID/smaps, which the kernel gives to whom it would let
 * ptrace (same user, and dumpable). Where it is refused, the process's total is taken from
 * /proc/PID/status and a note says so.
 */
#ifndef SHINY_MAPPINGS_SAMPLE_H
#define SHINY_MAPPINGS_SAMPLE_H

#include <stdint.h>

struct session;

/* At the start of a round: samples a process, if one is due. */
void memory_take_sample(struct session *session);
/* After its merge, at `now`: takes in what was seen. */
void memory_take(struct session *session, uint64_t now);

#endif
