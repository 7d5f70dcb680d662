/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_explicit.h: finds the functions by which a program itself resizes and frees collected
 * objects.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: one.
 */
#ifndef SHINY_SYM_PROBE_EXPLICIT_H
#define SHINY_SYM_PROBE_EXPLICIT_H

#include "../elf/binary.h"
#include "probe_file.h"

/*
 * Call after probe_free(). Adds entries SHINY_PROBE_RESIZE and SHINY_PROBE_RELEASE, or notes that
 * say why not; does nothing if no function creates objects.
 */
void probe_explicit(const struct binary *file, struct probe_draft *draft);

#endif
