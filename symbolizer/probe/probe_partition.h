/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_partition.h: PartitionAlloc's dispatch chain in a file: the variable where it begins, and
 * which slot each exported function goes through.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_PROBE_PARTITION_H
#define SHINY_SYM_PROBE_PARTITION_H

#include "../elf/binary.h"
#include "probe_file.h"
#include "../elf/reloc.h"

/* Fills in chain_head and slots, with notes. A file that doesn't export an allocator says
 * nothing. */
void probe_partition(const struct binary *file, struct reloc_index *relocs,
		     struct probe_draft *draft);

#endif
