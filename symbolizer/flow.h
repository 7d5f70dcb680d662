/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: where does a pointer go, from the instruction behind the call that returned it?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: bounded, in flow_follow(). Threads: one at a time a flow.
 *
 * A flow is the forward walk over the machine code of one function, both arms of each branch, at most FLOW_STEPS instructions in all. Its
 * values are "the pointer plus a constant", followed through registers and through the slots of the frame. What it meets are facts;
 * what they mean (a constructor, a typed variable) is the rules' business (site_type.h).
 */
#ifndef SHINY_SYM_FLOW_H
#define SHINY_SYM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "reloc.h"
#include "symtab.h"

enum { FLOW_STEPS = 260, FLOW_FACTS = 96, FLOW_SLOTS = 8, FLOW_ARGUMENTS = 6 };

/* DWARF's numbers of the registers: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, rbp 6, rsp 7, r8 … r15 8 … 15. */
enum flow_register { FLOW_RAX, FLOW_RDX, FLOW_RCX, FLOW_RBX, FLOW_RSI, FLOW_RDI, FLOW_RBP, FLOW_RSP, FLOW_REGISTERS = 16, FLOW_NONE = 255 };

/* What a call goes to. */
struct flow_callee {
	uint64_t vaddr;     /* in this file; 0: imported, or not known before run time */
	const char *symbol; /* mangled, without a version; NULL: it has none. Of a PLT stub or a GOT slot: the import's */
};

enum flow_kind {
	FLOW_CALL,   /* a call with the pointer + `offset` in argument register number `argument` (0: rdi … 5: r9) */
	FLOW_JUMP,   /* likewise, by a tail jump */
	FLOW_VTABLE, /* a constant address of this file, `value`, was stored at the pointer + `offset` */
	FLOW_STORE,  /* the pointer + `offset` was stored to memory at `base` + `displacement` (base FLOW_NONE: at the address `value`) */
	FLOW_RETURN, /* the function returned with the pointer + `offset` in rax */
	FLOW_LOST,   /* the walk ended here: out of steps, or an indirect jump */
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
	uint32_t arm;  /* facts of different arms of a branch have different numbers; 0 before the first branch */
	bool certain;  /* on every path from the start (no branch was taken yet, or its arms have met again) */
};

/* A place that holds the pointer. Slots are named by a register and a displacement that were valid at the flow's start: rsp or rbp. */
struct flow_slot {
	unsigned base; /* FLOW_RSP or FLOW_RBP, as at the start */
	int64_t displacement, offset;
};
/* What holds the pointer in front of one instruction. */
struct flow_state {
	uint64_t vaddr;
	uint16_t registers;                /* bit r: register r holds the pointer + offsets[r] */
	int32_t offsets[FLOW_REGISTERS];
	int64_t rsp;                       /* rsp's distance from its value at the start */
	struct flow_slot slots[FLOW_SLOTS];
	unsigned slot_count;
};

struct flow {
	struct flow_fact facts[FLOW_FACTS]; /* in the order of the walk: the fall-through arm first */
	size_t fact_count;
	struct flow_state *states;          /* by vaddr; a place visited twice keeps what both visits agree on */
	size_t state_count;
};

/* What flow and the rules know of a file. `relocs` and `symbols` may grow lazily. */
struct flow_code {
	const struct elf_file *file;
	struct reloc_index *relocs;
	const struct symtab *symbols;
};

/*
 * Follows what is in rax at `start` (a return address). `low` and `high` bound the function's main part; a jump out of it ends an arm,
 * except into `cold_low` … `cold_high` (0, 0: none). False: no memory. flow_deinit() in both cases.
 */
bool flow_follow(const struct flow_code *code, uint64_t start, uint64_t low, uint64_t high, uint64_t cold_low, uint64_t cold_high,
		 struct flow *out);
void flow_deinit(struct flow *flow);

/* The state in front of the instruction at `vaddr`; NULL: the walk did not come by. */
const struct flow_state *flow_at(const struct flow *flow, uint64_t vaddr);

/* The call instruction that ends at `ret`, in a function that begins at `low` (0 unknown). False: there is none. */
bool flow_call_before(const struct flow_code *code, uint64_t low, uint64_t ret, uint64_t *vaddr, struct flow_callee *out);

/* If the code at `vaddr` is a PLT stub, or a function that only jumps on: where to. False: neither. */
bool flow_jumps_to(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

#endif
