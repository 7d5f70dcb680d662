/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer_patch.h: finds PartitionAllocHooks::SetObserverHooks for the library in an executable
 * with symbols, and the variables of these hooks in a library without.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_SYM_OBSERVER_PATCH_H
#define SHINY_SYM_OBSERVER_PATCH_H

#include <stdbool.h>

#include <shiny/wire/observers.h>

#include "../elf/binary.h"

/*
 * Finds the hooks in the executable at `path`, by its own symbols or its debug file's (debug_dirs
 * as in debugfile.h), and writes them into the cache where the library looks. Returns their form;
 * *why is NULL or tells why the hooks can't be used though the executable has them.
 */
enum shiny_observers_form observers_prepare(const char *path, const char *const *debug_dirs,
					    const char **why);

/* Does the same for a library, whose hooks are found without symbols. True: they were. */
bool observers_prepare_library(const char *path);

#endif
