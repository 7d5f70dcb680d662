/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errands.h: reads of a process's data that may have to wait for a lock of that process.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop calls the
 * functions.
 *
 * Problem. The kernel reads /proc/PID/maps, smaps, pagemap, mem, cmdline and environ under the lock
 * of that process's memory map. A program whose threads fight for it, or which changes a large
 * mapping, holds up the reader, and the rings of all programs fill up meanwhile.
 *
 * Approach. Only a separate thread reads them. The loop gives it an errand and waits
 * ERRANDS_PATIENCE for it, longer than nearly all take: the result is then as fresh as if the loop
 * had read it. An errand that takes longer is left to the thread and taken later (errands_take);
 * until it is done the loop waits for no other, so a process that holds its lock costs the loop
 * that wait once.
 *
 * An errand has copies of all that it needs, as it may outlive the object that it asks about. The
 * loop does not touch its results until it is done.
 */
#ifndef SHINY_ERRANDS_H
#define SHINY_ERRANDS_H

#include <stdbool.h>
#include <stdint.h>

#define ERRANDS_PATIENCE UINT64_C(20000000) /* ns that the loop waits for an errand */
#define ERRANDS_LAST     UINT64_C(1000000000) /* ns to wait for all, at the end */

struct errands;
struct session;

/* The first member of every struct that describes an errand. */
struct errand {
	void (*run)(struct errand *errand); /* called by the thread */
	/* called by the loop for a late errand: takes the result and frees it; without a session,
	 * only frees it */
	void (*end)(struct session *session, struct errand *errand);
	struct errand *next;
};

/* NULL: no thread could be started; each caller then runs its own errands. */
struct errands *errands_start(void);
/* Stops the thread. False: an errand is still under way, and is leaked with its thread. */
bool errands_stop(struct errands *errands);

/* True: it is done, and belongs to the caller again. False: errands_take will call `end`. */
bool errands_do(struct errands *errands, struct errand *errand);
/* An `end` that discards a late answer. */
void errand_drop(struct session *session, struct errand *errand);
/* Calls `end` of late errands that are done, in the order in which they were given. */
void errands_take(struct errands *errands, struct session *session);
/* Does the same at the end of the session, after waiting for those under way. */
void errands_take_last(struct errands *errands, struct session *session);

#endif
