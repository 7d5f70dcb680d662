/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_vector.h: the effect of vector moves on the two words that an xmm register holds.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 *
 * gcc uses them to write two words at once, a vtable's address and a length for instance.
 */
#ifndef SHINY_SYM_FLOW_VECTOR_H
#define SHINY_SYM_FLOW_VECTOR_H

#include "flow_values.h"

/* False: the instruction is no vector move, and nothing has changed. */
bool flow_vector_step(const struct flow_context *step);

#endif
