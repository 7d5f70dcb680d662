/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sweep.h: finds the places in a file's code that name an address in a given range.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: its own, as many as there are
 * processors, four at most.
 *
 * What is found are bytes that look like the instruction; whether one begins there is for the
 * caller to find out. No memory is kept of what was read: the file's pages are given back as the
 * sweep goes on.
 */
#ifndef SHINY_SYM_PROBE_SWEEP_H
#define SHINY_SYM_PROBE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"

enum sweep_form {
	SWEEP_ADDRESS, /* lea ADDRESS(%rip),%r64 */
	SWEEP_LOAD16,  /* movzwl ADDRESS(%rip),%r32 */
	SWEEP_CALL,    /* call ADDRESS; jmp ADDRESS */
};

struct probe_sweep {
	const struct binary *file;
	enum sweep_form form;
	uint64_t low, high;        /* the addresses looked for: low <= address < high */
	const uint64_t *only;      /* sorted, `only_count` of them; NULL: any in the range */
	size_t only_count;
	/*
	 * Called for each place, by several threads at once, each with its own `worker` number
	 * below SWEEP_WORKERS; in the order of addresses for one worker only. False ends the sweep.
	 */
	bool (*place)(void *context, unsigned worker, uint64_t vaddr, uint64_t address);
	void *context;
};
enum { SWEEP_WORKERS = 4 };

/* False: `place` has ended it. */
bool sweep_code(const struct probe_sweep *sweep);

#endif
