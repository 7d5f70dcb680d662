/* SPDX-License-Identifier: Apache-2.0 */
/*
 * residency.h: applies a sample to a process's segments: their ranges, their owners' evidence and
 * their resident bytes.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_RESIDENCY_H
#define SHINY_RESIDENCY_H

#include "../state/output.h"
#include "mappings_state.h"

/*
 * Applies the kernel's list (watch->sample) to the process's segments, as of `now`. Puts areas that
 * hold several segments, whose pages must be counted, into sample.shared.
 */
void residency_observe(struct mappings_watch *watch, struct process *process, uint64_t now);
/* Divides the areas among the segments, and counts the live blocks in each part: watch->parts. */
void residency_count(struct mappings_watch *watch, struct process *process);
/* Writes the rows of the sample. */
void residency_put(struct mappings_watch *watch, struct output *output, struct process *process,
		   uint64_t now);

#endif
