/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_eval.h: what registers hold along one path through machine code: constants, arguments, and
 * the index of a GCInfo.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any; a state is its caller's.
 *
 * The caller chooses the path: it decodes, looks at the instruction with the registers in front of
 * it, steps over it, and decides where to continue. An instruction that isn't understood makes what
 * it writes unknown, never wrong.
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
	EVAL_UNKNOWN,  /* `at` + `add`, where `at` is the instruction that made it; what was there
	                * at the start has small numbers */
	EVAL_CONST,    /* `at` */
	EVAL_ARGUMENT, /* number `at` + `add`, masked or not, shifted left by `shift` */
	EVAL_LOADED,   /* the word at the address `at`, + `add` */
	EVAL_FIELD,    /* the word at offset `add` of what the word at the address `at` points to */
	EVAL_MEMBER,   /* the word that argument number `at` points to, EVAL_MEMBER_SHIFT bits up:
	                * at this offset; + `add` */
	EVAL_DISTANCE, /* of the GCInfo at `at` from the section's start */
	EVAL_PLACE,    /* the same in GCInfos: the index - 1 */
	EVAL_INDEX,    /* of the GCInfo, or out of the variable, at `at`; shifted left by `shift` */
};

struct eval_value {
	enum eval_kind kind;
	uint8_t shift;
	uint8_t other, other_shift; /* of an ARGUMENT: or'ed with this one; `other` 0xff: none */
	uint64_t at;
	int64_t add;
};

/* Addresses of the file that mean something. */
struct eval_world {
	const struct binary *file;
	uint64_t infos, infos_end; /* the section with the GCInfos; equal: none */
	uint64_t slots, slots_end; /* where 16-bit variables with an index can be */
};

enum { EVAL_MEMBER_SHIFT = 32, EVAL_SLOTS = 4 };

/* A word of the frame with an index in it: loops keep theirs there. */
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
	uint8_t shift; /* of the distance that became a place: log2 of a GCInfo's size; 0 none
	                * seen */
};

/* All unknown; with `function`, the argument registers hold their arguments. */
void eval_init(struct eval *eval, const struct eval_world *world, bool function);

/* One instruction's effect. A call makes what it may clobber unknown; branches have none. */
void eval_step(struct eval *eval, const struct flow_instruction *instruction);

/* Of an operand in front of its instruction; a memory operand: of what is loaded. */
struct eval_value eval_operand(const struct eval *eval, const struct flow_instruction *instruction,
			       const ZydisDecodedOperand *operand);

/* The address of a memory operand, without a segment: a CONST, or an ARGUMENT or UNKNOWN with
 * `add`. */
struct eval_value eval_address(const struct eval *eval, const struct flow_instruction *instruction,
			       const ZydisDecodedOperand *operand);

/* Number of the register, 0 … 15, whatever part of it is meant; -1: not one of them. */
int eval_register(ZydisRegister reg);

/* Is the index of a type, or what it is made of, in a register or in the frame? */
bool eval_has_index(const struct eval *eval);

/* The register of argument number `argument`. */
struct eval_value eval_argument(const struct eval *eval, unsigned argument);

#endif
