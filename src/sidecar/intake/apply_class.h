/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_class.h: records of entered constructors and destructors, and of their classes.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_CLASS_H
#define SHINY_APPLY_CLASS_H

#include "../state/output.h"

struct stream;

void apply_class(struct output *output, struct stream *stream);
/* `kind`: EVENT_CONSTRUCT or EVENT_DESTROY. */
void apply_constructor(struct output *output, struct stream *stream, uint8_t kind);

#endif
