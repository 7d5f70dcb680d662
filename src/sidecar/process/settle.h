/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.h: counts the blocks that a process still held when it ended.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SETTLE_H
#define SHINY_SETTLE_H

#include "../state/output.h"

/* Counts its live blocks, by site and by page, and drops its registry. */
void process_settle(struct output *output, struct process *process);

#endif
