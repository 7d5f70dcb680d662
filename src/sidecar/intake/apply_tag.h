/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_tag.h: what the program says of itself (shiny.h): which tag a thread has, and marks.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_TAG_H
#define SHINY_APPLY_TAG_H

#include "../state/session.h"

void apply_tag(struct stream *stream);
void apply_tag_name(struct session *session, struct stream *stream);
void apply_mark(struct session *session, struct stream *stream);

#endif
