/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_entries.c: see probe_entries.h.
 *
 * The function that creates an object gets it from a free-list of its size's space, and the part
 * that matters is the same in all versions and compilers: a pointer P is loaded from somewhere; a
 * combination of the size and of the index is stored near it; P + 8 is returned.
 *
 *     add   $0xf,%rsi         the size, header and rounding added
 *     …
 *     mov   0x40(%r9),%rax    P
 *     …
 *     shl   $0x20,%rcx        the index, 32 bits up
 *     shl   $0x2e,%rsi        the size
 *     or    %rcx,%rsi
 *     mov   %rsi,(%rax)       both at P + 0: so the index is in the 16 bits at P + 4,
 *                             which is 4 before …
 *     add   $0x8,%rax
 *     ret                     … the returned object
 *
 * Version 150 stores 16 bits at P + 4, and node's V8 (2023) stores them shifted by two. So nothing
 * of this is assumed: the path is walked with the arguments as symbols, which gives header_at and
 * header_shift. Both arms of each branch are tried, the one that goes straight on first: slow paths
 * and failed checks leave by calls that don't return P.
 */
#include "probe_entries.h"

#include "probe_walk.h"

enum { WORD = 8 };
enum { RAX = 0 };

/* ---- allocation ---- */

/* True if the stored word contains argument `argument`, `shift` bits up. */
static bool part_of(const struct eval_value *value, unsigned argument, unsigned *shift)
{
	if (value->kind != EVAL_ARGUMENT)
		return false;
	if (value->at == argument) {
		*shift = value->shift;
		return true;
	}
	*shift = value->other_shift;
	return value->other == argument;
}

static bool returns_object(const struct walk_way *way, const struct flow_instruction *in,
			   void *context)
{
	struct entry_allocates *out = context;
	const struct eval_value *object = &way->eval.reg[RAX];
	uint8_t found = ENTRY_NONE;

	if (object->kind != EVAL_UNKNOWN || !way->overhead)
		return false;
	for (unsigned i = 0; i < way->store_count; i++) {
		const struct walk_store *stored = &way->stores[i];
		/* bytes from the stored word to the object */
		int64_t before = object->add - stored->address.add;
		unsigned shift;

		if (stored->address.kind != EVAL_UNKNOWN || stored->address.at != object->at ||
		    before < 1 || before > 16)
			continue;
		for (uint8_t argument = 1; argument < EVAL_ARGUMENTS; argument++) {
			int64_t bits;

			if (argument == way->sized || !part_of(&stored->value, argument, &shift) ||
			    shift + 14 > stored->bytes * 8)
				continue;
			if (found != ENTRY_NONE && found != argument)
				return false;
			found = argument;
			bits = before * 8 - shift;
			out->header_at = (uint16_t)((bits + 15) / 16 * 2);
			out->header_shift = (uint16_t)(out->header_at * 8 - bits);
		}
	}
	if (found == ENTRY_NONE)
		return false;
	out->index = found;
	out->size = way->sized;
	out->used = way->eval.used;
	out->limit = way->limits[found];
	out->overhead = way->overhead;
	return true;
}

bool entry_allocates(const struct eval_world *world, uint64_t vaddr, struct entry_allocates *out)
{
	struct entry_allocates found = { 0 };
	struct walker walker;

	if (!walk_function(&walker, world, vaddr, returns_object, NULL, &found))
		return false;
	*out = found;
	return true;
}

/* ---- registration ---- */

struct registering {
	struct entry_registers out;
	uint64_t call; /* address of the call of the inner function; 0: not seen */
};

