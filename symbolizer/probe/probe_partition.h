/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_partition.h: finds PartitionAlloc's dispatch chain in a file: the variable with its head,
 * and the slot that each exported function uses.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_PROBE_PARTITION_H
#define SHINY_SYM_PROBE_PARTITION_H

#include "../elf/binary.h"
#include "probe_file.h"
#include "../elf/reloc.h"

/* Sets chain_head and slots, with notes. A file that doesn't export an allocator gets none. */
void probe_partition(const struct binary *file, struct reloc_index *relocs,
		     struct probe_draft *draft);

#endif
