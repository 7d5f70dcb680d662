/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_values.h: the values of registers, vectors and frame words, and how operands read and write
 * them.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_FLOW_VALUES_H
#define SHINY_SYM_FLOW_VALUES_H

#include "flow_code.h"
#include "flow_fact.h"

enum { FLOW_VECTORS = 16, FLOW_PLACES = 16 };

enum flow_value_kind {
	VALUE_NONE, /* unknown */
	VALUE_POINTER, /* the pointer + number */
	VALUE_CONSTANT, /* the address `number` of this file */
	VALUE_IMPORT, /* the address of `symbol` of another file + number */
	VALUE_RSP, /* rsp at the start + number */
	VALUE_RBP, /* rbp at the start + number */
};
struct flow_value {
	enum flow_value_kind kind;
	int64_t number;
	const char *symbol;
};

/* A word of the frame. `base` is VALUE_RSP or VALUE_RBP. */
struct flow_place {
	enum flow_value_kind base;
	int64_t displacement;
	struct flow_value value;
};
struct flow_machine {
	struct flow_value registers[FLOW_REGISTERS];
	struct flow_value vectors[FLOW_VECTORS][2]; /* the two words of xmm0 … xmm15 */
	struct flow_place places[FLOW_PLACES];
	unsigned place_count;
	bool tested; /* the zero flag tells whether the pointer is null */
};

/* Receives each fact. */
typedef void flow_emit(void *context, const struct flow_fact *fact);

/* An instruction, and the machine that it changes. */
struct flow_context {
	const struct flow_code *code;
	struct flow_machine *machine;
	const struct flow_instruction *instruction;
	flow_emit *emit;
	void *context;
};

void flow_machine_init(struct flow_machine *machine);
bool flow_machine_holds(const struct flow_machine *machine);

/* Keeps in `machine` only what `other` agrees on. True: something was lost. */
bool flow_machine_meet(struct flow_machine *machine, const struct flow_machine *other);

/* ---- values ---- */

bool flow_same(const struct flow_value *a, const struct flow_value *b);
struct flow_value flow_moved(struct flow_value value, int64_t distance);

/* Forgets the words of the frame that overlap these bytes. */
void flow_places_forget(struct flow_machine *machine, enum flow_value_kind base,
			int64_t displacement, uint64_t bytes);

/* Sets a word of the frame; VALUE_NONE forgets it. */
void flow_places_put(struct flow_machine *machine, enum flow_value_kind base, int64_t displacement,
		     const struct flow_value *value);

/* ---- operands ---- */

static inline bool flow_is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* Returns DWARF's number of a 64-bit register; FLOW_NONE: `name` is none. */
unsigned flow_number_of(ZydisRegister name);
/* The same for the 64-bit register that `name` is a part of. */
unsigned flow_number_of_part(ZydisRegister name);
unsigned flow_register_of(const ZydisDecodedOperand *operand);

/* Returns the number of xmm0 … xmm15; FLOW_NONE: the operand is none of them. */
unsigned flow_xmm_of(const ZydisDecodedOperand *operand);

/* Takes `number` for an address if the file can't be moved and it is one; else returns
 * VALUE_NONE. */
struct flow_value flow_number_value(const struct flow_context *step, uint64_t number);

struct flow_value flow_address_of(const struct flow_context *step,
				  const ZydisDecodedOperand *operand);
struct flow_value flow_load_at(const struct flow_context *step, const struct flow_value *address);

/* Returns a 64-bit operand's value. */
struct flow_value flow_value_of(const struct flow_context *step,
				const ZydisDecodedOperand *operand);

/* Writes an operand of any size; anything but 64 bits is forgotten. */
void flow_assign(const struct flow_context *step, const ZydisDecodedOperand *operand,
		 struct flow_value value);

/* Writes one word to the operand's address + `into`, and emits the fact it shows. */
void flow_store_word(const struct flow_context *step, const ZydisDecodedOperand *operand,
		     int64_t into, struct flow_value value);
void flow_forget_memory(const struct flow_context *step, const ZydisDecodedOperand *operand);
void flow_forget_register(struct flow_machine *machine, ZydisRegister name);

/* Returns a fact about the instruction, without the members that depend on its kind. */
struct flow_fact flow_fact_of(const struct flow_context *step, enum flow_kind kind);
void flow_emit_store(const struct flow_context *step, const ZydisDecodedOperand *operand,
		     const struct flow_value *address, int64_t into,
		     const struct flow_value *value);

#endif
