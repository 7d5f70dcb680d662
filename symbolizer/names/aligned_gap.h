/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aligned_gap.h: recognizes code that aligns an address inside the block that malloc returned, and
 * stores the block's own address beside the aligned one.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_ALIGNED_GAP_H
#define SHINY_SYM_ALIGNED_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_callee.h"

/* `ret`: return address of the call that allocates. */
bool aligned_gap_follows(const struct flow_code *code, uint64_t ret);

#endif
