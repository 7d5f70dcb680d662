/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h: reads, out of the machine code of a small function, which slot of which table it goes through.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: nothing.
 * Threads:   any; no state.
 */
#ifndef SI_DECODE_H
#define SI_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct si_recipe {
	uintptr_t head;  /* address of the pointer to the table */
	uint32_t offset; /* of the slot in the table, bytes */
	bool calls;      /* true: calls the slot, so its frame is on the stack; false: tail-jumps */
};

/* Why a function was not understood. */
struct si_decode_error {
	size_t offset;      /* of the instruction, from the function's start */
	const char *reason; /* static text */
};

/*
 * Follows the `size` bytes of code at `code`, which run at address `at`, straight on from the entry to the first indirect call or
 * jump. False, with `error`, unless every instruction on the way is known, the frame is set up first, and the target was loaded
 * from a slot of a table whose address was loaded from a pc-relative variable.
 */
bool si_decode_dispatch(const uint8_t *code, size_t size, uintptr_t at, struct si_recipe *recipe, struct si_decode_error *error);

#endif
