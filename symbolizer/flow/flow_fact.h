/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_fact.h: what can happen to a pointer on some path through a function.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 *
 * Three things to know about facts: an argument register may be left over from something else,
 * where the callee takes fewer arguments, and so may rax where the function returns nothing or an
 * int (ask the DIE); a store to the frame may be a spill; and flow doesn't know every function of
 * this file that never returns, so it may take what stands behind such a call for what comes after
 * it.
 */
#ifndef SHINY_SYM_FLOW_FACT_H
#define SHINY_SYM_FLOW_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow_callee.h"

enum { FLOW_ARGUMENTS = 6 };

/* DWARF's numbers of the registers: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, rbp 6, rsp 7, r8 …
 * r15 8 … 15. */
enum flow_register {
	FLOW_RAX,
	FLOW_RDX,
	FLOW_RCX,
	FLOW_RBX,
	FLOW_RSI,
	FLOW_RDI,
	FLOW_RBP,
	FLOW_RSP,
	FLOW_REGISTERS = 16,
	FLOW_NONE = 255
};

enum flow_kind {
	FLOW_CALL, /* a call with the pointer + `offset` in argument register number `argument`
		      * (0: rdi … 5: r9). Of __cxa_throw and its like: with a type_info at `value`
		      * of this file, or, with value 0, at `import` of another; NULL: not known */
	FLOW_JUMP, /* likewise, by a tail jump */
	FLOW_VTABLE, /* a constant address of this file, `value`, was stored at the pointer +
			`offset`. Of another file: `value` is 0, `callee.symbol` the import,
			`displacement` the distance from it. Not only vtables: also functions,
			tables */
	FLOW_STORE, /* the pointer + `offset` was stored to memory at `base` + `displacement`,
			registers as in front of the instruction (of  half a vector: of that half's
			place). Base FLOW_NONE: at the address `value` of this file, or, with value
			0, at  `callee.symbol` of another file + `displacement`. Frame slots too,
			except by push */
	FLOW_WRITE,  /* anything else but zero was stored at the pointer + `offset`; INT64_MAX: +
			an index. No fact of its own: see struct flow */
	FLOW_RETURN, /* the function returned with the pointer + `offset` in rax */
	FLOW_LOST, /* the walk ended here: out of steps, out of room for facts, code that can't be
		      * read, or an indirect jump */
};
struct flow_fact {
	enum flow_kind kind;
	uint64_t vaddr, next; /* of the instruction, and of the one behind it */
	int64_t offset;
	unsigned argument;
	struct flow_callee callee;
	uint64_t value;
	const char *import;
	unsigned base; /* enum flow_register, FLOW_NONE */
	int64_t displacement;
	unsigned scale; /* of a store: an index register times this is added too; 0 none */
	uint32_t arm; /* facts of different arms of a branch have different numbers; 0: before the
			   first branch, or certain. Are two facts alternatives, or does one come
			   after the other? flow_reaches() */
	bool certain; /* on every path from the start that comes to the function's end. Paths on
			   which the pointer is null or that end in a noreturn call (an assertion, a
			   throw) don't count */
};

#endif
