/* SPDX-License-Identifier: Apache-2.0 */
/*
 * referenced.h: a thread that finds which mappings of other processes were neither read nor written
 * for a time, and how many pages of the others were.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop gives orders and
 * takes readings.
 *
 * What it uses. The processor marks a page's table entry when the page is accessed. Writing 1 to
 * /proc/PID/clear_refs clears these marks in a whole process; writing 4 makes the kernel drop its
 * cached translations, without which the processor would not mark a page again. (Where the kernel
 * has soft-dirty bits that also protects the pages against writing, once each.) Later the field
 * Referenced of /proc/PID/smaps counts the marked pages of each mapping. It needs no root, no code
 * in the program and no PMU, and works for processes in a sandbox, too.
 *
 * What that proves. A page that was accessed between `from` and `until` is counted, unless it has
 * left the mapping since; so with `touched` 0 no resident page was accessed, and else at most
 * `touched` pages were. The count may be too high: it includes accesses by the processor ahead of
 * time, by the sidecar, and by the kernel for other processes. The kernel uses the marks, too, and
 * clears them where it looks for memory to reclaim; a reading during which it did (reclaim_count)
 * is discarded. referenced_probe tries all of that on the sidecar's own memory.
 *
 * Not seen: accesses by devices, by ptrace and process_vm_readv, and through another mapping; an
 * access to a page that the program then discarded (MADV_DONTNEED).
 *
 * Rejected. DAMON: for root, one user a machine, goes on when its user is killed. Idle page
 * tracking: for root, in few kernels. Soft-dirty and PAGEMAP_SCAN: writes only; the latter needs a
 * userfaultfd that the program itself opened, which splits its mappings, and which a renderer that
 * was forked inside a sandbox cannot have. UFFDIO_MOVE: a page is lost if the sidecar is killed.
 *
 * The cost. The first write holds the process's memory map for as long as the walk over its page
 * tables takes, 10 to 30 ns a page; each page that is touched again costs a walk of the processor.
 * Both are in `cost`, and readings of a round after the first are left out where they would cost
 * more than REFERENCED_SHARE of the time since.
 */
#ifndef SHINY_REFERENCED_H
#define SHINY_REFERENCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFERENCED_ORDERS = 32, REFERENCED_READINGS = 4, REFERENCED_SHARE = 33 /* 3 % */ };
/* ns that the first access to a page after a clearing costs the program. */
#define REFERENCED_TOUCH UINT64_C(250)

struct referenced_order {
	uint32_t process; /* chosen by the caller; one order each at a time */
	uint32_t pid;
	uint64_t readings[REFERENCED_READINGS]; /* ns after `from`, ascending; 0: no more */
};

struct referenced_area {
	uint64_t start, end;
	uint32_t pages, touched; /* resident pages; upper bound of those accessed */
};

struct referenced_reading {
	uint32_t process;
	int error; /* 0, or an errno: no data; EAGAIN: the kernel cleared marks meanwhile */
	bool last; /* it ends the order, and has no areas */
	uint64_t from, until; /* CLOCK_MONOTONIC, ns */
	uint64_t cost;        /* ns: cost to the program and the sidecar since the last reading */
	struct referenced_area *areas; /* private, writable, without file; ascending */
	size_t count;
};

struct referenced;

/* Tries everything on this process. Returns 0, or the errno of the failure; ENOTSUP: the counts are
 * wrong. */
int referenced_probe(void);
struct referenced *referenced_start(void); /* NULL: no thread; errno says why */
void referenced_stop(struct referenced *referenced); /* its readings can still be taken */
void referenced_destroy(struct referenced *referenced); /* after referenced_stop */
/* Gives an order. False: REFERENCED_ORDERS are under way. */
bool referenced_order(struct referenced *referenced, const struct referenced_order *order);
/* Takes one reading; false: there is none. */
bool referenced_take(struct referenced *referenced, struct referenced_reading *out);
void referenced_drop(struct referenced_reading *reading); /* frees a reading that was taken */

#endif
