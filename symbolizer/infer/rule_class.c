/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_class.c: the actual type of a polymorphic variable of Fortran's.
 *
 * class(shape), allocatable :: s is a struct: _data, a pointer to the declared type (or an array's
 * descriptor), and _vptr, the address of a static object that describes the actual type. gfortran
 * names that object __vtab_MODULE_Type; its member _def_init points at the type. `allocate (circle
 * :: s)` uses its address after the call that allocates. The first one there counts if its type
 * extends the declared one.
 */
#include <string.h>

#include "../dwarf/debug_definitions.h"
#include "../dwarf/die.h"
#include "../dwarf/die_members.h"
#include "../flow/flow_code.h"
#include "rule.h"

enum { LOOK_MAX = 64, DEF_INIT = 24 };

bool rule_class_data(Dwarf_Die *container, const char *member)
{
	return member && !strcmp(member, "_data") && die_is_fortran(container);
}

/* Finds the type that the static object at `address` describes. False: it describes none. */
static bool described(struct rule_work *work, uint64_t address, struct die_type *out)
{
	struct debug_variable table;
	struct die_type type, pointer;
	const char *name;

	return debug_definitions_global(work->reader->units, address, &table) && table.name &&
	       !strncmp(table.name, "__vtab_", 7) &&
	       (uint64_t)table.displacement == address &&
	       die_type(work->reader->units, &table.type, &type) && type.kind == DIE_CLASS &&
	       die_members_at(work->reader->units, &type, DEF_INIT, &pointer, &name) &&
	       !strcmp(name, "_def_init") &&
	       die_type_target(work->reader->units, &pointer, out) && out->kind == DIE_CLASS;
}

static bool extends(struct rule_work *work, const struct die_type *type,
		    const struct die_type *declared)
{
	const char *leading[SITE_LEADING];
	size_t count = die_members_leading(work->reader->units, type, leading, SITE_LEADING);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(leading[i], declared->name))
			return true;
	return declared->kind == DIE_VOID || !strcmp(type->name, declared->name);
}

bool rule_class_actual(struct rule_work *work, const struct die_type *declared,
		       struct die_type *out)
{
	struct flow_instruction at;
	uint64_t vaddr = work->ret;

	for (unsigned i = 0; i < LOOK_MAX && vaddr < work->high; i++, vaddr = at.next) {
		uint64_t target;

		if (!flow_decode(&work->reader->code, vaddr, &at))
			return false;
		/* the code after another allocation belongs to the next block */
		if (at.decoded.meta.category == ZYDIS_CATEGORY_CALL &&
		    flow_address(&at, &at.operands[0], &target) &&
		    rule_is_entry(flow_callee_at(&work->reader->code, target).symbol))
			return false;
		for (unsigned o = 0; o < at.decoded.operand_count_visible; o++) {
			const ZydisDecodedOperand *operand = &at.operands[o];
			uint64_t address;

			if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
				address = operand->imm.value.u;
			else if (at.decoded.mnemonic != ZYDIS_MNEMONIC_LEA ||
				 !flow_address(&at, operand, &address))
				continue;
			if (address && described(work, address, out))
				return extends(work, out, declared);
		}
	}
	return false;
}
