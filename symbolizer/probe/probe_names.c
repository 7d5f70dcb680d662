/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_names.c: see probe_names.h.
 *
 * A callback is a few instructions without a loop:
 *
 *     cmp $0x1,%esi
 *     sete %dl
 *     lea "InternalNode"(%rip),%rcx
 *     lea "blink::LayoutBlockFlow"(%rip),%rax
 *     cmove %rcx,%rax
 *     ret
 *
 * or asks the object: mov (%rdi),%rax; call *0x10(%rax). It is run with the second argument 0, like
 * a call; a dependence on an unknown value ends it without an answer. Run with 1 it returns the
 * placeholder, which identifies a type that has no other name.
 *
 * An object's answer is mostly a constant of its class: the class's own name, or that of the
 * JavaScript interface that it implements, from a structure that another virtual function returns.
 * With the class's vtable both are run in the same way. An element of the DOM composes its answer
 * (its tag, whether it is attached): there is no constant, and the type keeps its label.
 */
#include "probe_names.h"

#include <string.h>

enum { STEPS = 64, ALL_STEPS = 400, DEPTH = 4 };
enum { RAX = 0, RDX = 2, RSI = 6 };

struct names_run {
	struct flow_code code;
	struct eval eval;
	bool compared;  /* the flags are those of left - right, or of left & right */
	bool test;
	bool zero_only; /* only the zero flag is known */
	uint64_t left, right;
	unsigned bits;
	/* for an object with a known vtable */
	struct reloc_index *relocs;
	uint64_t vtable; /* 0: unknown */
	unsigned depth, *steps;
};

static struct eval_value constant(uint64_t value)
{
	return (struct eval_value){ .kind = EVAL_CONST, .at = value, .other = 0xff };
}

static void compare(struct names_run *run, const struct flow_instruction *in)
{
	struct eval_value left = eval_operand(&run->eval, in, &in->operands[0]),
			  right = eval_operand(&run->eval, in, &in->operands[1]);

	/* the object exists: a callback that finds its base class checks that */
	if (left.kind == EVAL_ARGUMENT && !left.at && in->decoded.mnemonic == ZYDIS_MNEMONIC_TEST &&
	    right.kind == EVAL_ARGUMENT)
		left = right = constant(1);
	run->compared = left.kind == EVAL_CONST && right.kind == EVAL_CONST;
	run->test = in->decoded.mnemonic == ZYDIS_MNEMONIC_TEST;
	run->zero_only = false;
	run->bits = in->operands[0].size;
	run->left = left.at;
	run->right = right.at;
}

/* Returns whether the condition holds; -1: unknown. */
static int holds(const struct names_run *run, ZydisMnemonic mnemonic)
{
	uint64_t sign = run->bits ? UINT64_C(1) << (run->bits - 1) : 0, mask = sign | (sign - 1);
	uint64_t left = run->left & mask, right = run->right & mask,
		 result = (run->test ? left & right : left - right) & mask;
	bool zero = !result, below = !run->test && left < right;
	bool less = run->test ? (result & sign) != 0 : (left ^ sign) < (right ^ sign);

	if (!run->compared || !sign)
		return -1;
	if (run->zero_only && mnemonic != ZYDIS_MNEMONIC_JZ && mnemonic != ZYDIS_MNEMONIC_SETZ &&
	    mnemonic != ZYDIS_MNEMONIC_CMOVZ && mnemonic != ZYDIS_MNEMONIC_JNZ &&
	    mnemonic != ZYDIS_MNEMONIC_SETNZ && mnemonic != ZYDIS_MNEMONIC_CMOVNZ)
		return -1;
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_JZ: case ZYDIS_MNEMONIC_SETZ: case ZYDIS_MNEMONIC_CMOVZ: return zero;
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_SETNZ:
	case ZYDIS_MNEMONIC_CMOVNZ:
		return !zero;
	case ZYDIS_MNEMONIC_JB: case ZYDIS_MNEMONIC_SETB: case ZYDIS_MNEMONIC_CMOVB: return below;
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_SETNB:
	case ZYDIS_MNEMONIC_CMOVNB:
		return !below;
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_SETBE:
	case ZYDIS_MNEMONIC_CMOVBE:
		return below || zero;
	case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_SETNBE:
	case ZYDIS_MNEMONIC_CMOVNBE:
		return !below && !zero;
	case ZYDIS_MNEMONIC_JL: case ZYDIS_MNEMONIC_SETL: case ZYDIS_MNEMONIC_CMOVL: return less;
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_SETNL:
	case ZYDIS_MNEMONIC_CMOVNL:
		return !less;
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_SETLE:
	case ZYDIS_MNEMONIC_CMOVLE:
		return less || zero;
	case ZYDIS_MNEMONIC_JNLE:
	case ZYDIS_MNEMONIC_SETNLE:
	case ZYDIS_MNEMONIC_CMOVNLE:
		return !less && !zero;
	default: return -1;
	}
}

