/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_names.c: see source_names.h.
 *
 * Two kinds of calls have __FILE__, __LINE__ and a name in consecutive argument registers:
 * (function, file, line), as of std::source_location's like, and (expression, file, line,
 * function), as of assert. Many functions for failed checks are (expression, file, line), and an
 * expression may look like a name. So a text before the path is believed only if nearly all texts
 * that the same callee gets there are names: expressions are seldom so plain. The registers are set
 * in the few instructions before the call. A function with calls of several names has none: the
 * others belong to inlined functions.
 *
 * The name is that of the function, or of one that the compiler inlined into it.
 */
#include "source_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/function_name.h"
#include "../../src/base/row_order.h"
#include "../flow/flow_code.h"
#include "../flow/flow_values.h"

enum { ARGUMENTS = 6, NEAR = 64, LINE_MAX = 1 << 20 };
enum { TEXT_MAX = 1024, NAME_MAX = 200 };
enum { CALLS_MIN = 3, NAMES_LEAST = 90 }; /* per cent */

/* The value of a register. */
struct source_register {
	enum { SET_OTHERWISE, SET_ADDRESS, SET_NUMBER } kind;
	uint64_t value, at; /* at: address of the instruction that set it */
};

static const unsigned arguments[ARGUMENTS] = { FLOW_RDI, FLOW_RSI, FLOW_RDX, FLOW_RCX, 8, 9 };

static void note(struct source_register registers[FLOW_REGISTERS],
		 const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	struct source_register set = { .kind = SET_OTHERWISE };
	unsigned to, from;

	if (!instruction->decoded.operand_count_visible ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	to = flow_number_of_part(operands[0].reg.value);
	if (to >= FLOW_REGISTERS)
		return;
	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA) {
		if (flow_address(instruction, &operands[1], &set.value))
			set.kind = SET_ADDRESS;
	} else if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV) {
		from = flow_register_of(&operands[1]);
		if (from < FLOW_REGISTERS) {
			set = registers[from];
		} else if (operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			set.kind = SET_NUMBER;
			set.value = operands[1].imm.value.u;
		}
	}
	set.at = instruction->vaddr;
	registers[to] = set;
}

/* True if it was set a few instructions before the call. */
static bool is_near(const struct source_register *set, uint64_t call)
{
	return set->at < call && call - set->at < NEAR;
}

/* True if one of the call's arguments is the path, with a line after it and a text beside them. */
static bool text_beside(const struct source_register registers[FLOW_REGISTERS], uint64_t path,
			uint64_t call, struct source_naming *out)
{
	const struct source_register *line, *text, *behind;
	unsigned at = 0;

	while (at < ARGUMENTS && (registers[arguments[at]].kind != SET_ADDRESS ||
				  registers[arguments[at]].value != path))
		at++;
	if (at + 1 >= ARGUMENTS)
		return false;
	line = &registers[arguments[at + 1]];
	if (line->kind != SET_NUMBER || !line->value || line->value > LINE_MAX ||
	    !is_near(line, call))
		return false;
	behind = at + 2 < ARGUMENTS ? &registers[arguments[at + 2]] : line;
	out->line = line->value;
	out->behind = behind->kind == SET_ADDRESS && is_near(behind, call);
	if (!out->behind && !at)
		return false;
	text = out->behind ? behind : &registers[arguments[at - 1]];
	out->text = text->value;
	return text->kind == SET_ADDRESS && is_near(text, call);
}

/* Forgets the registers that a call may change by the ABI. */
static void forget(struct source_register registers[FLOW_REGISTERS])
{
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (i != FLOW_RBX && i != FLOW_RBP && i < 12)
			registers[i] = (struct source_register){ .kind = SET_OTHERWISE };
}

void source_namings_add(struct source_namings *namings, const struct flow_code *code,
			uint32_t function, uint64_t low, uint64_t high, uint64_t path)
{
	struct source_register registers[FLOW_REGISTERS] = { { .kind = SET_OTHERWISE } };
	struct source_naming naming = { .function = function };
	struct flow_instruction instruction;

	for (uint64_t at = low; at < high && flow_decode(code, at, &instruction);
	     at = instruction.next) {
		ZydisInstructionCategory category = instruction.decoded.meta.category;

		if (category != ZYDIS_CATEGORY_CALL && category != ZYDIS_CATEGORY_UNCOND_BR &&
		    category != ZYDIS_CATEGORY_RET) {
			note(registers, &instruction);
			continue;
		}
		if (category != ZYDIS_CATEGORY_RET &&
		    flow_address(&instruction, &instruction.operands[0], &naming.callee) &&
		    text_beside(registers, path, at, &naming))
			*vec_push(&namings->all) = naming;
		forget(registers);
	}
}

/* ---- texts ---- */

static bool is_name(const char *text, size_t length)
{
	if (length < 2 || length > NAME_MAX || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_:~", text[i]))
			return false;
	return true;
}

const char *source_name_in(const char *text, size_t *length)
{
	const char *start = text;

	*length = strlen(text);
	if (strchr(text, '(')) {
		start = function_name_start(text);
		start += strspn(start, "*&");
		*length = function_name_length(start);
		if (!start[*length]) /* no arguments: an expression */
			return NULL;
	} else if (strchr(text, ':')) {
		return NULL;
	}
	return is_name(start, *length) ? start : NULL;
}

ORDER_BY(by_callee, struct source_naming, ORDER_UP(callee) ?: ORDER_UP(behind))

/* Marks the calls of one callee in one shape that have a name as proven, if nearly all have one. */
static void judge(struct source_naming *calls, size_t count, const struct binary *file)
{
	size_t names = 0;

	for (size_t i = 0; i < count; i++) {
		const char *text = binary_string(file, calls[i].text, TEXT_MAX);
		size_t length;

		calls[i].proven = text && source_name_in(text, &length);
		names += calls[i].proven;
	}
	if (names < CALLS_MIN || names * 100 < count * NAMES_LEAST)
		for (size_t i = 0; i < count; i++)
			calls[i].proven = false;
}

ORDER_BY(by_line, struct source_naming, ORDER_UP(text) ?: ORDER_UP(line) ?: ORDER_UP(function))

/* Marks lines that are in several functions: all but one of these inlined it, and nothing tells
 * which. */
static void find_repeated(struct source_naming *all, size_t count)
{
	qsort(all, count, sizeof(*all), by_line);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && all[next].text == all[i].text &&
				   all[next].line == all[i].line;
		     next++)
			;
		for (size_t k = i; k < next; k++)
			all[k].repeated = all[i].function != all[next - 1].function;
	}
}

void source_namings_judge(struct source_namings *namings, const struct binary *file)
{
	size_t count = namings->all.count;

	if (!count)
		return;
	qsort(namings->all.at, count, sizeof(*namings->all.at), by_callee);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1;
		     next < count && !by_callee(&namings->all.at[i], &namings->all.at[next]);
		     next++)
			;
		judge(&namings->all.at[i], next - i, file);
	}
	find_repeated(namings->all.at, count);
}

void source_namings_deinit(struct source_namings *namings)
{
	free(namings->all.at);
}
