/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h: shows programs that the sidecar is alive, even during a long step of its loop.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop calls the
 * functions.
 *
 * Problem. A program that finds its ring full waits as long as the sidecar makes progress, and
 * gives up after three seconds without (interpose/record/wait.c): a sidecar that is dead or stopped
 * must not hold it up. But one step of the loop may take longer than that. Measured, beside six
 * busy loops and two programs that write to the same disk: one second for the new stacks of a
 * browser, as the kernel slows down writers that are faster than the disk. Slower disks take three,
 * and then the program gave up and events were lost without reason.
 *
 * Approach. A thread writes the beat into each ring every HEARTBEAT_MS. It needs no lock that the
 * loop holds during a step, and no disk. A killed or stopped sidecar has no such thread. The loop
 * gives signs, so that a loop that hangs is noticed: after HEARTBEAT_LONGEST_MS without a sign the
 * beats end. That time is counted in beats, as the clock runs on while the whole machine is
 * suspended.
 *
 * The thread is also the one that knows at once that the sidecar gets no processor: a beat that
 * comes HEARTBEAT_LATE_MS after its time ends the low priority (proc/priority.h). A low sidecar
 * beside one busy program waits some ten milliseconds for a slice of time.
 */
#ifndef SHINY_HEARTBEAT_H
#define SHINY_HEARTBEAT_H

#include "ring_file.h"
#include "ticks.h"

enum { HEARTBEAT_MS = 200, HEARTBEAT_LONGEST_MS = 20000, HEARTBEAT_LATE_MS = 300 };

struct heartbeat;

/* Starts the thread, which reads `clock` once a ring has been added, and calls late(context) behind
 * a beat that came late. NULL: it cannot be created; the other functions accept NULL, and then only
 * the loop beats. */
struct heartbeat *heartbeat_start(const struct ticks *clock, void (*late)(void *context),
				  void *context);
void heartbeat_stop(struct heartbeat *heartbeat);

/* Call when a ring is mapped, and before it is released. */
void heartbeat_add(struct heartbeat *heartbeat, struct ring_file *ring);
void heartbeat_remove(struct heartbeat *heartbeat, const struct ring_file *ring);

/* The loop's sign that a step has ended, or is long and makes progress. */
void heartbeat_sign(struct heartbeat *heartbeat);

#endif
