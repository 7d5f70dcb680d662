/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h: one record, in order, into its process's live blocks, its sums and the event stream.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Dispatches by a record's kind; apply_block.h, apply_object.h, apply_class.h, apply_tag.h,
 * apply_stack.h and apply_map.h do what it asks for.
 */
#ifndef SHINY_APPLY_H
#define SHINY_APPLY_H

#include "../state/session.h"

/* The record at the stream's head; of births and ends of blocks also what follows, as
 * apply_blocks() says. How many records. */
size_t apply_record(struct session *session, struct stream *stream, uint64_t until, size_t most);

#endif
