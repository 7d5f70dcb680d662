/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_vtables.c: see probe_vtables.h.
 *
 *     call allocate
 *     mov  %rax,%r14
 *     lea  vtable of the base(%rip),%rax
 *     mov  %rax,(%r14)          constructors store the vtables of bases first, then their
 *                               class's own: the last one counts
 *     mov  %r14,%rdi
 *     call constructor          … which may do so in turn
 *     orw  $0x8000,-4(%r14)     the object is finished
 *
 * Only the way straight on is walked: slow paths and checks leave it.
 */
#include "probe_vtables.h"

enum { STEPS = 160, DEPTH = 3, ALL_STEPS = 1200 };

struct vtables_search {
	struct flow_code code;
	const struct eval_world *world;
	uint32_t vptr_at, header_at;
	unsigned steps;
	uint64_t vtable;
	bool finished;
};

static bool is_object(const struct eval_value *value)
{
	return value->kind == EVAL_ARGUMENT && value->at == 0 && value->other == 0xff &&
	       !value->shift;
}

static void see_write(struct vtables_search *s, const struct eval *eval,
		      const struct flow_instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0], *from = &in->operands[1];
	struct eval_value address, value;

	if (in->decoded.operand_count_visible != 2 || to->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	address = eval_address(eval, in, to);
	if (!is_object(&address))
		return;
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_OR && address.add == -(int64_t)s->header_at)
		s->finished = true;
	if (address.add != s->vptr_at || to->size < 64)
		return;
	value = eval_operand(eval, in, from);
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER && from->reg.value >= ZYDIS_REGISTER_XMM0 &&
	    from->reg.value <= ZYDIS_REGISTER_XMM15)
		value = eval->low[from->reg.value - ZYDIS_REGISTER_XMM0];
	s->vtable = value.kind == EVAL_CONST ? value.at : 0;
}

static void follow(struct vtables_search *s, struct eval *eval, uint64_t vaddr, unsigned depth)
{
	struct flow_instruction in;

	for (unsigned step = 0; step < STEPS && s->steps < ALL_STEPS && !s->finished &&
				flow_decode(&s->code, vaddr, &in);
	     step++, s->steps++) {
		uint64_t target;
		bool direct = in.decoded.operand_count_visible &&
			      in.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			      flow_address(&in, &in.operands[0], &target);
		struct eval_value first = eval_argument(eval, 0);

		vaddr = in.next;
		switch (in.decoded.meta.category) {
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_INTERRUPT: return;
		case ZYDIS_CATEGORY_CALL:
			/* a constructor of the object or, if the vptr isn't at its start, of the
			 * part that has it */
			if (direct && depth < DEPTH && is_object(&first) && first.add >= 0 &&
			    first.add <= s->vptr_at) {
				struct vtables_search inner = *s;
				struct eval callee;

				eval_init(&callee, s->world, true);
				inner.vptr_at = s->vptr_at - (uint32_t)first.add;
				inner.header_at = UINT32_MAX; /* only the outermost function
				                               * finishes the object */
				inner.vtable = 0;
				follow(&inner, &callee, target, depth + 1);
				s->steps = inner.steps;
				if (inner.vtable)
					s->vtable = inner.vtable;
			}
			eval_step(eval, &in);
			break;
		case ZYDIS_CATEGORY_UNCOND_BR:
			if (!direct)
				return;
			vaddr = target;
			break;
		case ZYDIS_CATEGORY_COND_BR: break;
		default:
			see_write(s, eval, &in);
			eval_step(eval, &in);
		}
	}
}

uint64_t site_vtable(const struct eval_world *world, uint64_t vaddr, uint32_t vptr_at,
		     uint32_t header_at)
{
	struct vtables_search search = { .code = { .file = world->file },
					 .world = world,
					 .vptr_at = vptr_at,
					 .header_at = header_at };
	struct eval eval;

	eval_init(&eval, world, false);
	eval.reg[0] = (struct eval_value){ .kind = EVAL_ARGUMENT, .other = 0xff };
	follow(&search, &eval, vaddr, 0);
	return search.vtable;
}
