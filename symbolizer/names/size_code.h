/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_code.h: what the instructions in front of a call of an allocation function say of the block,
 * by the constants in them: limits, roundings, factors.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_SIZE_CODE_H
#define SHINY_SYM_SIZE_CODE_H

#include "byte_limit.h"
#include "label_kind.h"

enum {
	SIZE_CONSTANTS = 16,  /* that are kept of one stretch of code */
	SIZE_ELEMENT_MIN = 4, /* bytes of an array's element */
	SIZE_ELEMENT_MAX = 4096,
};

/* What the code since the previous calls has shown. */
struct size_code {
	uint64_t limits[SIZE_CONSTANTS], factors[SIZE_CONSTANTS];
	size_t limit_count, factor_count;
	uint64_t left, right, top; /* bit n: shifted by n to the left, to the right with the sign,
				    * without it */
	bool round8, round16, short_string, odd_string, checked, chosen;
	bool wide;   /* a product of 128 bits */
	bool halves; /* the file has the limits of libstdc++ only */
	struct byte_limit bytes;
};

/* Takes one instruction: a code_before_fn. */
void size_code_note(void *context, const struct flow_instruction *instruction);

/* Strings, arrays, storage. */
struct site_label size_code_label(const struct size_code *size);

/* Is the count compared with this number? */
bool size_code_has_limit(const struct size_code *size, uint64_t value);

#endif
