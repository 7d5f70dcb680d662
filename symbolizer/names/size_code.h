/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_code.h: labels a block by constants in the instructions before the call that allocates it:
 * limits, roundings, factors.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_SIZE_CODE_H
#define SHINY_SYM_SIZE_CODE_H

#include "byte_limit.h"
#include "label_kind.h"

enum {
	SIZE_CONSTANTS = 16,  /* most constants noted of one stretch of code */
	SIZE_ELEMENT_MIN = 4, /* bytes of an array's element */
	SIZE_ELEMENT_MAX = 4096,
};

/* Findings in the code since the previous calls. */
struct size_code {
	uint64_t limits[SIZE_CONSTANTS], factors[SIZE_CONSTANTS];
	size_t limit_count, factor_count;
	uint64_t left, right, top; /* bit n: shifted by n to the left, to the right with the sign,
	                            * to the right without it */
	bool round8, round16, short_string, odd_string, checked, chosen;
	bool wide;   /* there is a product of 128 bits */
	bool halves; /* the file has only the limits of libstdc++ */
	struct byte_limit bytes;
};

/* Notes one instruction; a code_before_fn. */
void size_code_note(void *context, const struct flow_instruction *instruction);

/* Returns the label for strings, arrays or storage. */
struct site_label size_code_label(const struct size_code *size);

/* True if the count is compared with this number. */
bool size_code_has_limit(const struct size_code *size, uint64_t value);

#endif
