/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_code.h: instructions of a file, and what they call.
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

/* The bytes of code at `vaddr`, and how many follow in its segment. NULL: it holds no code. */
const uint8_t *flow_bytes(const struct binary *file, uint64_t vaddr, uint64_t *room);

/* False: no executable code of the file is there, or no instruction. */
bool flow_decode(const struct flow_code *code, uint64_t vaddr, struct flow_instruction *out);

/* Instructions one behind the other, without their operands: twice as fast as flow_decode(). */
struct flow_stream {
	ZydisDecoder decoder;
	const uint8_t *bytes; /* at `vaddr`, with `room` bytes behind it in its segment */
	uint64_t vaddr, room;
};
/* False: no executable code of the file is there. */
bool flow_stream_open(struct flow_stream *stream, const struct flow_code *code, uint64_t vaddr);
/* The instruction at stream->vaddr, which then is that of the next one. False: there is none. */
bool flow_stream_next(struct flow_stream *stream, ZydisDecodedInstruction *out);

/* The target of a direct call or jump at `vaddr`; 0: it is none. */
uint64_t flow_branch(const ZydisDecodedInstruction *instruction, uint64_t vaddr);

/* The start of the instruction that ends at `end`, decoding from `low` on; 0: the instructions
 * don't meet `end`. */
uint64_t flow_before(const struct flow_code *code, uint64_t low, uint64_t end);

/* The target of a direct call or jump, or the address that a rip-relative or absolute operand
 * names. False: neither. */
bool flow_address(const struct flow_instruction *instruction, const ZydisDecodedOperand *operand,
		  uint64_t *out);

/* The import that the PLT stub at `vaddr` jumps to; false: there is no stub. */
bool flow_stub(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

/* A call of the code at `vaddr`: a function, or a PLT stub's import. */
struct flow_callee flow_callee_at(const struct flow_code *code, uint64_t vaddr);

/* A call through the word at `slot`: known if the loader alone writes it. */
struct flow_callee flow_callee_in(const struct flow_code *code, uint64_t slot);

/* What a load of the word at `vaddr` gives, if it never changes. WORD_NONE: not known. */
struct word flow_constant(const struct flow_code *code, uint64_t vaddr);

#endif
