/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: where does a pointer go, from the instruction behind the call that returned it?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: bounded, in flow_follow(). Threads: one at a time a
 * flow.
 *
 * A flow is the forward walk over the machine code of one function, both arms of each branch, at
 * most FLOW_STEPS instructions in all. Its values are "the pointer plus a constant", followed
 * through registers and through the slots of the frame. What it meets are facts; what they mean (a
 * constructor, a typed variable) is the rules' business (site_type.h).
 *
 * Facts are what can happen on some path. Three things to know about them: an argument register may
 * be left over from something else, the callee taking fewer arguments, and so may rax where the
 * function returns nothing or an int (ask the DIE); a store to the frame may be a spill; and a call
 * of a function of this file that never returns isn't always known as one, so that what stands
 * behind it in the code is taken for what comes after it.
 */
#ifndef SHINY_SYM_FLOW_H
#define SHINY_SYM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/reloc.h"
#include "../elf/symtab.h"

/* flow_state's rsp where it isn't known, as behind `and $-16, %rsp`. */
#define FLOW_RSP_UNKNOWN INT64_MIN

enum { FLOW_STEPS = 260, FLOW_FACTS = 96, FLOW_SLOTS = 8, FLOW_ARGUMENTS = 6 };

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

/* What a call goes to. */
struct flow_callee {
	uint64_t vaddr;     /* in this file; 0: imported, or not known before run time */
	const char *symbol; /* mangled, without a version; NULL: it has none. Of a PLT stub or a GOT
	                     * slot: the import's */
};

enum flow_kind {
	FLOW_CALL,   /* a call with the pointer + `offset` in argument register number `argument`
		      * (0: rdi … 5: r9) */
	FLOW_JUMP,   /* likewise, by a tail jump */
	FLOW_VTABLE, /* a constant address of this file, `value`, was stored at the pointer +
			`offset`. Of another file: `value` is 0, `callee.symbol` the import,
			`displacement` the distance from it. Not only vtables: also functions,
			tables */
	FLOW_STORE,  /* the pointer + `offset` was stored to memory at `base` + `displacement`,
			registers as in front of the instruction (of  half a vector: of that half's
			place). Base FLOW_NONE: at the address `value` of this file, or, with value
			0, at  `callee.symbol` of another file + `displacement`. Frame slots too,
			except by push */
	FLOW_RETURN, /* the function returned with the pointer + `offset` in rax */
	FLOW_LOST,   /* the walk ended here: out of steps, out of room for facts, code that can't be
		      * read, or an indirect jump */
};
struct flow_fact {
	enum flow_kind kind;
	uint64_t vaddr, next; /* of the instruction, and of the one behind it */
	int64_t offset;
	unsigned argument;
	struct flow_callee callee;
	uint64_t value;
	unsigned base; /* enum flow_register, FLOW_NONE */
	int64_t displacement;
	unsigned scale; /* of a store: an index register times this is added too; 0 none */
	uint32_t arm;	/* facts of different arms of a branch have different numbers; 0: before the
			   first branch, or certain. Are two facts alternatives, or does one come
			   after the other? flow_reaches() */
	bool certain; /* on every path from the start that comes to the function's end. Paths on
			   which the pointer is null or that end in a noreturn call (an assertion, a
			   throw) don't count */
};

/* A place that holds the pointer. Slots are named by a register and a displacement that were valid
 * at the flow's start: rsp or rbp. */
struct flow_slot {
	unsigned base; /* FLOW_RSP or FLOW_RBP, as at the start */
	int64_t displacement, offset;
};
/*
 * What holds the pointer in front of one instruction. Single-stepped through 2,170 blocks of clang:
 * 136,000 times a register was said to hold it and 34,000 times a slot, and did.
 */
struct flow_state {
	uint64_t vaddr;
	uint16_t registers;                /* bit r: register r holds the pointer + offsets[r],
	                                    * whatever path led here */
	uint16_t possible;                 /* likewise, on one path at least: `v = found ? found :
	                                    * p`. A superset */
	int32_t offsets[FLOW_REGISTERS];
	int64_t rsp;                       /* rsp's distance from its value at the start;
	                                    * FLOW_RSP_UNKNOWN */
	struct flow_slot slots[FLOW_SLOTS];
	unsigned slot_count;
	uint64_t successors[2];            /* where the walk went on from here; 0 none */
};

struct flow {
	struct flow_fact facts[FLOW_FACTS]; /* nearest first, in instructions from the start; of two
	                                     * as near the fall-through arm's */
	size_t fact_count;
	struct flow_state *states;          /* by vaddr; a place visited twice keeps what both
	                                     * visits agree on */
	size_t state_count;
};

/* What flow and the rules know of a file. `relocs` and `symbols` may grow lazily. */
struct flow_code {
	const struct binary *file;
	struct reloc_index *relocs;
	const struct symtab *symbols;
};

/*
 * Follows what is in rax at `start` (a return address). `low` and `high` bound the function's main
 * part; a jump out of it ends an arm, except into `cold_low` … `cold_high` (0, 0: none). False: no
 * memory. flow_deinit() in both cases.
 */
bool flow_follow(const struct flow_code *code, uint64_t start, uint64_t low, uint64_t high,
		 uint64_t cold_low, uint64_t cold_high, struct flow *out);
void flow_deinit(struct flow *flow);

/* The state in front of the instruction at `vaddr`; NULL: the walk did not come by. */
const struct flow_state *flow_at(const struct flow *flow, uint64_t vaddr);

/* Is there a path from the instruction at `from` to the one at `to` (not from one to itself, unless
 * around a loop)? */
bool flow_reaches(const struct flow *flow, uint64_t from, uint64_t to);

/* The call instruction that ends at `ret`, in a function that begins at `low` (0 unknown). `out` is
 * empty when the target is only known at run time (`call *%rax`). False: there is no call. */
bool flow_call_before(const struct flow_code *code, uint64_t low, uint64_t ret, uint64_t *vaddr,
		      struct flow_callee *out);

/*
 * If the code at `vaddr` is a PLT stub, or a small function without calls whose every way out is a
 * tail jump to one function: where to. Of an allocation function: other ways out may return (`n ?
 * operator new(n) : nullptr`). Arms that throw don't count. False: neither.
 */
bool flow_jumps_to(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

#endif
