/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_code.h: decodes the instructions of a file and finds the targets of calls.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CODE_H
#define SHINY_SYM_FLOW_CODE_H

#include <Zydis/Zydis.h>

#include "flow_callee.h"

struct flow_instruction {
	uint64_t vaddr, next;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* Decodes one instruction. False: `vaddr` is in no executable segment, or starts no instruction. */
bool flow_decode(const struct flow_code *code, uint64_t vaddr, struct flow_instruction *out);

/* Decodes instructions in sequence without their operands: twice as fast as flow_decode(). */
struct flow_stream {
	ZydisDecoder decoder;
	const uint8_t *bytes; /* at `vaddr`; `room` bytes remain in its segment */
	uint64_t vaddr, room;
};
/* False: `vaddr` is in no executable segment. */
bool flow_stream_open(struct flow_stream *stream, const struct flow_code *code, uint64_t vaddr);
/* Decodes the instruction at stream->vaddr and advances to the next. False: there is none. */
bool flow_stream_next(struct flow_stream *stream, ZydisDecodedInstruction *out);

/* Returns the target of a direct call or jump at `vaddr`; 0: the instruction is neither. */
uint64_t flow_branch(const ZydisDecodedInstruction *instruction, uint64_t vaddr);

/* Returns the start of the instruction that ends at `end`, decoding from `low` on; 0: no
 * instruction ends there. */
uint64_t flow_before(const struct flow_code *code, uint64_t low, uint64_t end);

/* Computes the target of a direct call or jump, or the address of a rip-relative or absolute
 * operand. False: the operand is neither. */
bool flow_address(const struct flow_instruction *instruction, const ZydisDecodedOperand *operand,
		  uint64_t *out);

/* Finds the import that the PLT stub at `vaddr` jumps to. False: no stub is there. */
bool flow_stub(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

/* Describes the callee at `vaddr`: a function, or a PLT stub's import. */
struct flow_callee flow_callee_at(const struct flow_code *code, uint64_t vaddr);

/* Describes the callee of a call through the word at `slot`; empty unless only the loader writes
 * it. */
struct flow_callee flow_callee_in(const struct flow_code *code, uint64_t slot);

/* Returns the word at `vaddr` if it never changes; WORD_NONE: unknown. */
struct word flow_constant(const struct flow_code *code, uint64_t vaddr);

#endif
