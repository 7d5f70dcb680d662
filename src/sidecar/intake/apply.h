/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h: one record, in order, into its process's live blocks, its sums and the event stream.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Here a record's kind is told from the others; apply_block.h, apply_object.h, apply_class.h,
 * apply_tag.h, apply_stack.h and apply_map.h say what it does.
 */
#ifndef SHINY_APPLY_H
#define SHINY_APPLY_H

#include "../state/session.h"

/* The record at the stream's head. */
void apply_record(struct session *session, struct stream *stream);

#endif
