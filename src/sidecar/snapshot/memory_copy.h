/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_copy.h: copies the private writable memory of a stopped process.
 *
 * Runs: sidecar. Signals: no. Allocates: as much as it copies. Threads: one.
 *
 * Approach. Areas are those of /proc/PID/maps that are private and writable; of these only pages
 * that are in memory or swapped out are copied (/proc/PID/pagemap): untouched ones are zero. The
 * memory for the copy is allocated before the process is stopped, by a first look at the same
 * lists. process_vm_readv copies; /proc/PID/mem needs the same rights and costs one system call a
 * run of pages. Not copied: shared mappings (the ring is one), and read-only ones.
 */
#ifndef SHINY_MEMORY_COPY_H
#define SHINY_MEMORY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/err.h"
#include "../../base/mem.h"

struct copied_area {
	uint64_t start, end;
	bool heap, stack; /* the kernel's [heap], [stack] */
};
struct copied_run { /* adjacent pages */
	uint64_t start, end;
	const uint64_t *words;
};
struct copied_runs {
	struct copied_run *at;
	size_t count, room;
};
struct memory_copy { /* zeroed: empty */
	VEC(struct copied_area) areas;
	struct copied_runs runs; /* sorted by address */
	void *pages;
	size_t room, used;
	uint64_t unread; /* bytes that could not be read */
};

/* Call before the stop: allocates room for the present memory. Fails if the machine has not enough
 * memory. */
SHINY_MUST_CHECK struct shiny_err *memory_copy_prepare(uint32_t pid, struct memory_copy *out);
/* Copies the memory; call while the process is stopped. */
SHINY_MUST_CHECK struct shiny_err *memory_copy_take(uint32_t pid, struct memory_copy *copy);
/* Returns the aligned word at `address`; 0 if it was not copied. */
uint64_t memory_copy_word(const struct memory_copy *copy, uint64_t address);
void memory_copy_deinit(struct memory_copy *copy);

#endif
