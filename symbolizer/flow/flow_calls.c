/* SPDX-License-Identifier: Apache-2.0 */
/* flow_calls.c: see flow_calls.h. */
#include "flow_calls.h"

#include <string.h>

#include "../../src/base/text.h"
#include "flow_code.h"

#define LINEAR_MAX (64u << 10) /* 1.4 ms of decoding */

enum { JUMPS_STEPS = 64, JUMPS_ARMS = 8, NEVER_STEPS = 40 };

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool flow_is_allocation(const char *symbol)
{
	static const char *const names[] = { "malloc",	 "calloc",	  "realloc", "reallocarray",
					     "memalign", "aligned_alloc", "valloc",  "pvalloc" };

	if (!symbol)
		return false;
	if (starts(symbol, "_Znwm") || starts(symbol, "_Znam"))
		return strcmp(symbol + 5, "Pv") != 0;
	return TEXT_IS_ONE_OF(symbol, names);
}

bool flow_throws(const char *symbol)
{
	return symbol && (!strcmp(symbol, "__cxa_throw") ||
			  !strcmp(symbol, "__cxa_init_primary_exception"));
}

static bool name_never_returns(const char *name)
{
	/* clang-format off */
	static const char *const names[] = {
		"__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length", "__cxa_throw_bad_array_length",
		"__cxa_call_unexpected", "__cxa_call_terminate", "__cxa_pure_virtual",
		"__clang_call_terminate", "_ZSt9terminatev", "_Unwind_Resume",
		"_Unwind_Resume_or_Rethrow", "abort", "exit", "_exit", "_Exit", "quick_exit",
		"__stack_chk_fail", "__stack_chk_fail_local", "__chk_fail", "__fortify_fail",
		"__assert_fail", "__assert_perror_fail", "__assert", "longjmp", "_longjmp",
		"siglongjmp", "__longjmp_chk", "pthread_exit",
		"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
		"_ZSt21__glibcxx_assert_failPKciS0_S0_", "g_assertion_message",
		"g_assertion_message_expr", "__ubsan_handle_builtin_unreachable",
	};
	/* clang-format on */

	if (!name)
		return false;
	if (TEXT_IS_ONE_OF(name, names))
		return true;
	/* std::__throw_length_error(char const*) and the like, in whatever inline namespace */
	return starts(name, "_ZSt") ? strstr(name, "__throw_") && name[4] >= '1' && name[4] <= '9'
				    : starts(name, "_ZNSt3__1") && strstr(name, "__throw_");
}

bool flow_never_returns(const struct flow_code *code, const struct flow_callee *callee)
{
	struct flow_instruction instruction;
	uint64_t at = callee->vaddr, target;

	if (name_never_returns(callee->symbol))
		return true;
	/* a helper may run straight into abort() or a throw */
	for (int i = 0; callee->vaddr && i < NEVER_STEPS && flow_decode(code, at, &instruction);
	     i++) {
		const struct flow_callee inner =
			instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL &&
					flow_address(&instruction, instruction.operands, &target)
				? (instruction.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY
					   ? flow_callee_in(code, target)
					   : flow_callee_at(code, target))
				: (struct flow_callee){ 0, NULL };

		if (name_never_returns(inner.symbol) ||
		    instruction.decoded.mnemonic == ZYDIS_MNEMONIC_UD2)
			return true;
		switch (instruction.decoded.meta.category) {
		case ZYDIS_CATEGORY_COND_BR:
		case ZYDIS_CATEGORY_UNCOND_BR:
		case ZYDIS_CATEGORY_RET: return false;
		default: break;
		}
		at = instruction.next;
	}
	return false;
}

/* ---- where a function jumps on to ---- */

struct jumps {
	const struct flow_code *code;
	uint64_t start, end; /* of the function; start == end: not known */
	uint64_t arms[JUMPS_ARMS];
	size_t arm_count;
	struct flow_callee target;
	bool found, returns;
};

static bool jumps_out(struct jumps *jumps, const struct flow_callee *callee)
{
	if (jumps->found &&
	    (jumps->target.vaddr != callee->vaddr || !callee->symbol != !jumps->target.symbol ||
	     (callee->symbol && strcmp(jumps->target.symbol, callee->symbol))))
		return false;
	if (!callee->vaddr && !callee->symbol)
		return false;
	jumps->target = *callee;
	jumps->found = true;
	return true;
}

