/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_watch.h: is told by the loader whenever its list of modules has changed.
 *
 * Runs:      inside: in the constructor, then in the thread that calls dlopen, dlmopen or dlclose.
 * Signals:   as dlopen: not safe.
 * Allocates: a page near the loader's code.
 * Threads:   one at a time: the loader's lock is held.
 */
#ifndef SI_LOADER_WATCH_H
#define SI_LOADER_WATCH_H

#include <link.h>
#include <stdbool.h>

/* A module that is mapped, and not bound yet; `elsewhere`: in a namespace of dlmopen's. */
typedef void si_loader_meet_fn(const struct link_map *map, bool elsewhere);
/* False: the loader cannot be made to tell, and `meet` is never called. Modules that are there
 * already are not met. */
bool si_loader_watch(si_loader_meet_fn *meet);

/* Whether the module whose l_ld this is was in the list at the last look, or the one before. */
bool si_loader_has(const void *dynamic);

#endif
