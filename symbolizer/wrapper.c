/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.c: decides whether a function returns a block unchanged to its caller (sym_call_passes).
 *
 * With or without debug information, the machine code has to show that the pointer is returned and
 * that nothing was written into the block, except a header before the returned address. With debug
 * information, the declaration decides: a wrapper takes a size and returns void *. So does a
 * function that reads a file into a buffer: if it calls anything after the allocation that could
 * fill the block, calls from many places for many sizes have to show that it is a wrapper; the
 * caller of this module knows them. The same holds without debug information. There the code must
 * do nothing else with the block: a function that passes it to an initializer is a constructor,
 * however many call it.
 *
 * A function that copies an argument into the block, and calls nothing else, is strdup by another
 * name: a wrapper, too. Its caller is a wrapper only if it is as plain: else it may have built the
 * text that is copied, and the block is its own. A function that allocates a constant size is no
 * wrapper: it knows what it allocates.
 */
#include <dwarf.h>
#include <string.h>

#include "../src/base/text.h"
#include "dwarf/debug_scopes.h"
#include "dwarf/die_type.h"
#include "elf/eh_table.h"
#include "flow/flow.h"
#include "flow/flow_calls.h"
#include "flow/flow_code.h"
#include "flow/flow_values.h"
#include "module.h"
#include "names/code_before.h"

enum {
	SCOPES = 32,
	HEADER_MAX = 64, /* bytes: a size, a tag, room for alignment */
};

/* The function around a return address. */
struct wrapper_function {
	struct debug_scope scopes[SCOPES];
	size_t scope_count; /* 0: no debug information */
	uint64_t low, high;
	uint64_t other_low, other_high; /* the function's cold part */
};

static const struct symbol *symbol_of(struct sym_module *module, uint64_t vaddr)
{
	return symbols_find(&module_symbols(module)->functions, vaddr);
}

static bool bounds_of(struct sym_module *module, uint64_t vaddr, uint64_t *low, uint64_t *high)
{
	const struct symbol *symbol = symbol_of(module, vaddr);

	if (symbol && symbol->size) {
		*low = symbol->value;
		*high = symbol->value + symbol->size;
		return true;
	}
	return eh_table_find(&module->file, vaddr, low, high);
}

bool sym_call_function(const struct sym_call *call, uint64_t *low)
{
	struct sym_module *module = call->module;
	struct type_cache *cache;
	uint64_t high;

	if (!module || module->info.state != SYM_OK || !call->vaddr)
		return false;
	cache = module_types(module);
	if (!type_cache_function(cache, call->vaddr, low)) {
		if (!bounds_of(module, call->vaddr - 1, low, &high))
			*low = 0;
		type_cache_put_function(cache, call->vaddr, *low);
	}
	return *low != 0;
}

/* True if the callee leaves the block as good as new: it clears the block, returns its size, or
 * tells the kernel of it. A block filled by memcpy or strcpy holds what the function built. */
static bool leaves_new(const char *callee)
{
	size_t length = callee ? strlen(callee) : 0;

	return length >= 4 &&
	       (strcmp(callee, "memset") == 0 || strcmp(callee, "__memset_chk") == 0 ||
		strcmp(callee, "bzero") == 0 || strcmp(callee, "madvise") == 0 ||
		strcmp(callee + length - 4, "size") == 0 ||
		strcmp(callee + length - 4, "Size") == 0);
}

/* True if a parameter may be a size: a number of at least 4 bytes. */
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

/* True if it is declared like a wrapper: void *f(…, size_t, …). */
static bool declared_so(struct debug_units *units, const struct wrapper_function *f)
{
	struct die_type type, target;
	Dwarf_Die die = f->scopes[f->scope_count - 1].die;

	return die_type_of(units, &die, &type) && type.kind == DIE_POINTER &&
	       die_type_target(units, &type, &target) && target.kind == DIE_VOID &&
	       takes_size(units, &die);
}

