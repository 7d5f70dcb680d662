/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer_patch.h: finds PartitionAllocHooks::SetObserverHooks in an executable that has symbols,
 * for the library.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_SYM_OBSERVER_PATCH_H
#define SHINY_SYM_OBSERVER_PATCH_H

#include <stdbool.h>

#include <shiny/wire/observers.h>

#include "../elf/binary.h"

/*
 * Finds them in the executable at `path`, its symbols from itself or a debug file (debug_dirs as in
 * debugfile.h), into the cache where the library looks. Which form; *why is NULL or says why the
 * hooks can't be used though the executable has them.
 */
enum shiny_observers_form observers_prepare(const char *path, const char *const *debug_dirs,
					    const char **why);

#endif
