/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_limit.h: tells whether code checks a size in bytes against the largest possible one.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_BYTE_LIMIT_H
#define SHINY_SYM_BYTE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_code.h"

struct byte_limit {
	const struct flow_code *code;
	uint32_t compared; /* registers that later instructions compare */
	bool checked;
};

/* Call it for each instruction of the code, the last one first. */
void byte_limit_note(struct byte_limit *limit, const struct flow_instruction *instruction);

#endif
