/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_free.h: finds the functions by which Oilpan's sweeper puts memory on free lists.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: one.
 */
#ifndef SHINY_SYM_PROBE_FREE_H
#define SHINY_SYM_PROBE_FREE_H

#include "../elf/binary.h"
#include "probe_file.h"

/* Call after probe_oilpan(). Adds entries SHINY_PROBE_FREE, or a note that says why not; does
 * nothing if no function creates objects. */
void probe_free(const struct binary *file, struct probe_draft *draft);

#endif
