/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h: applies one record to its process's live blocks, its sums and the event stream.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Dispatches by a record's kind to apply_block.h, apply_object.h and apply_map.h; applies what is
 * short (stacks, classes, tags, marks) itself.
 */
#ifndef SHINY_APPLY_H
#define SHINY_APPLY_H

#include "../state/session.h"

/* Applies the record at the stream's head; if it is a birth or end of a block, also those that
 * follow (apply_blocks). Returns how many. */
size_t apply_record(struct session *session, struct stream *stream, uint64_t until, size_t most);

#endif
