/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_watch.h: reports each change of the loader's list of modules.
 *
 * Runs: inside: in the constructor, then in the thread that calls dlopen, dlmopen or dlclose.
 * Signals: as dlopen: not safe. Allocates: a page near the loader's code. Threads: one at a time:
 * the loader's lock is held.
 */
#ifndef SI_LOADER_WATCH_H
#define SI_LOADER_WATCH_H

#include <link.h>
#include <stdbool.h>

/* Called for a module that is mapped, and not bound yet; `elsewhere`: in a namespace of
 * dlmopen's. */
typedef void si_loader_meet_fn(const struct link_map *map, bool elsewhere);
/* Calls `meet` for each module loaded from now on. False: the loader's function can't be patched,
 * and `meet` is never called. */
bool si_loader_watch(si_loader_meet_fn *meet);

/* True if the module with this l_ld was in the list at the last look, or the one before. */
bool si_loader_has(const void *dynamic);

#endif
