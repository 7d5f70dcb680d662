/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpoints.h: a thread that watches words of other processes by the processor's debug registers,
 * and reports the first access to each.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop gives orders and
 * takes results.
 *
 * What it uses. perf_event_open with PERF_TYPE_BREAKPOINT works without a PMU, in most virtual
 * machines (in some, debug registers report nothing; so breakpoints_start tries one first), and for
 * an ordinary user's own processes while perf_event_paranoid is 2 or less. A processor has four
 * debug registers; the kernel loads them for each thread. A register watches 1, 2, 4 or 8 aligned
 * bytes, for writes or for reads and writes, so a word takes two registers: that is how a read is
 * told from a write. One process can have BREAKPOINT_WORDS words watched at a time.
 *
 * All threads. An order opens its two events in every thread of the process, and lists the threads
 * again until there is no new one. Threads that start later inherit the events from their creator
 * (inherit_thread: forked children do not; an older kernel refuses that, and so does this module).
 * Events that are inherited can be read through a ring only where they belong to a processor, so
 * each is opened once a processor, and one small ring a processor takes the records of all of them.
 * exec removes them (remove_on_exec). All vanish with the sidecar's descriptors, however it ends:
 * nothing is left in the program's debug registers. A debugger has them to itself: no word of its
 * process is watched, and a watch ends within a tenth of a second when one attaches.
 *
 * The first access. Each access costs the program about two microseconds until the events are
 * closed; the thread closes them as soon as it reads a record. Accesses before the last event was
 * opened do not count, nor those by code in `ignored`, the library's: the watch continues after
 * them. A record has the address behind the accessing instruction.
 *
 * Not seen: accesses by the kernel where this process may not watch it (perf_event_paranoid 2 and
 * no CAP_PERFMON), by other processes, by a child of vfork, and by way of another mapping.
 *
 * Rejected: a signal or SIGTRAP in the program (it would see it); ptrace's debug registers (the
 * tracer stops the thread, and no debugger can attach); one event a thread without inheritance,
 * which the kernel itself can end after the first access (PERF_EVENT_IOC_REFRESH): a thread that
 * starts meanwhile would go unseen.
 */
#ifndef SHINY_BREAKPOINTS_H
#define SHINY_BREAKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BREAKPOINT_WORDS = 2, BREAKPOINT_IGNORED = 4, BREAKPOINT_ORDERS = 32 };

struct breakpoint_range {
	uint64_t start, end;
};
struct breakpoint_order {
	uint32_t number; /* chosen by the caller, to name the order */
	uint32_t pid;
	uint64_t address; /* a multiple of bytes */
	unsigned bytes;   /* 1, 2, 4 or 8 */
	uint64_t window;  /* ns */
	struct breakpoint_range ignored[BREAKPOINT_IGNORED];
};

struct breakpoint_result {
	uint32_t number;
	int error;       /* 0, or an errno: the word could not be watched; EBUSY: a debugger is
	                  * attached */
	bool used;       /* accessed at `time`; false: not accessed until `time` */
	bool written;    /* that access was a write */
	uint64_t armed, time; /* CLOCK_MONOTONIC, ns */
	uint64_t pc;     /* address behind the accessing instruction */
	uint32_t hits;   /* records until the events were closed */
	uint64_t arming; /* ns of processor time spent on arming */
};

struct breakpoints;

/* Starts the thread. NULL: no rings, no thread, or this machine reports no accesses; errno says
 * why. */
struct breakpoints *breakpoints_start(void);
/* Ends all orders and the thread; the results can still be taken. */
void breakpoints_stop(struct breakpoints *breakpoints);
void breakpoints_destroy(struct breakpoints *breakpoints); /* after breakpoints_stop */
/* Gives an order. False: BREAKPOINT_ORDERS are under way. */
bool breakpoints_order(struct breakpoints *breakpoints, const struct breakpoint_order *order);
/* Ends an order now; its result follows as usual. */
void breakpoints_cancel(struct breakpoints *breakpoints, uint32_t number);
/* Takes one result; false: there is none. Every order has exactly one result, except those that had
 * not begun at breakpoints_stop. */
bool breakpoints_take(struct breakpoints *breakpoints, struct breakpoint_result *out);

#endif
