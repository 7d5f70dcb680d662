/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priority.h: the sidecar yields to the programs that it records, until their rings fill up.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: the session's own, whose nice value changes;
 * priority_late in any.
 *
 * Problem. The sidecar leads a session of its own (setsid), so the kernel puts it into an autogroup
 * of its own. Groups share a processor equally, whatever their members' nice values and classes
 * are: on one busy processor a browser got half of it. Measured, Speedometer 3.1 on one core: class
 * idle alone left the score at 0.65 of the bare one, class idle and `19` in /proc/self/autogroup
 * gave 0.87.
 *
 * Approach. Two priorities. Low: the autogroup's nice value is 10, and so is the thread's if this
 * process may raise it again (CAP_SYS_NICE or RLIMIT_NICE). The latter counts where autogroups do
 * not: they are switched off, or the program's cpu cgroup is the sidecar's too. Ordinary: both have
 * their original values. Low needs time: PRIORITY_LOWER_MS until the first ring and the spill
 * behind it (ring/spill.h) are full at the writers' pace; it ends when PRIORITY_RAISE_MS are left,
 * or the ring alone has less than copying takes (intake/pace.c). So ring and spill buffer
 * unprocessed records. The priority is ordinary also for a ring that is new or has a new process,
 * as processes need slots, of which there are few until the sidecar has looked; and when no program
 * maps a ring: then the sidecar disturbs no program, and users wait for the file.
 *
 * Cost. A program of 8 million events in 2.3 s, on one core with its sidecar (4 million steps of
 * 290 ns work, a free and a malloc): the sidecar took 0.75 s of the core before the program's end.
 * It takes 0.60 s with the ring's 64 MiB, 0.39 s with SHINY_RING=256m. With 30 ns of work in
 * place of 290, five pairs: 0.34 s with the ring's 64 MiB alone, 0.24 s with the spill.
 *
 * Inversion. A program that waits for room has a sidecar of ordinary priority, so no third program
 * can starve it. Only the change can be late: a low sidecar on a busy core waits some ten
 * milliseconds for each time slice, so PRIORITY_RAISE_MS is a multiple of that, and far less than
 * the three seconds that a program waits without any progress (interpose/record/wait.c). With 200
 * ms and a look every 65,536 records only, that program found a full ring and spun for 1.2 s of
 * processor time. At the program's end the launcher raises the sidecar, which may not have noticed
 * it yet. And if the low share is less than 1/PRIORITY_STARVED, the sidecar does not yield for a
 * while: on an overloaded machine a late sidecar costs more than it saves. The loop notices that
 * once a round, which may then take seconds, so the heartbeat says it, too, when it wakes up late.
 * Measured (2,000 threads that write their first records at one time, three such programs and eight
 * busy loops on two cores): a low sidecar got no processor for four seconds, and 4 of 170 programs
 * stopped waiting and lost events. So programs are told, too, and wait longer for a low one.
 *
 * Rejected: SCHED_IDLE, which an ordinary process may not leave again. 19 in place of 10: beside
 * one busy group the share is 1/70 instead of 1/10, and beside ten of them 1/700: writing 50 ms
 * worth of rows took half a minute, and so did everything that a user waited for. A fixed low
 * priority: a full ring always stops the program, but then a third program on that core decides how
 * long.
 */
#ifndef SHINY_PRIORITY_H
#define SHINY_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PRIORITY_LOW = 10, PRIORITY_LOWER_MS = 1000, PRIORITY_RAISE_MS = 500 };
enum { PRIORITY_STARVED = 20 };

struct priority {
	bool autogroup; /* this process leads its session: the autogroup is its own */
	bool thread;    /* its nice value, once lowered, can be raised again */
	bool low;       /* the last request */
	bool due;       /* the kernel has not accepted it yet: it refuses frequent changes */
	int autogroup_nice, thread_nice; /* the original values */
	pid_t tid;                       /* the thread's */
	uint64_t until;                  /* atomic: wall ns until which it stays ordinary, as it
	                                  * starved */
	uint64_t asked, ran, waited;     /* wall ns of the last check; this thread's ns then */
};

/* Starts with ordinary priority; finds out which values may be changed. */
void priority_init(struct priority *priority);
/* True if priority_follow() with the same `left` may set the low priority. */
bool priority_may_lower(const struct priority *priority, uint64_t left);
/* Sets the priority for `left` ms until a ring is full; 0: no program maps one. */
void priority_follow(struct priority *priority, uint64_t left);
/* A thread of this process waited too long for a processor: gives the session's thread its ordinary
 * priority now, for a while. */
void priority_late(struct priority *priority);
/* True if a thread that ran and waited for a processor for so many ns starves. */
bool priority_starves(uint64_t ran, uint64_t waited);
/* Call in another process, when the recorded program has ended: gives the sidecar the caller's
 * priority. */
void priority_raise(pid_t sidecar);

#endif
