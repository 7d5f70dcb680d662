/* SPDX-License-Identifier: Apache-2.0 */
/* probe_walk.c: see probe_walk.h. */
#include "probe_walk.h"

#include <string.h>

enum { STEPS = 4000, WAY_STEPS = 200, WORD = 8 };

static void note_store(struct walk_way *way, const struct flow_instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0], *from = &in->operands[1];
	struct walk_store stored = { .address = eval_address(&way->eval, in, to),
				     .bytes = to->size / 8 };
	struct eval_value high = { .kind = EVAL_UNKNOWN };
	int vector = from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				     from->reg.value >= ZYDIS_REGISTER_XMM0 &&
				     from->reg.value <= ZYDIS_REGISTER_XMM15
			     ? (int)(from->reg.value - ZYDIS_REGISTER_XMM0)
			     : -1;

	if (vector >= 0) {
		stored.value = way->eval.low[vector];
		high = way->eval.high[vector];
		stored.bytes = WORD;
	} else {
		stored.value = eval_operand(&way->eval, in, from);
	}
	for (unsigned half = 0; half < (to->size == 128 && vector >= 0 ? 2 : 1); half++) {
		if (half) {
			stored.value = high;
			stored.address.add += WORD;
		}
		/* an older store to the same place is overwritten */
		for (unsigned i = 0; i < way->store_count; i++)
			if (way->stores[i].address.kind == stored.address.kind &&
			    way->stores[i].address.at == stored.address.at &&
			    way->stores[i].address.add == stored.address.add)
				way->stores[i] = way->stores[--way->store_count];
		if (way->store_count < WALK_STORES)
			way->stores[way->store_count++] = stored;
	}
}

bool walk_is_store(const struct flow_instruction *in)
{
	return in->decoded.operand_count_visible == 2 &&
	       in->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       in->operands[0].actions == ZYDIS_OPERAND_ACTION_WRITE;
}

static void note_limit(struct walk_way *way, const struct flow_instruction *in)
{
	struct eval_value value, limit;

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CMP)
		return;
	value = eval_operand(&way->eval, in, &in->operands[0]);
	limit = eval_operand(&way->eval, in, &in->operands[1]);
	if (value.kind == EVAL_ARGUMENT && !value.shift && !value.add && value.other == 0xff &&
	    limit.kind == EVAL_CONST && limit.at > 1 && limit.at <= UINT16_MAX &&
	    !(limit.at & (limit.at - 1)))
		way->limits[value.at] = (uint16_t)limit.at;
}

/* Notes the first argument to which 8 to 31 is added, by lea or add: header and rounding. */
static void note_overhead(struct walk_way *way)
{
	for (unsigned r = 0; !way->overhead && r < EVAL_REGISTERS; r++) {
		const struct eval_value *value = &way->eval.reg[r];

		if (value->kind == EVAL_ARGUMENT && !value->shift && value->add >= 8 &&
		    value->add < 32) {
			way->sized = (uint8_t)value->at;
			way->overhead = (uint8_t)value->add;
		}
	}
}

bool walk_function(struct walker *walker, const struct eval_world *world, uint64_t vaddr,
		   walk_fn *at_return, walk_fn *at_call, void *context)
{
	struct flow_instruction in;
	uint64_t target;

	walker->code = (struct flow_code){ .file = world->file };
	walker->steps = 0;
	walker->arm_count = 1;
	memset(&walker->arms[0], 0, sizeof(walker->arms[0]));
	walker->arms[0].vaddr = vaddr;
	eval_init(&walker->arms[0].eval, world, true);
	while (walker->arm_count) {
		struct walk_way way = walker->arms[--walker->arm_count];
		bool on = true;

		/* after a call that never returns another function follows: the length of a way is
		 * limited */
		while (on && walker->steps++ < STEPS && way.steps++ < WAY_STEPS &&
		       flow_decode(&walker->code, way.vaddr, &in)) {
			bool direct = in.decoded.operand_count_visible &&
				      in.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				      flow_address(&in, &in.operands[0], &target);

			way.vaddr = in.next;
			switch (in.decoded.meta.category) {
			case ZYDIS_CATEGORY_RET:
				if (at_return && at_return(&way, &in, context))
					return true;
				on = false;
				break;
			case ZYDIS_CATEGORY_CALL:
				if (at_call && at_call(&way, &in, context))
					return true;
				eval_step(&way.eval, &in);
				break;
			case ZYDIS_CATEGORY_COND_BR:
				/* a backward branch would be a loop */
				if (direct && target > in.vaddr && walker->arm_count < WALK_ARMS) {
					walker->arms[walker->arm_count] = way;
					walker->arms[walker->arm_count++].vaddr = target;
				}
				break;
			case ZYDIS_CATEGORY_UNCOND_BR:
				if (!direct && at_call && at_call(&way, &in, context))
					return true;
				on = direct;
				way.vaddr = direct ? target : 0;
				break;
			case ZYDIS_CATEGORY_INTERRUPT:
				on = false;
				break;
			default:
				if (in.decoded.mnemonic == ZYDIS_MNEMONIC_UD2) {
					on = false;
					break;
				}
				note_limit(&way, &in);
				if (walk_is_store(&in))
					note_store(&way, &in);
				eval_step(&way.eval, &in);
				note_overhead(&way);
			}
		}
	}
	return false;
}
