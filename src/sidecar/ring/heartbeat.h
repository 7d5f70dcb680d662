/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h: a sidecar that is busy with one long step still shows that it is there.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the functions are the
 * loop's.
 *
 * Problem. A program that finds its ring full waits as long as the sidecar makes progress, and
 * gives up after three seconds without (interpose/record/wait.c): a sidecar that is dead or stopped
 * must not hold it up. But one step of the loop may take longer than that. Measured, beside six
 * busy loops and two programs that write to the same disk: one second for the new stacks of a
 * browser, as the kernel holds up who writes faster than the disk. Slower disks take three, and
 * then the program gave up and events were lost, though nothing was wrong.
 *
 * Approach. A thread writes the beat into each ring every HEARTBEAT_MS. It needs no lock that the
 * loop holds during a step, and no disk. A killed or stopped sidecar has no such thread. A loop
 * that never comes back is found by its own sign: after HEARTBEAT_LONGEST_MS without one the beats
 * end. That time is counted in beats, as the clock goes on where the whole machine stands still.
 */
#ifndef SHINY_HEARTBEAT_H
#define SHINY_HEARTBEAT_H

#include "ring_file.h"
#include "ticks.h"

enum { HEARTBEAT_MS = 200, HEARTBEAT_LONGEST_MS = 20000 };

struct heartbeat;

/* `clock` is read once a ring has been added. NULL: there is no thread to be had; the other
 * functions accept that, and then the loop's own beats are all there are. */
struct heartbeat *heartbeat_start(const struct ticks *clock);
void heartbeat_stop(struct heartbeat *heartbeat);

/* From when a ring is mapped until it is released. */
void heartbeat_add(struct heartbeat *heartbeat, struct ring_file *ring);
void heartbeat_remove(struct heartbeat *heartbeat, const struct ring_file *ring);

/* The loop's sign: a step has ended, or is long and gets further. */
void heartbeat_sign(struct heartbeat *heartbeat);

#endif
