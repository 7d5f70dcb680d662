/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_copy.h: a copy of the private writable memory of a process that stands still.
 *
 * Runs: sidecar. Signals: no. Allocates: as much as it copies. Threads: one.
 *
 * Approach. Areas are those of /proc/PID/maps that are private and writable; of these only pages
 * that are in memory or swapped out are copied (/proc/PID/pagemap): what was never touched is zero.
 * The memory for the copy is made before the process is stopped, from a first look at the same
 * lists. process_vm_readv copies; /proc/PID/mem needs the same rights and costs one system call a
 * run of pages. Not copied: shared mappings (the ring is one), and what is not writable.
 */
#ifndef SHINY_MEMORY_COPY_H
#define SHINY_MEMORY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/err.h"
#include "../../base/mem.h"

struct copied_area {
	uint64_t start, end;
	bool heap, stack; /* the kernel calls it so */
};
struct copied_run { /* of pages that are next to each other */
	uint64_t start, end;
	const uint64_t *words;
};
struct copied_runs {
	struct copied_run *at;
	size_t count, room;
};
struct memory_copy { /* zeroed: empty */
	VEC(struct copied_area) areas;
	struct copied_runs runs; /* in order */
	void *pages;
	size_t room, used;
	uint64_t unread; /* bytes that could not be read */
};

/* Before the stop: room for what there is now. Refused where the machine has not enough memory. */
SHINY_MUST_CHECK struct shiny_err *memory_copy_prepare(uint32_t pid, struct memory_copy *out);
/* While it stands still. */
SHINY_MUST_CHECK struct shiny_err *memory_copy_take(uint32_t pid, struct memory_copy *copy);
/* The aligned word at `address`; 0 where it was not copied. */
uint64_t memory_copy_word(const struct memory_copy *copy, uint64_t address);
void memory_copy_deinit(struct memory_copy *copy);

#endif