static bool passes_info(const struct walk_way *way, const struct flow_instruction *in,
			void *context)
{
	struct registering *found = context;
	struct eval_value table = eval_argument(&way->eval, 0), slot = eval_argument(&way->eval, 1),
			  info = eval_argument(&way->eval, 2);
	uint8_t words[3] = { ENTRY_NONE, ENTRY_NONE, ENTRY_NONE };
	uint64_t inner;

	if (table.kind != EVAL_LOADED || table.add || slot.kind != EVAL_ARGUMENT || slot.add ||
	    info.kind != EVAL_UNKNOWN || in->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !flow_address(in, &in->operands[0], &inner))
		return false;
	for (unsigned i = 0; i < way->store_count; i++) {
		const struct walk_store *stored = &way->stores[i];
		int64_t at = stored->address.add - info.add;

		if (stored->address.kind == EVAL_UNKNOWN && stored->address.at == info.at &&
		    at >= 0 && at < 3 * WORD && at % WORD == 0 &&
		    stored->value.kind == EVAL_ARGUMENT && !stored->value.add &&
		    !stored->value.shift)
			words[at / WORD] = (uint8_t)stored->value.at;
	}
	/* every type has a trace function; finalizer and name may be missing */
	if (words[1] == ENTRY_NONE)
		return false;
	found->out = (struct entry_registers){ .slot = (uint8_t)slot.at,
					       .finalizer = words[0],
					       .trace = words[1],
					       .name = words[2],
					       .global = table.at,
					       .inner = inner,
					       .finalizer_at = 0,
					       .trace_at = WORD,
					       .name_at = 2 * WORD };
	found->call = in->vaddr;
	return false; /* returns_index() checks what it does with the result */
}

static bool returns_index(const struct walk_way *way, const struct flow_instruction *in,
			  void *context)
{
	const struct registering *found = context;
	const struct eval_value *result = &way->eval.reg[RAX];

	return found->call && result->kind == EVAL_UNKNOWN && result->at == found->call &&
	       !result->add;
}

bool entry_registers(const struct eval_world *world, uint64_t vaddr, struct entry_registers *out)
{
	struct registering found = { .call = 0 };
	struct walker walker;

	if (!walk_function(&walker, world, vaddr, returns_index, passes_info, &found))
		return false;
	*out = found.out;
	return true;
}

/*
 * The inner function reads the array's address from its first argument, shifts the new index left
 * by log2 of a GCInfo's size, and copies the GCInfo there. It locks first and may grow the array,
 * so it isn't walked but read from top to bottom.
 */
bool entry_table(const struct eval_world *world, uint64_t vaddr, struct entry_table *out)
{
	struct flow_code code = { .file = world->file };
	struct flow_instruction in;
	struct entry_table found = { 0 };
	int loaded = -1, scaled = -1;
	unsigned shift = 0;

	for (unsigned step = 0, aside = 0; step < 160 && flow_decode(&code, vaddr, &in);
	     step++, vaddr = in.next) {
		const ZydisDecodedOperand *to = &in.operands[0], *from = &in.operands[1];

		/* after the last return only padding follows */
		aside = in.decoded.mnemonic == ZYDIS_MNEMONIC_INT3 ? aside + 1 : 0;
		if (aside > 1)
			break;
		if (in.decoded.mnemonic == ZYDIS_MNEMONIC_CMP &&
		    from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && from->imm.value.u > 255 &&
		    from->imm.value.u <= UINT16_MAX &&
		    !(from->imm.value.u & (from->imm.value.u - 1)) && !found.limit)
			found.limit = (uint16_t)from->imm.value.u;
		if (walk_is_store(&in) && to->mem.index != ZYDIS_REGISTER_NONE &&
		    to->mem.scale == 1 && !to->mem.disp.value &&
		    ((eval_register(to->mem.base) == loaded &&
		      eval_register(to->mem.index) == scaled) ||
		     (eval_register(to->mem.base) == scaled &&
		      eval_register(to->mem.index) == loaded)) &&
		    shift) {
			found.info_bytes = 1u << shift;
			*out = found;
			return true;
		}
		if (in.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size == 64 &&
		    from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    from->mem.base != ZYDIS_REGISTER_RIP &&
		    from->mem.index == ZYDIS_REGISTER_NONE && from->mem.disp.value >= 0) {
			loaded = eval_register(to->reg.value);
			found.array_at = (uint32_t)from->mem.disp.value;
		} else if (in.decoded.mnemonic == ZYDIS_MNEMONIC_SHL &&
			   to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && from->imm.value.u > 2 &&
			   from->imm.value.u < 12) {
			scaled = eval_register(to->reg.value);
			shift = (unsigned)from->imm.value.u;
		}
	}
	return false;
}
