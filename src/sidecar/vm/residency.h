/* SPDX-License-Identifier: Apache-2.0 */
/*
 * residency.h: what a sample says of a process's segments: which there are, whose they are, and
 * what of them is resident.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_RESIDENCY_H
#define SHINY_RESIDENCY_H

#include "../state/session.h"
#include "mappings_state.h"

/*
 * The kernel's list (watch->sample) into the process's segments, as of `now`. The pages of areas
 * that hold several segments are to be counted: sample.shared.
 */
void residency_observe(struct session *session, struct process *process, uint64_t now);
/* What of the areas lies in which segment, and the live blocks that lie there: watch->parts. */
void residency_count(struct memory_watch *watch, struct process *process);
/* The rows of it. */
void residency_put(struct session *session, struct process *process, uint64_t now);

#endif
