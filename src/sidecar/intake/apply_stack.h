/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_stack.h: records that define stacks: converts frames to ids of the session.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_STACK_H
#define SHINY_APPLY_STACK_H

#include "../state/output.h"

struct stream;

void apply_stack(struct output *output, struct stream *stream);

#endif
