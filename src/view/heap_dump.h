/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_dump.h: writes the blocks live at a session's end as the heap dump "heaps_v2" of a trace in
 * Chrome's format (components/services/heap_profiling/json_exporter.cc of Chromium).
 *
 * Runs: CLI. Signals: no. Allocates: by frames of the stacks of one process. Threads: one.
 *
 * A dump is of one process. Its nodes are call stacks, as a tree from the outermost function on;
 * its one allocator, "malloc", has a row a stack and type with its blocks and bytes.
 */
#ifndef SHINY_HEAP_DUMP_H
#define SHINY_HEAP_DUMP_H

#include "../base/json.h"
#include "profile.h"

/* Puts the member "heaps_v2" into the open object. */
void heap_dump_put(struct json *json, const struct profile *profile, uint32_t process);

#endif
