/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_variables.c: where variables live at an address.
 *
 * A place is a register, memory at a register, or a static address: what code can be seen to write to. Whatever else DWARF can say (a
 * value computed from others, one in pieces, the value at the function's entry, thread-local storage) is no place, and the variable is
 * left out. A frame base is resolved at the address asked for: DW_OP_call_frame_cfa by the call frame information, of .eh_frame or of
 * .debug_frame, into rsp or rbp plus a displacement, which is what the instructions there use.
 *
 * Variables of a function are found by going through its children, down into the lexical blocks that cover the address; nothing is
 * kept.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_unit.h"

#define BLOCKS_MAX 32
#define CHILDREN_MAX (1u << 20)
#define REGISTERS 17 /* x86-64's general ones and the return address */

/* The frame of one function at one address; the base is worked out when the first variable needs it. */
struct frame {
	uint64_t vaddr;
	Dwarf_Die function;
	bool tried, known;
	unsigned reg;
	int64_t displacement;
};

/* The base of the frame: rsp or rbp plus a displacement. */
static bool frame_address(struct dwarf_units *units, uint64_t vaddr, unsigned *reg, int64_t *displacement)
{
	if (!units->code_tried) {
		units->code_tried = true;
		elf_version(EV_CURRENT);
		/* libelf takes memory that it may write to, and for a file of our byte order doesn't */
		units->code = elf_memory((char *)units->file->data, units->file->bytes);
	}
	for (int i = 0; i < 2; i++) {
		Dwarf_CFI *cfi = i ? dwarf_getcfi(units->dwarf) : units->code ? dwarf_getcfi_elf(units->code) : NULL;
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count = 0;
		bool known = false;

		if (!cfi || dwarf_cfi_addrframe(cfi, vaddr, &frame))
			continue;
		if (!dwarf_frame_cfa(frame, &ops, &count) && count == 1) {
			if (ops[0].atom == DW_OP_bregx) {
				*reg = (unsigned)ops[0].number;
				*displacement = (int64_t)ops[0].number2;
				known = true;
			} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
				*reg = ops[0].atom - DW_OP_breg0;
				*displacement = (int64_t)ops[0].number;
				known = true;
			}
		}
		free(frame);
		if (known)
			return *reg == 6 || *reg == 7;
	}
	return false;
}

static void find_base(struct dwarf_units *units, struct frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	frame->tried = true;
	if (!dwarf_attr_integrate(&frame->function, DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, frame->vaddr, &ops, &count, 1) != 1 || count != 1)
		return;
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		frame->known = frame_address(units, frame->vaddr, &frame->reg, &frame->displacement);
	} else if (ops[0].atom == DW_OP_reg6 || ops[0].atom == DW_OP_reg7) {
		frame->known = true; /* clang: the register's value is the base */
		frame->reg = ops[0].atom - DW_OP_reg0;
	} else if (ops[0].atom == DW_OP_breg6 || ops[0].atom == DW_OP_breg7) {
		frame->known = true; /* older gcc: a list with a piece for each stage of the prologue */
		frame->reg = ops[0].atom - DW_OP_breg0;
		frame->displacement = (int64_t)ops[0].number;
	}
}

/* Reads a location of one operation. `frame` NULL: static places only. */
static bool place_of(struct dwarf_units *units, Dwarf_Attribute *attribute, struct frame *frame, struct dwarf_variable *out)
{
	Dwarf_Attribute indexed;
	Dwarf_Addr address;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_getlocation_addr(attribute, frame ? frame->vaddr : 0, &ops, &count, 1) != 1 || count != 1)
		return false;

	const Dwarf_Op *op = &ops[0];

	if (op->atom == DW_OP_addr || op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		address = op->number;
		if (op->atom != DW_OP_addr && (dwarf_getlocation_attr(attribute, op, &indexed) || dwarf_formaddr(&indexed, &address)))
			return false;
		out->place = DWARF_PLACE_STATIC;
		out->displacement = (int64_t)address;
		return true;
	}
	if (!frame)
		return false;
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		out->place = DWARF_PLACE_REGISTER;
		out->reg = op->atom - DW_OP_reg0;
	} else if (op->atom == DW_OP_regx) {
		out->place = DWARF_PLACE_REGISTER;
		out->reg = (unsigned)op->number;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		out->place = DWARF_PLACE_MEMORY;
		out->reg = op->atom - DW_OP_breg0;
		out->displacement = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		out->place = DWARF_PLACE_MEMORY;
		out->reg = (unsigned)op->number;
		out->displacement = (int64_t)op->number2;
	} else if (op->atom == DW_OP_fbreg) {
		if (!frame->tried)
			find_base(units, frame);
		out->place = DWARF_PLACE_MEMORY;
		out->reg = frame->reg;
		out->displacement = (int64_t)((uint64_t)frame->displacement + op->number);
		if (!frame->known)
			return false;
	} else {
		return false;
	}
	return out->reg < REGISTERS;
}

/* Fills `out` but for its place. */
static bool describe(struct dwarf_units *units, Dwarf_Die *die, struct dwarf_variable *out)
{
	Dwarf_Attribute attribute;
	const char *name;

	*out = (struct dwarf_variable){ .die = *die, .parameter = dwarf_tag(die) == DW_TAG_formal_parameter };
	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &out->type))
		return false;
	name = dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute) : NULL;
	out->name = name ? names_text(units->names, name) : NULL;
	return true;
}

struct found {
	struct dwarf_variable *at;
	size_t count, room;
};

/* The variables among the children of a scope or block, and those of the blocks in it. */
static void collect(struct dwarf_units *units, Dwarf_Die *around, struct frame *frame, unsigned depth, unsigned nest, struct found *found)
{
	Dwarf_Attribute attribute;
	struct dwarf_variable variable;
	Dwarf_Die child;
	unsigned count = 0;

	if (nest > BLOCKS_MAX || dwarf_child(around, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_lexical_block) {
			if (dwarf_haspc(&child, frame->vaddr) > 0)
				collect(units, &child, frame, depth, nest + 1, found);
		} else if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && found->count < found->room &&
			   dwarf_attr_integrate(&child, DW_AT_location, &attribute) && describe(units, &child, &variable) &&
			   place_of(units, &attribute, frame, &variable)) {
			variable.depth = depth;
			found->at[found->count++] = variable;
		}
	} while (++count < CHILDREN_MAX && die_next(&child));
}

size_t dwarf_units_variables(struct dwarf_units *units, uint64_t vaddr, struct dwarf_variable *out, size_t room)
{
	struct found found = { .at = out, .room = room };
	struct frame frame = { .vaddr = vaddr };
	const struct range *range;
	struct unit *unit;
	struct scope *scope = dwarf_units_ready(units) ? dwarf_scope_at(units, vaddr, &unit, &range) : NULL, *outer = scope;

	if (!scope)
		return 0;
	/* the physical function has the frame */
	for (unsigned hops = 0; outer->parent != NO_SCOPE && hops < DWARF_DEPTH_MAX; hops++)
		outer = &unit->scopes[outer->parent];
	frame.function = outer->die;
	for (unsigned depth = 0; depth < DWARF_DEPTH_MAX; depth++) {
		collect(units, &scope->die, &frame, depth, 0, &found);
		if (scope->parent == NO_SCOPE)
			break;
		scope = &unit->scopes[scope->parent];
	}
	return found.count;
}

bool dwarf_static_variable(struct dwarf_units *units, Dwarf_Die *die, struct dwarf_variable *out)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, DW_AT_location, &attribute) && describe(units, die, out) && place_of(units, &attribute, NULL, out);
}
