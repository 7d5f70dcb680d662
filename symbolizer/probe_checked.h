/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_checked.h: finds the functions by which Chromium's classes with memory safety checks allocate and free, around the dispatch chain.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: sweep_code()'s while it works.
 */
#ifndef SHINY_SYM_PROBE_CHECKED_H
#define SHINY_SYM_PROBE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

struct probe_checked {
	uint64_t allocate, release;             /* block = allocate(size); release(block) */
	uint32_t allocate_calls, release_calls; /* direct calls and jumps to them in the whole file */
};

/* `chain_head`: PartitionAlloc's. NULL: here they are; else why not, a constant text. */
const char *probe_checked_find(const struct elf_file *file, uint64_t chain_head, struct probe_checked *out);

#endif
