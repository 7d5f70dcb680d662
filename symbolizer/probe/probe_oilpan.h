/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_oilpan.h: finds Oilpan in a file: the functions that create objects, the types, and the
 * position of the index in an object's header.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: sweep_code()'s while it works.
 */
#ifndef SHINY_SYM_PROBE_OILPAN_H
#define SHINY_SYM_PROBE_OILPAN_H

#include "../elf/binary.h"
#include "probe_file.h"
#include "../elf/reloc.h"

/* Sets shape, entries, GCInfos, header, types and notes. A part that isn't found is left out, and a
 * note says so. */
void probe_oilpan(const struct binary *file, struct reloc_index *relocs, struct probe_draft *draft);

#endif