/* Notes after arithmetic whether the result was zero. */
static void note_result(struct names_run *run, const struct flow_instruction *in)
{
	struct eval_value result = eval_operand(&run->eval, in, &in->operands[0]);

	run->compared =
		in->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && result.kind == EVAL_CONST;
	run->test = run->zero_only = true;
	run->bits = in->operands[0].size;
	run->left = run->right = result.at;
}

/* Runs one instruction that isn't a branch. False: its effect is unknown, and matters. */
static bool step(struct names_run *run, const struct flow_instruction *in)
{
	int to = in->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
			 ? eval_register(in->operands[0].reg.value)
			 : -1;
	struct eval_value value;
	int yes;

	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
		compare(run, in);
		return true;
	case ZYDIS_MNEMONIC_MOV: /* a byte: of the returned value only dl counts */
		value = eval_operand(&run->eval, in, &in->operands[1]);
		if (to < 0 || in->operands[0].size != 8 || value.kind != EVAL_CONST)
			break;
		run->eval.reg[to] = value;
		return true;
	default: break;
	}
	yes = holds(run, in->decoded.mnemonic);
	if (in->decoded.meta.category == ZYDIS_CATEGORY_SETCC) {
		if (yes < 0 || to < 0)
			return false;
		run->eval.reg[to] = constant((uint64_t)yes);
		return true;
	}
	if (in->decoded.meta.category == ZYDIS_CATEGORY_CMOV) {
		if (yes < 0 || to < 0)
			return false;
		if (yes)
			run->eval.reg[to] = eval_operand(&run->eval, in, &in->operands[1]);
		return true;
	}
	eval_step(&run->eval, in);
	/* instructions that don't change flags keep them */
	if (in->decoded.cpu_flags &&
	    (in->decoded.cpu_flags->modified | in->decoded.cpu_flags->undefined) & ZYDIS_CPUFLAG_ZF)
		note_result(run, in);
	return true;
}

enum end { END_RETURN, END_VIRTUAL, END_LOST };
static enum end run_to_end(struct names_run *run, uint64_t vaddr, uint32_t *vptr_at,
			   uint32_t *vtable_slot);

/* Returns the value that the loader writes into a word that is read-only afterwards; else
 * `value`. */
static struct eval_value settled(const struct names_run *run, struct eval_value value)
{
	if (run->relocs && value.kind == EVAL_LOADED && !value.add &&
	    binary_read_only(run->code.file, value.at)) {
		struct word word = reloc_word(run->relocs, value.at);

		if (word.kind == WORD_ADDRESS || word.kind == WORD_PLAIN)
			return constant(word.value);
	}
	return value;
}

/* Runs a called function whose argument is the object with the known vtable, and sets the
 * result. */
static bool ask(struct names_run *run, uint64_t vaddr)
{
	struct names_run inner = { .code = run->code,
				   .relocs = run->relocs,
				   .vtable = run->vtable,
				   .depth = run->depth + 1,
				   .steps = run->steps };
	uint32_t vptr_at, vtable_slot;

	if (inner.depth > DEPTH)
		return false;
	eval_init(&inner.eval, run->eval.world, true);
	if (run_to_end(&inner, vaddr, &vptr_at, &vtable_slot) != END_RETURN)
		return false;
	run->eval.reg[RAX] = settled(&inner, inner.eval.reg[RAX]);
	run->compared = false;
	return true;
}

/* Returns the function in a vtable's slot; 0: none. */
static uint64_t function_in(const struct eval_world *world, struct reloc_index *relocs,
			    uint64_t vaddr)
{
	struct word word = reloc_word(relocs, vaddr);

	/* PLAIN: in a file that is loaded at its own address */
	return (word.kind == WORD_ADDRESS || word.kind == WORD_PLAIN) &&
			       binary_flags(world->file, word.value) & PF_X
		       ? word.value
		       : 0;
}

/* Returns the target of a call or jump that passes on the known object; 0: it isn't such a call. */
static uint64_t asked(const struct names_run *run, const struct eval_value *address, bool direct,
		      uint64_t target)
{
	struct eval_value self = eval_argument(&run->eval, 0);

	if (!run->vtable || self.kind != EVAL_ARGUMENT || self.at || self.add || self.other != 0xff)
		return 0;
	if (direct)
		return target;
	if (address->kind != EVAL_MEMBER || address->at || address->add < 0 ||
	    address->add > UINT16_MAX)
		return 0;
	return function_in(run->eval.world, run->relocs, run->vtable + (uint64_t)address->add);
}

