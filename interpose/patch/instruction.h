/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instruction.h: reads a function's bytes in order: opcodes, immediates, ModRM operands.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: nothing.
 * Threads:   any; no state.
 *
 * It decodes only the part of x86-64 that slot_code.c needs. A function that returns false has set
 * `reason`, a static text.
 */
#ifndef SI_INSTRUCTION_H
#define SI_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX = 0, RCX = 1, RDX = 2, RSP = 4, RBP = 5, RSI = 6, RDI = 7, SI_REGISTERS = 16 };

/* A function's code, and the position up to which it has been read. */
struct si_code_bytes {
	const uint8_t *bytes;
	size_t size, pos;
	const char *reason;
};

/* One instruction's ModRM operand. */
struct si_operand {
	unsigned mod, reg, rm; /* with REX bits */
	bool is_register, pc_relative, indexed;
	int32_t displacement;
};

/* Copies the next `n` bytes to `out`. */
bool si_code_take(struct si_code_bytes *code, void *out, size_t n);

/* Reads the ModRM byte with its SIB and displacement; `rex` is the instruction's REX prefix, or
 * 0. */
bool si_code_operand(struct si_code_bytes *code, unsigned rex, struct si_operand *o);

#endif
