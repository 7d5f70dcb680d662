/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_code.c: see size_code.h. The rules are in site_label.c: string, array, the first storage.
 */
#include "size_code.h"

#include "../flow/flow_code.h"

enum { SIZES = 0x1ffc }; /* bit n: elements of 2^n bytes */

static void keep(uint64_t *kept, size_t *count, uint64_t value)
{
	if (*count < SIZE_CONSTANTS)
		kept[(*count)++] = value;
}

static bool has(const uint64_t *kept, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i] == value)
			return true;
	return false;
}

static void note_number(struct size_code *size, const struct flow_instruction *instruction,
			int64_t number)
{
	switch (instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_AND:
		size->round8 |= number == -8;
		size->round16 |= number == -16;
		break;
	case ZYDIS_MNEMONIC_OR:
		size->round8 |= number == 7;
		size->round16 |= number == 15;
		break;
	case ZYDIS_MNEMONIC_CMP:
		size->checked |= number < -8 && number >= -64;
		size->short_string |= number == 22 || number == 23;
		break;
	case ZYDIS_MNEMONIC_MOV:
		size->short_string |= number == 22;
		size->odd_string |= number == 26;
		if (number > INT64_C(1) << 48)
			keep(size->limits, &size->limit_count, (uint64_t)number);
		break;
	case ZYDIS_MNEMONIC_IMUL:
		keep(size->factors, &size->factor_count, (uint64_t)number);
		break;
	case ZYDIS_MNEMONIC_SHL:
		size->left |= UINT64_C(1) << (number & 63);
		break;
	case ZYDIS_MNEMONIC_SAR:
		size->right |= UINT64_C(1) << (number & 63);
		break;
	case ZYDIS_MNEMONIC_SHR:
		size->top |= UINT64_C(1) << (number & 63);
		break;
	default:
		break;
	}
}

void size_code_note(void *context, const struct flow_instruction *instruction)
{
	struct size_code *size = context;
	const ZydisDecodedOperand *operands = instruction->operands;

	byte_limit_note(&size->bytes, instruction);
	size->chosen |= instruction->decoded.meta.category == ZYDIS_CATEGORY_CMOV;
	size->wide |= instruction->decoded.operand_count_visible == 1 &&
		      (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MUL ||
		       instruction->decoded.mnemonic == ZYDIS_MNEMONIC_IMUL);
	for (unsigned i = 0; i < instruction->decoded.operand_count_visible; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    !operands[i].imm.is_relative)
			note_number(size, instruction, operands[i].imm.value.s);
	/* lea 0(,%rax,8): a shift */
	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA && operands[1].mem.scale > 1 &&
	    operands[1].mem.base == ZYDIS_REGISTER_NONE)
		size->left |= (uint64_t)operands[1].mem.scale == 2   ? 1 << 1
			      : (uint64_t)operands[1].mem.scale == 4 ? 1 << 2
								     : 1 << 3;
}

/* True if a library has this limit for elements of `bytes`. */
static bool is_limit(const struct size_code *size, uint64_t value, uint64_t bytes)
{
	return value == INT64_MAX / bytes || (!size->halves && value == UINT64_MAX / bytes);
}

static bool arithmetic_of(const struct size_code *size, uint64_t bytes)
{
	unsigned power = (unsigned)__builtin_ctzll(bytes);
	uint64_t bit = UINT64_C(1) << power;

	if (has(size->factors, size->factor_count, bytes))
		return true;
	return power && ((size->left | size->right) & bit);
}

/* Returns the size of the elements that the limit `value` is for; 0: it is no limit, or
 * ambiguous. */
static uint64_t element_of(const struct size_code *size, uint64_t value)
{
	const uint64_t readings[] = { INT64_MAX / value, UINT64_MAX / value };
	uint64_t found = 0;

	for (size_t i = 0; i < (size->halves ? 1 : 2); i++) {
		uint64_t bytes = readings[i];

		if (bytes < SIZE_ELEMENT_MIN || bytes > SIZE_ELEMENT_MAX ||
		    !is_limit(size, value, bytes) || bytes == found || !arithmetic_of(size, bytes))
			continue;
		if (found)
			return 0;
		found = bytes;
	}
	return found;
}

/* Element sizes that the code checks for. */
struct elements {
	uint64_t bytes; /* 0: none */
	bool several;
};

static void take_element(struct elements *elements, uint64_t bytes)
{
	elements->several |= bytes && elements->bytes && elements->bytes != bytes;
	elements->bytes = bytes ? bytes : elements->bytes;
}

/* Adds limits checked by shifts. A count is below 2^n if n shifts to the right leave nothing: then
 * elements have 2^(64-n) bytes in libc++, half of that in libstdc++. The shift that turns the count
 * into bytes decides. */
static void elements_of_shifts(const struct size_code *size, struct elements *out)
{
	for (unsigned n = 52; n <= 61; n++) {
		bool read = false;

		for (unsigned half = size->halves; half < 2; half++) {
			unsigned power = 64 - n - half;

			if (size->top >> n & 1 && power >= 2 && size->left >> power & 1) {
				take_element(out, UINT64_C(1) << power);
				read = true;
			}
		}
		/* the count is multiplied further on, like a deque's map when it grows */
		out->several |= size->top >> n & 1 && !read;
	}
}

/* True if a distance is divided by the power of two in another size: that of a vector that is
 * copied into a new element of this one. */
static bool counts_others(const struct size_code *size, uint64_t bytes)
{
	uint64_t own = UINT64_C(1) << __builtin_ctzll(bytes);

	/* one less if the count is doubled */
	return size->right & SIZES & ~(own | own >> 1);
}

struct site_label size_code_label(const struct size_code *size)
{
	struct elements elements = { .bytes = 0 };

	if (size->round8 && size->odd_string)
		return (struct site_label){ SITE_LABEL_STRING, 2,
					    "the size is rounded up to 8, and 26 instead of 24" };
	if (size->round16 && size->short_string && size->checked)
		return (struct site_label){ SITE_LABEL_STRING, 1,
					    "the size is rounded up to 16 if above 22" };
	for (size_t i = 0; i < size->limit_count; i++) {
		uint64_t bytes = element_of(size, size->limits[i]);

		/* "below the limit + 1"; such a number also divides, by a wide product */
		if (!bytes && !size->wide)
			bytes = element_of(size, size->limits[i] - 1);
		take_element(&elements, bytes);
	}
	elements_of_shifts(size, &elements);
	elements.several |= (elements.bytes && counts_others(size, elements.bytes)) ||
			    (size->halves && size->bytes.checked);
	if (elements.bytes && !elements.several)
		return (struct site_label){ SITE_LABEL_ARRAY, elements.bytes,
					    "the count has the limit of elements of this size" };
	if (size->chosen && has(size->limits, size->limit_count, INT64_MAX / 2))
		return (struct site_label){ SITE_LABEL_STORAGE, 1,
					    "the size is doubled up to 2^63-1" };
	return (struct site_label){ .kind = SITE_LABEL_NONE };
}

bool size_code_has_limit(const struct size_code *size, uint64_t value)
{
	return has(size->limits, size->limit_count, value);
}