/* Runs from `vaddr` to the end, with the registers as they are, and leaves their values there. */
static enum end run_to_end(struct names_run *run, uint64_t vaddr, uint32_t *vptr_at,
			   uint32_t *vtable_slot)
{
	struct flow_instruction in;
	uint64_t target = 0;

	for (unsigned steps = 0; steps < STEPS && (!run->steps || (*run->steps)++ < ALL_STEPS) &&
				 flow_decode(&run->code, vaddr, &in);
	     steps++) {
		bool call = in.decoded.meta.category == ZYDIS_CATEGORY_CALL,
		     jump = in.decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		bool direct = in.decoded.operand_count_visible &&
			      in.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			      flow_address(&in, &in.operands[0], &target);
		struct eval_value address = { .kind = EVAL_UNKNOWN };

		vaddr = in.next;
		if ((call || jump) && in.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
			address = eval_address(&run->eval, &in, &in.operands[0]);
		if (in.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return END_RETURN;
		if (call || (jump && !direct)) {
			uint64_t function = asked(run, &address, direct, target);

			if (function) {
				if (!ask(run, function))
					return END_LOST;
				if (jump)
					return END_RETURN;
				continue;
			}
			if (address.kind != EVAL_MEMBER || address.at >> EVAL_MEMBER_SHIFT ||
			    address.add < 0 || address.add > UINT16_MAX)
				return END_LOST;
			*vptr_at = (uint32_t)address.at;
			*vtable_slot = (uint32_t)address.add;
			return END_VIRTUAL;
		}
		if (in.decoded.meta.category == ZYDIS_CATEGORY_COND_BR) {
			int yes = holds(run, in.decoded.mnemonic);

			if (yes < 0 || !direct)
				return END_LOST;
			vaddr = yes ? target : in.next;
		} else if (jump) {
			vaddr = target;
		} else if (in.decoded.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
			   in.decoded.mnemonic == ZYDIS_MNEMONIC_UD2 || !step(run, &in)) {
			return END_LOST;
		}
		run->eval.reg[RAX] = settled(run, run->eval.reg[RAX]);
	}
	return END_LOST;
}

/* Returns the text at a constant address, if it could be a type's: printable, not empty; else
 * NULL. */
static const char *text_at(const struct eval_world *world, const struct eval_value *value)
{
	const char *text = value->kind == EVAL_CONST && binary_read_only(world->file, value->at)
				   ? binary_string(world->file, value->at, PROBE_NAME_MAX)
				   : NULL;

	for (const char *c = text; c && *c; c++)
		if (*c < ' ' || *c > '~')
			return NULL;
	return text && *text ? text : NULL;
}

struct callback_name callback_name(const struct eval_world *world, uint64_t vaddr)
{
	struct callback_name name = { .naming = SHINY_PROBE_NAME_NONE };

	for (unsigned hide = 0; hide < 2; hide++) {
		struct names_run run = { .code = { .file = world->file } };
		enum end end;
		const char *text;
		bool hidden;

		eval_init(&run.eval, world, true);
		run.eval.reg[RSI] = constant(hide);
		end = run_to_end(&run, vaddr, &name.vptr_at, &name.vtable_slot);
		if (end == END_VIRTUAL && !hide)
			name.naming = SHINY_PROBE_NAME_VIRTUAL;
		if (end != END_RETURN)
			continue;
		text = text_at(world, &run.eval.reg[RAX]);
		hidden = run.eval.reg[RDX].kind != EVAL_CONST || (run.eval.reg[RDX].at & 0xff);
		if (hide && hidden) {
			name.hidden = text;
		} else if (!hide && text && !hidden) {
			name.naming = SHINY_PROBE_NAME_STATIC;
			name.name = text;
		} else if (!hide) {
			name.hidden = text;
		}
	}
	return name;
}

const char *vtable_name_by(const struct eval_world *world, struct reloc_index *relocs,
			   uint64_t vtable, uint64_t vaddr)
{
	unsigned steps = 0;
	struct names_run run = {
		.code = { .file = world->file }, .relocs = relocs, .vtable = vtable, .steps = &steps
	};

	eval_init(&run.eval, world, true);
	return ask(&run, vaddr) ? text_at(world, &run.eval.reg[RAX]) : NULL;
}

const char *vtable_name(const struct eval_world *world, struct reloc_index *relocs, uint64_t vtable,
			uint32_t slot)
{
	uint64_t function = function_in(world, relocs, vtable + slot);

	return function ? vtable_name_by(world, relocs, vtable, function) : NULL;
}
