/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_move.h: finds the calls by which Oilpan's compactor moves objects.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: one.
 */
#ifndef SHINY_SYM_PROBE_MOVE_H
#define SHINY_SYM_PROBE_MOVE_H

#include "../elf/binary.h"
#include "probe_file.h"
#include "../elf/reloc.h"

/* Call after probe_oilpan(). Adds two entries SHINY_PROBE_MOVE, or a note that says why not; does
 * nothing if no function creates objects. */
void probe_move(const struct binary *file, struct reloc_index *relocs, struct probe_draft *draft);

#endif
