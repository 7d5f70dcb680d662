/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer_variables.h: finds the variables of PartitionAllocHooks in a library without symbols.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_SYM_OBSERVER_VARIABLES_H
#define SHINY_SYM_OBSERVER_VARIABLES_H

#include <shiny/wire/observers.h>

#include "../elf/binary.h"

/* Fills out->stored. Returns how many there are: a library may have PartitionAlloc twice. */
unsigned observer_variables(const struct binary *file, struct shiny_observers_file *out);

#endif
