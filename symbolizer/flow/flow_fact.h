/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_fact.h: events in the life of a pointer on some path through a function.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 *
 * Three limits of facts. An argument register may hold a leftover, if the callee takes fewer
 * arguments; so may rax, if the function returns nothing or an int (ask the DIE). A store to the
 * frame may be a spill. Flow doesn't know every function of this file that never returns, so it may
 * continue past such a call.
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
	FLOW_CALL, /* a call with the pointer + `offset` in argument register `argument` (0: rdi …
	            * 5: r9). For __cxa_throw and its like, the type_info is at `value` of this
	            * file, or, if value is 0, at `import` of another; NULL: unknown */
	FLOW_JUMP, /* the same, by a tail jump */
	FLOW_VTABLE, /* a constant address of this file, `value`, was stored at the pointer +
	              * `offset`. An address of another file: `value` is 0, `callee.symbol` the
	              * import, `displacement` the distance from it. It may also be a function or a
	              * table */
	FLOW_STORE, /* the pointer + `offset` was stored at `base` + `displacement`, with registers
	             * as before the instruction (half a vector: at that half's place). Base
	             * FLOW_NONE: at address `value` of this file, or, if value is 0, at
	             * `callee.symbol` of another file + `displacement`. Includes frame slots,
	             * except by push */
	FLOW_WRITE,  /* anything else but zero was stored at the pointer + `offset`; INT64_MAX: plus
	              * an index. Only struct flow's `written` records it */
	FLOW_RETURN, /* the function returned with the pointer + `offset` in rax */
	FLOW_LOST, /* the walk ended here: no more steps or room for facts, unreadable code, or an
	            * indirect jump */
};
struct flow_fact {
	enum flow_kind kind;
	uint64_t vaddr, next; /* of the instruction, and of the one after it */
	int64_t offset;
	unsigned argument;
	struct flow_callee callee;
	uint64_t value;
	const char *import;
	unsigned base; /* enum flow_register, FLOW_NONE */
	int64_t displacement;
	unsigned scale; /* the store adds an index register times this; 0: none */
	uint32_t arm; /* differs between the arms of a branch; 0: before the first branch, or
	               * certain */
	bool certain; /* on every path from the start to the function's end. Paths with a null
	               * pointer, or that end in a noreturn call (an assertion, a throw), don't
	               * count */
};

#endif
