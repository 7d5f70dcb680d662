/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_vector.h: what moves of vectors do to the two words that an xmm register holds.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 *
 * gcc writes two words at once by them, a vtable's address and a length for instance.
 */
#ifndef SHINY_SYM_FLOW_VECTOR_H
#define SHINY_SYM_FLOW_VECTOR_H

#include "flow_values.h"

/* False: the instruction is not one of them, and nothing has changed. */
bool flow_vector_step(const struct flow_context *step);

#endif
