/* SPDX-License-Identifier: Apache-2.0 */
/*
 * referenced.h: a thread that learns which mappings of other processes were not touched for a time,
 * neither read nor written, and of how many pages of the others that is so.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop gives orders and
 * takes readings.
 *
 * What it uses. The processor marks a page's table entry when the page is accessed. Writing 1 to
 * /proc/PID/clear_refs clears these marks in a whole process; writing 4 makes the kernel drop its
 * cached translations, without which the processor would not mark a page again. (Where the kernel
 * has soft-dirty bits that also protects the pages against writing, once each.) Later the field
 * Referenced of /proc/PID/smaps counts the marked pages of each mapping. No root is needed, nothing
 * in the program, no PMU, and processes in a sandbox can be asked as well.
 *
 * What that proves. A page that was accessed between `from` and `until` is counted, unless it has
 * left the mapping since; so with `touched` 0 nobody accessed any page that is there, and at most
 * `touched` pages were accessed otherwise. Too many may be counted: those that were read ahead of
 * time by the processor, by the sidecar, or by the kernel for somebody else. The marks are the
 * kernel's, too: where it looks for memory to reclaim it clears them. A reading during which it did
 * (reclaim_count) is thrown away. referenced_probe tries all of that on the sidecar's own memory.
 *
 * Not seen: accesses by devices, by ptrace and process_vm_readv, and by way of another mapping; an
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
/* ns: what a page costs the program that it touches for the first time after a clearing. */
#define REFERENCED_TOUCH UINT64_C(250)

struct referenced_order {
	uint32_t process; /* the caller's name for it; one order each at a time */
	uint32_t pid;
	uint64_t readings[REFERENCED_READINGS]; /* ns after `from`, ascending; 0: no more */
};

struct referenced_area {
	uint64_t start, end;
	uint32_t pages, touched; /* that are there; of these, at most so many were accessed */
};

struct referenced_reading {
	uint32_t process;
	int error; /* an errno: nothing is known; EAGAIN: the kernel cleared marks meanwhile */
	bool last; /* the order is done */
	uint64_t from, until; /* CLOCK_MONOTONIC, ns */
	uint64_t cost;        /* ns: what the program and the sidecar paid since the last one */
	struct referenced_area *areas; /* private, writable, of no file; ascending */
	size_t count;
};

struct referenced;

/* Does all of it work here? 0, or the errno that says why not; ENOTSUP: it says nothing true. */
int referenced_probe(void);
struct referenced *referenced_start(void); /* NULL: there is no thread; errno says why */
void referenced_stop(struct referenced *referenced); /* its readings can be taken */
void referenced_destroy(struct referenced *referenced); /* after referenced_stop */
/* False: REFERENCED_ORDERS are under way. */
bool referenced_order(struct referenced *referenced, const struct referenced_order *order);
/* One reading, if there is any. */
bool referenced_take(struct referenced *referenced, struct referenced_reading *out);
void referenced_drop(struct referenced_reading *reading); /* one that was taken */

#endif
