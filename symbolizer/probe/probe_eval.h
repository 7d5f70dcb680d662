/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_eval.h: computes the values of registers along one path through machine code: constants,
 * arguments, and the index of a GCInfo.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any; a state is its caller's.
 *
 * The caller chooses the path: it decodes an instruction, looks at the registers before it, steps
 * over it, and decides where to continue. An instruction that isn't understood makes its results
 * unknown, never wrong.
 *
 * flow_values.c says why this interpreter and that of flow/ have values of their own.
 */
#ifndef SHINY_SYM_PROBE_EVAL_H
#define SHINY_SYM_PROBE_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "../flow/flow_code.h"

enum eval_kind {
	EVAL_UNKNOWN,  /* `at` + `add`; `at` is the instruction that produced it; values at the
	                * start have small numbers */
	EVAL_CONST,    /* `at` */
	EVAL_ARGUMENT, /* argument number `at` + `add`, masked or not, shifted left by `shift` */
	EVAL_LOADED,   /* the word at the address `at`, + `add` */
	EVAL_FIELD,    /* the word at offset `add` of the target of the word at the address `at` */
	EVAL_MEMBER,   /* `at` is an argument's number, EVAL_MEMBER_SHIFT bits up, and an offset:
	                * the word at that offset of the argument's target, + `add` */
	EVAL_DISTANCE, /* distance of the GCInfo at `at` from the section's start */
	EVAL_PLACE,    /* the same in GCInfos: the index - 1 */
	EVAL_INDEX,    /* index of the GCInfo, or from the variable, at `at`; shifted left by
	                * `shift` */
};

struct eval_value {
	enum eval_kind kind;
	uint8_t shift;
	uint8_t other, other_shift; /* an ARGUMENT or'ed with this one; `other` 0xff: none */
	uint64_t at;
	int64_t add;
};

/* Address ranges of the file with a special meaning. */
struct eval_world {
	const struct binary *file;
	uint64_t infos, infos_end; /* section of the GCInfos; equal: none */
	uint64_t slots, slots_end; /* range of 16-bit variables with an index */
};

enum { EVAL_MEMBER_SHIFT = 32, EVAL_SLOTS = 4 };

/* A frame word with an index: loops keep indexes there. */
struct eval_slot {
	uint64_t base;
	int64_t add;
	struct eval_value value; /* UNKNOWN: empty */
};

enum { EVAL_REGISTERS = 16, EVAL_VECTORS = 16, EVAL_ARGUMENTS = 6 };

struct eval {
	const struct eval_world *world;
	struct eval_value reg[EVAL_REGISTERS]; /* Zydis' order: rax rcx rdx rbx rsp rbp rsi rdi r8 …
	                                        * r15 */
	struct eval_value low[EVAL_VECTORS], high[EVAL_VECTORS]; /* halves of xmm0 … */
	struct eval_slot slots[EVAL_SLOTS];
	uint8_t slot_next;
	uint8_t used; /* bit n: argument n was read, other than to be saved */
	uint8_t shift; /* shift that turned a distance into a place: log2 of a GCInfo's size; 0:
	                * none seen */
};

/* Sets all values unknown; with `function`, the argument registers hold their arguments. */
void eval_init(struct eval *eval, const struct eval_world *world, bool function);

/* Applies one instruction. A call makes the registers that it may clobber unknown; branches have no
 * effect. */
void eval_step(struct eval *eval, const struct flow_instruction *instruction);

/* Returns an operand's value before its instruction; of a memory operand, the loaded value. */
struct eval_value eval_operand(const struct eval *eval, const struct flow_instruction *instruction,
			       const ZydisDecodedOperand *operand);

/* Returns the address of a memory operand, without a segment: a CONST, or an ARGUMENT or UNKNOWN
 * with `add`. */
struct eval_value eval_address(const struct eval *eval, const struct flow_instruction *instruction,
			       const ZydisDecodedOperand *operand);

/* Returns the number of the register, 0 … 15, that `reg` is or is part of; -1: none of them. */
int eval_register(ZydisRegister reg);

/* True if a register or frame word holds a type's index, or a distance or place that becomes
 * one. */
bool eval_has_index(const struct eval *eval);

/* Returns the value of argument register number `argument`. */
struct eval_value eval_argument(const struct eval *eval, unsigned argument);

#endif
