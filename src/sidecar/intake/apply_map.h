/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_map.h: records of mappings: modules, and calls of the mmap family.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_MAP_H
#define SHINY_APPLY_MAP_H

#include "../state/output.h"

struct errands;
struct mappings_watch;
struct stream;

void apply_module(struct errands *errands, struct output *output, struct stream *stream);
void apply_map(struct mappings_watch *watch, struct output *output, struct stream *stream);

#endif