/* Walks one arm to its end. False: the function does more than jump on. */
static bool jumps_arm(struct jumps *jumps, uint64_t at, unsigned *steps)
{
	struct flow_instruction instruction;
	const ZydisDecodedOperand *operand = instruction.operands;
	uint64_t target = 0;

	for (; (*steps)++ < JUMPS_STEPS && flow_decode(jumps->code, at, &instruction);
	     at = instruction.next) {
		ZydisInstructionCategory category = instruction.decoded.meta.category;
		bool direct, known = false;

		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_UD2)
			return true;
		if (category == ZYDIS_CATEGORY_RET) {
			jumps->returns = true;
			return true;
		}
		if (category != ZYDIS_CATEGORY_CALL && category != ZYDIS_CATEGORY_UNCOND_BR &&
		    category != ZYDIS_CATEGORY_COND_BR)
			continue;
		direct = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		known = flow_address(&instruction, operand, &target);

		struct flow_callee callee = !known   ? (struct flow_callee){ 0, NULL }
					    : direct ? flow_callee_at(jumps->code, target)
						     : flow_callee_in(jumps->code, target);

		if (category == ZYDIS_CATEGORY_CALL)
			return flow_never_returns(jumps->code, &callee);

		bool inside = known && direct && target > jumps->start && target < jumps->end;

		if (category == ZYDIS_CATEGORY_COND_BR) {
			if (jumps->arm_count == JUMPS_ARMS)
				return false;
			if (inside)
				jumps->arms[jumps->arm_count++] = target;
			else if (strstr(callee.symbol ? callee.symbol : "", ".cold"))
				continue; /* the rare half: usually a throw */
			else if (!jumps_out(jumps, &callee))
				return false;
			continue;
		}
		if (inside) {
			if (jumps->arm_count == JUMPS_ARMS)
				return false;
			jumps->arms[jumps->arm_count++] = target;
			return true;
		}
		if (!direct && known && !callee.symbol && !callee.vaddr && at - jumps->start <= 4)
			flow_stub(jumps->code, jumps->start, &callee);
		return target != jumps->start && jumps_out(jumps, &callee);
	}
	return false;
}

bool flow_jumps_to(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out)
{
	const struct symbol *symbol =
		code->symbols ? symbols_find(&code->symbols->functions, vaddr) : NULL;
	struct jumps jumps = {
		.code = code, .start = vaddr, .end = vaddr, .arms = { vaddr }, .arm_count = 1
	};
	unsigned steps = 0;

	if (symbol && symbol->value == vaddr)
		jumps.end = vaddr + symbol->size;
	while (jumps.arm_count)
		if (!jumps_arm(&jumps, jumps.arms[--jumps.arm_count], &steps))
			return false;
	if (!jumps.found || (jumps.returns && !flow_is_allocation(jumps.target.symbol)))
		return false;
	*out = jumps.target;
	return true;
}

/* ---- the call before a return address ---- */

static bool call_at(const struct flow_code *code, uint64_t vaddr, uint64_t ret, bool plausible,
		    struct flow_callee *out)
{
	struct flow_instruction instruction;
	const ZydisDecodedOperand *operand = instruction.operands;
	struct flow_callee callee = { 0, NULL };
	uint64_t target;

	if (!flow_decode(code, vaddr, &instruction) || instruction.next != ret ||
	    instruction.decoded.mnemonic != ZYDIS_MNEMONIC_CALL)
		return false;
	if (flow_address(&instruction, operand, &target)) {
		bool direct = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

		if (direct && plausible && !(binary_flags(code->file, target) & PF_X))
			return false;
		callee = direct ? flow_callee_at(code, target) : flow_callee_in(code, target);
	}
	*out = callee;
	return true;
}

bool flow_may_call_named(const struct flow_code *code, uint64_t ret)
{
	const uint8_t *bytes = ret > 6 ? binary_at(code->file, ret - 6, 6) : NULL;
	struct flow_callee callee = { 0, NULL };
	int32_t distance;

	if (!bytes)
		return false;
	memcpy(&distance, bytes + 2, sizeof(distance));
	if (bytes[1] == 0xe8)
		callee = flow_callee_at(code, ret + (uint64_t)(int64_t)distance);
	else if (bytes[0] == 0xff && bytes[1] == 0x15)
		callee = flow_callee_in(code, ret + (uint64_t)(int64_t)distance);
	return callee.symbol;
}

bool flow_call_before(const struct flow_code *code, uint64_t low, uint64_t ret, uint64_t *vaddr,
		      struct flow_callee *out)
{
	/* lengths of call instructions, the likeliest first: E8, FF 15, FF 50, FF D0, then those
	 * with a REX, a SIB, or a prefix */
	static const uint8_t lengths[] = { 5, 6, 3, 2, 4, 7, 8 };
	const struct symbol *symbol;
	struct flow_callee callee;
	const uint8_t *bytes;
	uint64_t at, room = 0;

	/*
	 * Tries E8 and a distance to the start of a function or of an import's stub: the
	 * displacements and codes of other calls don't form that by chance. Decoding from the
	 * function's start for each of its calls would take the square of its length.
	 */
	at = ret - 5;
	if (ret > 5 && (bytes = binary_code(code->file, at, &room)) && room >= 5 &&
	    bytes[0] == 0xe8 && call_at(code, at, ret, true, &callee) && callee.symbol) {
		*vaddr = at;
		*out = callee;
		return true;
	}
	symbol = code->symbols && ret ? symbols_find(&code->symbols->functions, ret - 1) : NULL;
	if (!low && symbol)
		low = symbol->value;
	if (low && low < ret && ret - low <= LINEAR_MAX) {
		at = flow_before(code, low, ret);
		if (at) {
			if (!call_at(code, at, ret, false, out))
				return false;
			*vaddr = at;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(lengths); i++) {
		at = ret - lengths[i];
		if (ret > lengths[i] && call_at(code, at, ret, true, out)) {
			*vaddr = at;
			return true;
		}
	}
	return false;
}
