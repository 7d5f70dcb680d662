/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errands.h: what is read of a process and may have to wait for a lock of that process.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the functions are the
 * loop's.
 *
 * Problem. The kernel gives out /proc/PID/maps, smaps, pagemap, mem, cmdline and environ under the
 * lock of that process's memory map. A program whose threads fight for it, or which changes a large
 * mapping, holds up who reads them, and the rings of all programs fill up meanwhile.
 *
 * Approach. Only a thread of their own reads them. The loop hands it an errand and waits
 * ERRANDS_PATIENCE for it, longer than nearly all take: what it says is then of this moment, as if
 * the loop had read it. One that takes longer is left to the thread and taken in later
 * (errands_take); until it is done no other is waited for, so a process that holds its lock costs
 * the loop that wait once.
 *
 * An errand has copies of all that it needs: it may outlive what it is about. Its results are its
 * own until it is done.
 */
#ifndef SHINY_ERRANDS_H
#define SHINY_ERRANDS_H

#include <stdbool.h>
#include <stdint.h>

#define ERRANDS_PATIENCE UINT64_C(20000000) /* ns, of the loop for an errand */
#define ERRANDS_LAST     UINT64_C(1000000000) /* ns, at the end, for all */

struct errands;
struct session;

/* The first member of what is asked. */
struct errand {
	void (*run)(struct errand *errand); /* the thread's */
	/* the loop's, of one that came late: takes it in, and frees it; only that without a
	 * session */
	void (*end)(struct session *session, struct errand *errand);
	struct errand *next;
};

/* NULL: no thread could be started; each caller then runs its own errands. */
struct errands *errands_start(void);
/* False: an errand is still under way, and stays what it is for ever, with its thread. */
bool errands_stop(struct errands *errands);

/* True: it is done, and the caller's again. False: `end` will be called by errands_take. */
bool errands_do(struct errands *errands, struct errand *errand);
/* An `end` that discards an answer which comes too late. */
void errand_drop(struct session *session, struct errand *errand);
/* Ends those that came late and are done, in the order in which they were given. */
void errands_take(struct errands *errands, struct session *session);
/* The same at the end, after waiting for those under way. */
void errands_take_last(struct errands *errands, struct session *session);

#endif
