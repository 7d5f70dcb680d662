/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.c: whether a function hands a block on to its caller as it got it (sym_call_passes).
 *
 * In both cases the machine code has to show that the pointer is returned. Where there is debug
 * information, the declaration decides: a wrapper is told a size, and returns void *. Without it,
 * the code must do nothing else with the block: a function that writes a member, or gives the block
 * to an initializer, is a constructor, however many call it; and only calls from many places for
 * blocks of many sizes show that it is told a size, which the caller of this module knows.
 */
#include <dwarf.h>
#include <string.h>

#include "dwarf/debug_scopes.h"
#include "dwarf/die_type.h"
#include "elf/eh_table.h"
#include "flow/flow.h"
#include "module.h"

enum {
	SCOPES = 32,
	HEADER_MAX = 64, /* bytes: a size, a tag, room for alignment */
};

/* The function around a return address. */
struct wrapper_function {
	struct debug_scope scopes[SCOPES];
	size_t scope_count; /* 0: no debug information */
	uint64_t low, high;
	uint64_t other_low, other_high; /* its cold part */
};

static bool bounds_of(struct sym_module *module, uint64_t vaddr, uint64_t *low, uint64_t *high)
{
	const struct symbol *symbol = symbols_find(&module_symbols(module)->functions, vaddr);

	if (symbol && symbol->size) {
		*low = symbol->value;
		*high = symbol->value + symbol->size;
		return true;
	}
	return eh_table_find(&module->file, vaddr, low, high);
}

bool sym_call_function(const struct sym_call *call, uint64_t *low)
{
	uint64_t high;

	return call->module && call->module->info.state == SYM_OK && call->vaddr &&
	       bounds_of(call->module, call->vaddr - 1, low, &high);
}

/* A block that is cleared, or asked for its size, is as good as new. One that is filled, by memcpy
 * or strcpy, is what the function made. */
static bool leaves_new(const char *callee)
{
	size_t length = callee ? strlen(callee) : 0;

	return length >= 4 &&
	       (strcmp(callee, "memset") == 0 || strcmp(callee, "__memset_chk") == 0 ||
		strcmp(callee, "bzero") == 0 || strcmp(callee + length - 4, "size") == 0 ||
		strcmp(callee + length - 4, "Size") == 0);
}

/* One of its parameters may be a size. */
static bool takes_size(struct debug_units *units, Dwarf_Die *function)
{
	struct die_type type;
	Dwarf_Die child;

	if (dwarf_child(function, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    die_type_of(units, &child, &type) && type.kind == DIE_BASE && type.bytes >= 4)
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* It is declared as wrappers are: void *f(…, size_t, …). */
static bool declared_so(struct debug_units *units, const struct wrapper_function *f)
{
	struct die_type type, target;
	Dwarf_Die die = f->scopes[f->scope_count - 1].die;

	return die_type_of(units, &die, &type) && type.kind == DIE_POINTER &&
	       die_type_target(units, &type, &target) && target.kind == DIE_VOID &&
	       takes_size(units, &die);
}

/* What is returned is the block, perhaps behind a header of the wrapper's own. */
static bool code_passes(const struct flow *flow, bool declared)
{
	int64_t header = -1;

	for (size_t i = 0; i < flow->fact_count; i++) {
		const struct flow_fact *fact = &flow->facts[i];

		if (fact->kind == FLOW_RETURN) {
			if (fact->offset < 0 || fact->offset > HEADER_MAX ||
			    (header >= 0 && header != fact->offset))
				return false;
			header = fact->offset;
		}
		if (declared)
			continue;
		if (fact->kind == FLOW_VTABLE || fact->kind == FLOW_LOST)
			return false;
		if ((fact->kind == FLOW_CALL || fact->kind == FLOW_JUMP) &&
		    !leaves_new(fact->callee.symbol))
			return false;
		if (fact->kind == FLOW_STORE && fact->base != FLOW_RSP && fact->base != FLOW_RBP)
			return false;
	}
	return header >= 0 && (declared || flow->written < header);
}

const char *sym_wrapper_rule(const struct sym *sym, size_t index)
{
	return container_rules_wrapper(sym->rules, index);
}

static enum sym_passes work_out(struct sym_module *module, uint64_t ret)
{
	struct wrapper_function f = { 0 };
	struct flow_code code;
	struct debug_units *units;
	struct flow flow;
	bool passes, known;

	if (ret < 2 || !bounds_of(module, ret - 1, &f.low, &f.high) || f.high <= ret)
		return SYM_PASSES_NOT;
	units = module_units(module);
	if (units) {
		debug_units_hold(units, true);
		f.scope_count = debug_scopes_at(units, ret - 1, f.scopes, SCOPES);
		if (f.scope_count)
			debug_scopes_other_part(&f.scopes[f.scope_count - 1], &f.other_low,
						&f.other_high);
	}
	known = f.scope_count != 0;
	passes = !known || declared_so(units, &f);
	code = (struct flow_code){ &module->file, &module->relocs, module_symbols(module) };
	if (passes) {
		passes = flow_follow(&code, ret, f.low, f.high, f.other_low, f.other_high,
				     &flow) &&
			 code_passes(&flow, known);
		flow_deinit(&flow);
	}
	if (units)
		debug_units_hold(units, false);
	return !passes ? SYM_PASSES_NOT : known ? SYM_PASSES_DECLARED : SYM_PASSES_CODE;
}

/* Where there is debug information it decides, and parts of it may come and go while the file stays
 * the same (stack_types.c): then nothing is kept. */
enum sym_passes sym_call_passes(const struct sym_call *call)
{
	struct sym_module *module = call->module;
	struct type_cache *cache;
	enum sym_passes passes;

	if (!module || module->info.state != SYM_OK)
		return SYM_PASSES_NOT;
	if (module_units(module))
		return work_out(module, call->vaddr);
	cache = module_types(module);
	if (type_cache_passes(cache, call->vaddr, &passes))
		return passes;
	passes = work_out(module, call->vaddr);
	type_cache_put_passes(cache, call->vaddr, passes);
	return passes;
}
