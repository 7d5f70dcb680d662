/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_object.h: records of a garbage collector: objects begin, are finalized, swept, moved.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_OBJECT_H
#define SHINY_APPLY_OBJECT_H

#include "../state/output.h"

struct stream;

void apply_object(struct output *output, struct stream *stream);
void apply_finalized(struct output *output, struct stream *stream);
void apply_swept(struct output *output, struct stream *stream);
void apply_moved(struct output *output, struct stream *stream, uint64_t from, uint64_t to);
void apply_resized(struct output *output, struct stream *stream);
void apply_object_kinds(struct stream *stream);
/* Ends a block without a call of its own; `why`: enum event_end. */
void apply_end_uncalled(struct output *output, struct stream *stream, uint64_t address,
			enum block_end how, uint8_t why);
/* Ends all blocks of the record's api. */
void apply_dropped(struct output *output, struct stream *stream);
/* Ends the objects in heap memory that was returned to the system. */
void apply_released(struct output *output, struct stream *stream, uint64_t start, uint64_t end);

#endif
