/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_code.h: reads from the machine code of a small function which slot of which table it goes
 * through, and with which arguments.
 *
 * Runs: inside, in the constructor. Signals: – Allocates: nothing. Threads: any; no state.
 */
#ifndef SI_SLOT_CODE_H
#define SI_SLOT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The contents of an argument register at the call. */
enum {
	SI_ARG_UNKNOWN = 0,
	SI_ARG_TABLE,   /* the table's address */
	SI_ARG_ZERO,
	SI_ARG_OWN,     /* SI_ARG_OWN + n: the function's own argument n */
	SI_ARGS = 6,
};

struct si_recipe {
	uintptr_t head;  /* address of the pointer to the table */
	uint32_t offset; /* offset of the slot in the table, bytes */
	bool calls;      /* true: calls the slot, so its frame is on the stack; false: tail-jumps */
	uint8_t argument[SI_ARGS];
	uint32_t reach;  /* bytes from the function's start that the walk and its branches have
	                  * reached */
	/* control-flow integrity: the slot's function must be one of `guard_count` 8-byte jumps
	 * from `guard` on; 0: not checked */
	uintptr_t guard;
	uint32_t guard_count;
};

/* The reason why a function was not understood. */
struct si_decode_error {
	size_t offset;      /* of the instruction, in bytes from the function's start */
	const char *reason; /* static text */
};

/*
 * Follows the `size` bytes of code at `code`, which run at address `at`, straight on from the entry
 * to the first indirect call or jump (or, where the slot was found to hold one certain function,
 * the call of that). False, with `error`, unless every instruction on the way is known, the frame
 * is set up first, and the target was loaded from a slot of a table whose address was loaded from a
 * pc-relative variable, and was used for nothing else than a check as clang's control-flow
 * integrity makes it.
 */
bool si_decode_dispatch(const uint8_t *code, size_t size, uintptr_t at, struct si_recipe *recipe,
			struct si_decode_error *error);

#endif