/* True if it is declared like a copying function: T *f(const T *, …). */
static bool declared_copy(struct debug_units *units, const struct wrapper_function *f)
{
	struct die_type type;
	Dwarf_Die die = f->scopes[f->scope_count - 1].die, child;

	if (!die_type_of(units, &die, &type) || type.kind != DIE_POINTER ||
	    dwarf_child(&die, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    die_type_of(units, &child, &type) && type.kind == DIE_POINTER)
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* True if the callee copies its second argument into its first. */
static bool copies(const char *callee)
{
	static const char *const names[] = { "memcpy",	     "memmove",	     "strcpy",
					     "strncpy",	     "__memcpy_chk", "__memmove_chk",
					     "__strcpy_chk", "__strncpy_chk" };

	return TEXT_IS_ONE_OF(callee, names);
}

/* True if the callee allocates a copy. */
static bool duplicates(const char *callee)
{
	static const char *const names[] = { "strdup", "strndup", "__strdup", "__strndup" };

	return TEXT_IS_ONE_OF(callee, names);
}

static bool measures(const char *callee)
{
	static const char *const names[] = { "strlen", "strnlen" };

	return TEXT_IS_ONE_OF(callee, names);
}

/* Finds the callee of a call, or of a jump out of the function. False: the instruction is
 * neither. */
static bool leads_to(const struct flow_code *code, const struct wrapper_function *f,
		     const struct flow_instruction *instruction, struct flow_callee *out)
{
	ZydisInstructionCategory category = instruction->decoded.meta.category;
	const ZydisDecodedOperand *operand = instruction->operands;
	bool call = category == ZYDIS_CATEGORY_CALL, known;
	uint64_t target = 0;

	if (!call && category != ZYDIS_CATEGORY_UNCOND_BR)
		return false;
	known = flow_address(instruction, operand, &target);
	if (!call && known && target >= f->low && target < f->high)
		return false;
	*out = !known					    ? (struct flow_callee){ 0, NULL }
	       : operand->type == ZYDIS_OPERAND_TYPE_MEMORY ? flow_callee_in(code, target)
							    : flow_callee_at(code, target);
	return true;
}

/* Calls of a function besides the one that allocates. */
struct wrapper_calls {
	bool alone;	 /* it calls nothing that could build the copied text */
	unsigned copies; /* copies into a block */
};

/* `ret`: return address of the call that allocates. */
static struct wrapper_calls other_calls(const struct flow_code *code,
					const struct wrapper_function *f, uint64_t ret)
{
	struct wrapper_calls calls = { .alone = true };
	struct flow_instruction instruction;
	struct flow_callee callee;

	for (uint64_t at = f->low; at < f->high; at = instruction.next) {
		if (!flow_decode(code, at, &instruction))
			return (struct wrapper_calls){ 0 };
		if (!leads_to(code, f, &instruction, &callee))
			continue;
		if (copies(callee.symbol) || (instruction.next == ret && duplicates(callee.symbol)))
			calls.copies++;
		else if (instruction.next != ret && !measures(callee.symbol) &&
			 !leaves_new(callee.symbol) && !flow_never_returns(code, &callee))
			return (struct wrapper_calls){ 0 };
	}
	return calls;
}

/* Returns, as bits, the arguments of an allocation function that give the block's size. */
static unsigned size_arguments(const char *callee)
{
	static const char *const first[] = { "malloc", "xmalloc", "g_malloc", "g_malloc0",
					     "valloc", "_Znwm",	  "_Znam" },
				 *const second[] = { "realloc", "xrealloc", "g_realloc",
						     "aligned_alloc", "memalign" },
				 *const third[] = { "posix_memalign" },
				 *const both[] = { "calloc", "xcalloc" };

	return TEXT_IS_ONE_OF(callee, first)	? 1
	       : TEXT_IS_ONE_OF(callee, second) ? 2
	       : TEXT_IS_ONE_OF(callee, third)	? 4
	       : TEXT_IS_ONE_OF(callee, both)	? 3
						: 0;
}

/* The same for a function of this file: its parameters that are numbers. */
static unsigned size_parameters(struct debug_units *units, uint64_t vaddr)
{
	Dwarf_Die function, child;
	struct die_type type;
	unsigned found = 0, number = 0;

	if (!vaddr || !debug_scopes_function_at(units, vaddr, &function) ||
	    dwarf_child(&function, &child) != 0)
		return 0;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (!die_type_of(units, &child, &type))
			return 0;
		if (type.kind == DIE_BASE)
			found |= 1u << number;
		number++;
	} while (number < FLOW_ARGUMENTS && dwarf_siblingof(&child, &child) == 0);
	return found;
}

/* True if the call that returns to `ret` requests one constant size. */
static bool size_is_constant(const struct flow_code *code, struct debug_units *units,
			     const struct wrapper_function *f, uint64_t ret)
{
	static const unsigned registers[FLOW_ARGUMENTS] = { FLOW_RDI, FLOW_RSI, FLOW_RDX,
							    FLOW_RCX, 8,	9 };
	struct code_before before;
	struct flow_callee callee;
	uint64_t call, number;
	unsigned sizes;
	bool constant = true;

	if (!flow_call_before(code, f->low, ret, &call, &callee))
		return false;
	sizes = size_arguments(callee.symbol);
	if (!sizes && units)
		sizes = size_parameters(units, callee.vaddr);
	if (!sizes || !code_before_read(code, call, ret, &before))
		return false;
	for (unsigned i = 0; i < FLOW_ARGUMENTS; i++)
		if (sizes & 1u << i)
			constant = constant && code_before_sets(&before, registers[i], &number);
	code_before_deinit(&before);
	return constant;
}

/* True if it computes addresses inside the block other than at constant offsets: it fills the
 * block. */
static bool computes_inside(const struct flow_code *code, const struct flow *flow)
{
	struct flow_instruction instruction;

	for (size_t i = 0; i < flow->state_count; i++) {
		const struct flow_state *state = &flow->states[i];
		const ZydisDecodedOperand *operands = instruction.operands;
		unsigned one, other;

		if (!flow_decode(code, state->vaddr, &instruction))
			continue;
		switch (instruction.decoded.mnemonic) {
		case ZYDIS_MNEMONIC_ADD:
			one = flow_register_of(&operands[0]);
			other = flow_register_of(&operands[1]);
			break;
		case ZYDIS_MNEMONIC_LEA:
			one = flow_number_of(operands[1].mem.base);
			other = flow_number_of(operands[1].mem.index);
			break;
		default:
			continue;
		}
		if (one < FLOW_REGISTERS && other < FLOW_REGISTERS &&
		    state->possible & (1u << one | 1u << other))
			return true;
	}
	return false;
}

/* True if the callee, a library's function, fills its argument. */
static bool fills(const char *callee)
{
	static const char *const names[] = {
		"read",		 "pread",	   "pread64",	      "fread",	    "recv",
		"recvfrom",	 "fgets",	   "sprintf",	      "snprintf",   "vsnprintf",
		"__sprintf_chk", "__snprintf_chk", "__vsnprintf_chk", "__read_chk", "__fread_chk",
		"readlink",	 "getcwd",	   "realpath",	      "strcat",	    "qsort"
	};

	return TEXT_IS_ONE_OF(callee, names) || copies(callee);
}

/* True if, between the allocating call and the return, it calls nothing that could fill the
 * block. */
static bool is_plain(const struct flow_code *code, const struct wrapper_function *f,
		     const struct flow *flow, bool copy)
{
	struct flow_instruction instruction;
	struct flow_callee callee;

	for (size_t i = 0; i < flow->state_count; i++)
		if (flow_decode(code, flow->states[i].vaddr, &instruction) &&
		    leads_to(code, f, &instruction, &callee) && !leaves_new(callee.symbol) &&
		    !flow_is_allocation(callee.symbol) && !(copy && copies(callee.symbol)) &&
		    !flow_never_returns(code, &callee))
			return false;
	return true;
}

/* True if it returns the block, perhaps after a header of its own. `copy`: requires that something
 * is copied into it first. */
static bool code_passes(const struct flow_code *code, const struct flow *flow, bool declared,
			bool copy)
{
	int64_t header = -1;

	for (size_t i = 0; i < flow->fact_count; i++) {
		const struct flow_fact *fact = &flow->facts[i];
		/* the third argument's register may still hold the block, too */
		bool copied = copy && (fact->kind == FLOW_CALL || fact->kind == FLOW_JUMP) &&
			      fact->argument != 1 && copies(fact->callee.symbol);

		if (fact->kind == FLOW_RETURN ||
		    (copied && fact->kind == FLOW_JUMP && !fact->argument)) {
			if (fact->offset < 0 || fact->offset > HEADER_MAX ||
			    (header >= 0 && header != fact->offset))
				return false;
			header = fact->offset;
		}
		if (copied)
			continue;
		if ((fact->kind == FLOW_CALL || fact->kind == FLOW_JUMP) &&
		    (declared ? fills(fact->callee.symbol) : !leaves_new(fact->callee.symbol)))
			return false;
		if (declared)
			continue;
		if (fact->kind == FLOW_VTABLE || fact->kind == FLOW_LOST)
			return false;
		if (fact->kind == FLOW_STORE && fact->base != FLOW_RSP && fact->base != FLOW_RBP)
			return false;
	}
	return header >= 0 && flow->written < header && !computes_inside(code, flow);
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
	struct wrapper_calls calls;
	bool passes, known, declared, copy, plain = false;
	const struct symbol *symbol;

	if (ret < 2 || !bounds_of(module, ret - 1, &f.low, &f.high) || f.high <= ret)
		return SYM_PASSES_NOT;
	symbol = symbol_of(module, ret - 1);
	if (symbol && duplicates(symbol->name))
		return SYM_PASSES_DECLARED | SYM_PASSES_COPY | SYM_PASSES_ALONE;
	units = module_units(module);
	if (units) {
		debug_units_hold(units, true);
		f.scope_count = debug_scopes_at(units, ret - 1, f.scopes, SCOPES);
		if (f.scope_count)
			debug_scopes_other_part(&f.scopes[f.scope_count - 1], &f.other_low,
						&f.other_high);
	}
	code = (struct flow_code){ &module->file, &module->relocs, module_symbols(module) };
	known = f.scope_count != 0;
	declared = known && declared_so(units, &f);
	calls = other_calls(&code, &f, ret);
	copy = calls.copies == 1;
	passes = (!known || declared || (copy && declared_copy(units, &f))) &&
		 !size_is_constant(&code, units, &f, ret);
	if (passes) {
		passes = flow_follow(&code, ret, f.low, f.high, f.other_low, f.other_high, &flow) &&
			 code_passes(&code, &flow, declared, copy);
		plain = known && passes && is_plain(&code, &f, &flow, copy);
		flow_deinit(&flow);
	}
	if (units)
		debug_units_hold(units, false);
	return !passes ? SYM_PASSES_NOT
		       : (enum sym_passes)((plain ? SYM_PASSES_DECLARED : SYM_PASSES_CODE) |
					   (copy ? SYM_PASSES_COPY : 0) |
					   (calls.alone ? SYM_PASSES_ALONE : 0));
}

/* Caches on disk unless parts of the debug information, which decides, may change while the file
 * stays the same. */
enum sym_passes sym_call_passes(const struct sym_call *call)
{
	struct sym_module *module = call->module;
	struct type_cache *cache;
	enum sym_passes passes;

	if (!module || module->info.state != SYM_OK)
		return SYM_PASSES_NOT;
	cache = module_types(module);
	if (!type_cache_passes(cache, call->vaddr, &passes)) {
		passes = work_out(module, call->vaddr);
		type_cache_put_passes(cache, call->vaddr, passes,
				      !module->info.dwarf || module->keeps);
	}
	return passes;
}
