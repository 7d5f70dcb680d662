/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_checked.h: finds the functions by which Chromium's classes with memory safety checks
 * allocate and free, bypassing the dispatch chain.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: sweep_code()'s while it works.
 */
#ifndef SHINY_SYM_PROBE_CHECKED_H
#define SHINY_SYM_PROBE_CHECKED_H

#include "../elf/binary.h"
#include "probe_file.h"
#include "../elf/reloc.h"

/* Call after probe_partition(). Adds the entries SHINY_PROBE_NEW and SHINY_PROBE_DELETE, or a note
 * that says why not; does nothing without a chain. */
void probe_checked(const struct binary *file, struct reloc_index *relocs,
		   struct probe_draft *draft);

#endif
