/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_tag.h: records of the program's own calls (shiny.h): tags of threads, and marks.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_TAG_H
#define SHINY_APPLY_TAG_H

#include "../state/output.h"

struct stream;

void apply_tag(struct stream *stream);
void apply_tag_name(struct output *output, struct stream *stream);
void apply_mark(struct output *output, struct stream *stream);

#endif
