/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_explicit.h: finds the functions by which a program resizes and frees collected objects
 * itself.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes, little. Threads: one.
 */
#ifndef SHINY_SYM_PROBE_EXPLICIT_H
#define SHINY_SYM_PROBE_EXPLICIT_H

#include "../elf/binary.h"
#include "probe_file.h"

/*
 * Behind probe_free(): adds entries SHINY_PROBE_RESIZE and SHINY_PROBE_RELEASE, or notes that say
 * why not; nothing where no function makes objects.
 */
void probe_explicit(const struct binary *file, struct probe_draft *draft);

#endif
