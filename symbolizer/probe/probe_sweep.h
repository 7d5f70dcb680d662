/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sweep.h: finds the places in a file's code that name an address in a given range.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: its own, one a processor, four at most.
 *
 * The finds are bytes that look like the instruction; the caller must check whether one starts
 * there. The sweep releases the file's pages as it goes on.
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
	uint64_t low, high;        /* the range of addresses: low <= address < high */
	const uint64_t *only;      /* `only_count` sorted addresses; NULL: any in the range */
	size_t only_count;
	/*
	 * Called for each place, by several threads at once, each with its own `worker` number
	 * below SWEEP_WORKERS; one worker's calls come in the order of addresses. False ends the
	 * sweep.
	 */
	bool (*place)(void *context, unsigned worker, uint64_t vaddr, uint64_t address);
	void *context;
};
enum { SWEEP_WORKERS = 4 };

/* False: `place` ended it. */
bool sweep_code(const struct probe_sweep *sweep);

#endif
