/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_label.c: see site_label.h.
 *
 * Before the call, these kinds are recognized by the code that computes the size: code_before.h
 * walks back from the call over all ways, to the previous calls. Constants further up belong to
 * something else as often as not. A size that is a number means an object, not an array.
 *
 * string   libc++ rounds a capacity above 22 up to a multiple of 8, or 16 in older versions. With
 *          8, 23 becomes 25, a size of 26, which no other code uses; with 16, the limit of 22 and
 *          the check against the largest size are beside the rounding.
 * array    A container checks the count against the largest possible: (2^64-1)/N in libc++,
 *          (2^63-1)/N in libstdc++. Floor divisions that come out even by chance hardly exist, but
 *          the first with 2N equals the second with N. So the arithmetic must confirm N: a multiply
 *          by N, a shift by the power of two in N (in 24: 3), or a shift that checks the limit; and
 *          a file that throws through libstdc++ has that library's limits only. Code that checks
 *          for two sizes says nothing, nor does code that counts elements of two; nor, with
 *          libstdc++, code that also checks a size in bytes, that of a vector which it copies
 *          into a new element of one that grows (ninja by gcc: 29 % of array blocks). Measured on
 *          node, whose symbols were hidden: N right at 153 of 155 sites; "vector" would be right
 *          at three quarters only, the others are deques and hash buckets.
 * storage  The limit 2^63-1, halved for doubling, of elements of one byte.
 *
 * array    An expression new T[n], which tells the size of T; calloc of a number of them
 *          (size_product.h).
 * storage  The size is a product, and nothing is added to it. Tested last.
 *
 * After the call, these kinds are recognized by the code that gets the block:
 *
 * node     One of the next three calls goes to the run time's tree balancing: libstdc++'s by its
 *          name, libc++'s by its code, which begins with `black = (x == root)`, a byte that is 24
 *          bytes into the node. Each file has one of them.
 * storage  A block of no fixed size that the function resizes, or fills from its beginning with
 *          copied bytes: flat bytes, whatever they are.
 * storage  A computed size that is stored or passed on with the block (size_use.h).
 * storage  A fixed size, and the address of the block's end is stored: an object's is of no use.
 * counted  A fixed size, and the allocating code counts the block's first or second word up
 *          with a lock: a count of references.
 * object   A fixed size, and the writes are not an array's (object_use.h). Tested after the above.
 * object   One element of a fixed size, of calloc, whose size is no power of two.
 * storage  A fixed size of 64 KiB or more that is a power of two: a buffer's.
 * aligned  The block's own address is written into it, at an aligned place (aligned_gap.h).
 * callback The next call is a constructor that writes 1 and its next two arguments to the first
 *          three words, and both are addresses of code.
 */
#define _GNU_SOURCE /* memmem */
#include "site_label.h"

#include <stdio.h>
#include <string.h>

#include "../flow/flow.h"
#include "../flow/flow_calls.h"
#include "../flow/flow_code.h"
#include "../flow/flow_values.h"
#include "aligned_gap.h"
#include "block_wrapper.h"
#include "code_before.h"
#include "object_use.h"
#include "size_code.h"
#include "size_product.h"
#include "size_use.h"

enum {
	WORD = 8,
	AFTER_STEPS = 64,
	AFTER_CALLS = 3,
	AFTER_JUMPS = 4,
	ENTRY_STEPS = 12,
	COUNT_WITHIN = 8, /* largest offset of a count of references in a block */
	LOCK = 0xf0,
	NEAR = 192, /* bytes after the call */
	LARGE = 1 << 16, /* smallest fixed size of a buffer */
	ENDED_MIN = 128, /* smallest block whose end may be stored: an instruction has 4 bytes for
	                  * it */
};

/* ---- after the call ---- */

static bool direct_target(const struct flow_instruction *instruction, uint64_t *target)
{
	return instruction->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       flow_address(instruction, &instruction->operands[0], target);
}

/* True if the memory operand is exactly register + displacement. */
static bool is_word_of(const ZydisDecodedOperand *operand, ZydisRegister base, int64_t displacement)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == base &&
	       operand->mem.index == ZYDIS_REGISTER_NONE &&
	       operand->mem.disp.value == displacement;
}

/* True for libc++'s tree balancing: (root, node), and the node's color byte becomes node ==
 * root. */
static bool balances_tree(const struct flow_code *code, uint64_t at)
{
	struct flow_instruction instruction;
	bool compared = false;

	for (unsigned i = 0; i < ENTRY_STEPS && flow_decode(code, at, &instruction); i++) {
		const ZydisDecodedOperand *operands = instruction.operands;

		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_CMP &&
		    operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			unsigned a = flow_register_of(&operands[0]),
				 b = flow_register_of(&operands[1]);

			compared = (a == FLOW_RDI && b == FLOW_RSI) ||
				   (a == FLOW_RSI && b == FLOW_RDI);
		}
		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_SETZ)
			return compared && is_word_of(&operands[0], ZYDIS_REGISTER_RSI, 24);
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL ||
		    instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return false;
		at = instruction.next;
	}
	return false;
}

/* True for a constructor (object, code, code, …) of base::Bind's result: stores 1 and the two. */
static bool makes_callback(const struct flow_code *code, uint64_t at)
{
	struct flow_instruction instruction;
	bool one = false, invoker = false, destructor = false;

	for (unsigned i = 0; i < ENTRY_STEPS && flow_decode(code, at, &instruction); i++) {
		const ZydisDecodedOperand *operands = instruction.operands;

		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV) {
			one |= is_word_of(&operands[0], ZYDIS_REGISTER_RDI, 0) &&
			       operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			       operands[1].imm.value.s == 1;
			invoker |= is_word_of(&operands[0], ZYDIS_REGISTER_RDI, 8) &&
				   flow_register_of(&operands[1]) == FLOW_RSI;
			destructor |= is_word_of(&operands[0], ZYDIS_REGISTER_RDI, 16) &&
				      flow_register_of(&operands[1]) == FLOW_RDX;
		}
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return one && invoker && destructor;
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL ||
		    instruction.decoded.meta.category == ZYDIS_CATEGORY_COND_BR)
			return false;
		at = instruction.next;
	}
	return false;
}

/* Updates `holds`, the registers (bit n: DWARF's number n) that hold the address of code. */
static void note_code_address(const struct flow_code *code,
			      const struct flow_instruction *instruction, unsigned *holds)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	uint64_t address;
	unsigned reg;

	if (!instruction->decoded.operand_count_visible ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	reg = flow_number_of_part(operands[0].reg.value);
	if (reg >= FLOW_REGISTERS)
		return;
	*holds &= ~(1u << reg);
	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
	    flow_address(instruction, &operands[1], &address) &&
	    (binary_flags(code->file, address) & PF_X))
		*holds |= 1u << reg;
}

static bool is_node_function(const struct flow_callee *callee)
{
	return callee->symbol && strstr(callee->symbol, "_Rb_tree_insert_and_rebalance");
}

static struct site_label label_of_use(const struct flow_code *code, uint64_t at,
				      const struct flow_callee *allocator)
{
	const unsigned both = 1u << FLOW_RSI | 1u << FLOW_RDX;
	const struct site_label none = { .kind = SITE_LABEL_NONE };
	struct flow_instruction instruction;
	unsigned calls = 0, jumps = 0, holds = 0;
	uint64_t target;

	for (unsigned i = 0; i < AFTER_STEPS && flow_decode(code, at, &instruction); i++) {
		ZydisInstructionCategory category = instruction.decoded.meta.category;

		at = instruction.next;
		if (category == ZYDIS_CATEGORY_RET)
			return none;
		if (category == ZYDIS_CATEGORY_UNCOND_BR) {
			if (!direct_target(&instruction, &at) || ++jumps > AFTER_JUMPS)
				return none;
			continue;
		}
		if (category != ZYDIS_CATEGORY_CALL) {
			note_code_address(code, &instruction, &holds);
			continue;
		}
		if (!direct_target(&instruction, &target))
			return none;

		struct flow_callee callee = flow_callee_at(code, target);

		/* the following calls may get the next block */
		if (flow_is_allocation(callee.symbol) ||
		    (callee.vaddr && callee.vaddr == allocator->vaddr))
			return none;
		if (is_node_function(&callee))
			return (struct site_label){ SITE_LABEL_NODE, 1,
						    "the block goes to the balancing of a tree" };
		if (callee.vaddr && balances_tree(code, callee.vaddr))
			return (struct site_label){ SITE_LABEL_NODE, 1,
						    "a call of code that balances a tree follows" };
		if (!calls && callee.vaddr && (holds & both) == both &&
		    makes_callback(code, callee.vaddr))
			return (struct site_label){ SITE_LABEL_CALLBACK, 1,
						    "a constructor gets it that stores a count and "
						    "two functions" };
		if (++calls == AFTER_CALLS)
			return none;
		holds = 0;
	}
	return none;
}

static bool copies_bytes(const char *name)
{
	return !strcmp(name, "memcpy") || !strcmp(name, "memmove") ||
	       !strcmp(name, "__memcpy_chk") || !strcmp(name, "__memmove_chk");
}

static struct site_label label_of_call(const struct flow_fact *fact)
{
	const char *name = fact->callee.symbol;

	if ((fact->kind != FLOW_CALL && fact->kind != FLOW_JUMP) || !name || fact->argument ||
	    fact->offset)
		return (struct site_label){ .kind = SITE_LABEL_NONE };
	if (copies_bytes(name))
		return (struct site_label){ SITE_LABEL_STORAGE, 1,
					    "bytes are copied to its beginning" };
	if (strstr(name, "realloc"))
		return (struct site_label){ SITE_LABEL_STORAGE, 1, "it goes to realloc" };
	return (struct site_label){ .kind = SITE_LABEL_NONE };
}

/* True if the instruction counts a word at the block's beginning up or down, with a lock. */
static bool counts_references(const struct flow_code *code, const struct flow_state *state)
{
	const uint8_t *first = binary_at(code->file, state->vaddr, 1);
	struct flow_instruction instruction;
	const ZydisDecodedOperandMem *word;
	unsigned base;

	if (!first || *first != LOCK || !flow_decode(code, state->vaddr, &instruction) ||
	    instruction.operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	word = &instruction.operands[0].mem;
	base = flow_number_of_part(word->base);
	return base < FLOW_REGISTERS && word->index == ZYDIS_REGISTER_NONE &&
	       (state->registers >> base & 1) &&
	       state->offsets[base] + word->disp.value >= 0 &&
	       state->offsets[base] + word->disp.value <= COUNT_WITHIN;
}

/* True if a lock or the size is near: following a block takes 60 us. */
static bool is_worth_it(const struct flow_code *code, uint64_t ret, uint64_t bytes)
{
	uint64_t room = 0;
	const uint8_t *near = binary_code(code->file, ret, &room);
	uint32_t displacement = (uint32_t)bytes;

	room = room < NEAR ? room : NEAR;
	return near && (memchr(near, LOCK, room) ||
			(bytes >= ENDED_MIN &&
			 memmem(near, room, &displacement, sizeof(displacement))));
}

/* Labels a block of a fixed size by its use in the allocating function. */
static struct site_label label_of_fixed(const struct flow_code *code, uint64_t ret, uint64_t bytes)
{
	struct site_label found = { .kind = SITE_LABEL_NONE };
	struct flow flow;
	bool followed;

	if (!is_worth_it(code, ret, bytes))
		return found;
	followed = flow_follow(code, ret, 0, 0, 0, 0, &flow);
	for (size_t i = 0; followed && i < flow.fact_count; i++)
		if (flow.facts[i].kind == FLOW_STORE && bytes >= ENDED_MIN &&
		    flow.facts[i].offset == (int64_t)bytes)
			found = (struct site_label){ SITE_LABEL_STORAGE, 1,
						     "the address of its end is kept" };
	for (size_t i = 0; followed && i < flow.state_count && !found.kind; i++)
		if (counts_references(code, &flow.states[i]))
			found = (struct site_label){
				SITE_LABEL_COUNTED, 1, "a word at its beginning is counted up, "
						       "with a lock, where the block is new"
			};
	flow_deinit(&flow);
	return found;
}

/* Labels a block of a computed size by its use in the allocating function. */
static struct site_label label_of_sized(const struct code_before *before, uint64_t ret,
					unsigned size_register, const char *allocator)
{
	struct site_label found = { .kind = SITE_LABEL_NONE };
	struct flow flow;
	const char *why = NULL;
	bool followed;

	if (strstr(allocator, "realloc"))
		return (struct site_label){ SITE_LABEL_STORAGE, 1, "realloc resizes it" };
	followed = flow_follow(before->code, ret, 0, 0, 0, 0, &flow);
	for (size_t i = 0; followed && i < flow.fact_count && !found.kind; i++)
		found = label_of_call(&flow.facts[i]);
	if (followed && !found.kind)
		why = size_use_find(before, ret, size_register, &flow);
	if (why)
		found = (struct site_label){ SITE_LABEL_STORAGE, 1, why };
	flow_deinit(&flow);
	return found;
}

/* Returns the register that has the size; FLOW_NONE: the call returns no block. */
static unsigned size_register_of(const struct flow_code *code, const struct flow_callee *callee)
{
	unsigned own;

	if (!callee->symbol) {
		own = block_wrapper_size(code, callee->vaddr);
		return own != FLOW_NONE ? own : FLOW_RDI;
	}
	if (strstr(callee->symbol, "posix_memalign"))
		return FLOW_NONE;
	return strstr(callee->symbol, "realloc") || strstr(callee->symbol, "align") ? FLOW_RSI
										     : FLOW_RDI;
}

/* Labels new T[n]: the factor is an element's size if it is the whole product, or if the count's
 * limit is that of such elements. */
static struct site_label label_of_new_array(const struct size_code *size,
					    const struct size_product *product)
{
	uint64_t bytes = product->unit;

	if (!(product->saturated || product->cookie) || bytes < SIZE_ELEMENT_MIN ||
	    bytes > SIZE_ELEMENT_MAX ||
	    !(product->whole || size_code_has_limit(size, UINT64_MAX / bytes)))
		return (struct site_label){ .kind = SITE_LABEL_NONE };
	return (struct site_label){ SITE_LABEL_ARRAY, bytes, "new[] of elements of this size" };
}

/* Notes the count of an array's elements that precedes them. */
static void add_cookie(const struct flow_code *code, uint64_t ret, struct site_label *label)
{
	if (label->kind == SITE_LABEL_ARRAY && size_cookie_follows(code, ret))
		label->kind = SITE_LABEL_BEHIND_COUNT;
}

/* True if calloc(count, unit) requests a constant number of bytes. */
static bool is_fixed_calloc(const struct code_before *before, uint64_t *bytes)
{
	uint64_t count = 0, unit = 0;

	return code_before_sets(before, FLOW_RDI, &count) &&
	       code_before_sets(before, FLOW_RSI, &unit) &&
	       !__builtin_mul_overflow(count, unit, bytes);
}

static struct site_label label_of_calloc(const struct code_before *before)
{
	uint64_t count = 0, unit = 0;
	bool counted = code_before_sets(before, FLOW_RDI, &count);

	if (!code_before_sets(before, FLOW_RSI, &unit) || !unit || unit > SIZE_ELEMENT_MAX)
		return (struct site_label){ .kind = SITE_LABEL_NONE };
	if (!counted || count > 1)
		return unit < SIZE_ELEMENT_MIN
			       ? (struct site_label){ SITE_LABEL_STORAGE, 1, "calloc of a count" }
			       : (struct site_label){ SITE_LABEL_ARRAY, unit,
						      "calloc of elements of this size" };
	if (unit % WORD == 0 && unit & (unit - 1))
		return (struct site_label){ SITE_LABEL_OBJECT, unit, "calloc of one" };
	return (struct site_label){ .kind = SITE_LABEL_NONE };
}

/* ---- the interface ---- */

/* Labels blocks for which no other rule found anything. */
static struct site_label label_of_new(const struct flow_code *code, uint64_t ret, bool constant,
				      uint64_t bytes)
{
	const char *why = constant ? object_use_find(code, ret, bytes) : NULL;

	if (why)
		return (struct site_label){ SITE_LABEL_OBJECT, bytes, why };
	if (constant && bytes >= LARGE && !(bytes & (bytes - 1)))
		return (struct site_label){ SITE_LABEL_STORAGE, 1, "a power of two, and large" };
	if (!constant && aligned_gap_follows(code, ret))
		return (struct site_label){
			SITE_LABEL_ALIGNED, 1, "its address is kept beside an aligned one in it"
		};
	return (struct site_label){ .kind = SITE_LABEL_NONE };
}

struct site_label site_label_find(const struct flow_code *code, uint64_t call, uint64_t ret,
				  const struct flow_callee *callee, bool known)
{
	const char *name = callee->symbol ? callee->symbol : "";
	unsigned size_register = size_register_of(code, callee);
	const struct site_label none = { .kind = SITE_LABEL_NONE };
	struct size_code size = { .bytes = { .code = code },
				  .halves = reloc_uses_libstdcxx(code->relocs) };
	struct code_before before;
	struct size_product product;
	struct site_label found = none;
	uint64_t bytes;
	bool constant, calloced;

	if (size_register == FLOW_NONE || !code_before_read(code, call, ret, &before))
		return none;
	calloced = !strcmp(name, "calloc");
	constant = calloced ? is_fixed_calloc(&before, &bytes)
			    : code_before_sets(&before, size_register, &bytes);
	if (constant)
		found = label_of_use(code, ret, callee);
	else if (code_before_each(&before, size_code_note, &size))
		found = size_code_label(&size);
	product.unit = 0;
	if (!constant && !calloced &&
	    size_product_find(&before, size_register, &product) && found.kind == SITE_LABEL_NONE)
		found = label_of_new_array(&size, &product);
	add_cookie(code, ret, &found);
	if (found.kind == SITE_LABEL_NONE && (constant || known))
		found = constant ? label_of_fixed(code, ret, bytes)
				 : label_of_sized(&before, ret, size_register, name);
	if (found.kind == SITE_LABEL_NONE)
		found = label_of_new(code, ret, constant, bytes);
	if (found.kind == SITE_LABEL_NONE && calloced)
		found = label_of_calloc(&before);
	else if (found.kind == SITE_LABEL_NONE && product.unit && known)
		found = (struct site_label){ SITE_LABEL_STORAGE, 1, "the size is a product" };
	code_before_deinit(&before);
	return found;
}

uint64_t site_label_multiple(const struct site_label *label)
{
	return label->kind == SITE_LABEL_BEHIND_COUNT ? WORD : label->unit;
}

void site_label_text(const struct site_label *label, char out[SITE_LABEL_TEXT])
{
	static const char *const texts[] = {
		[SITE_LABEL_NONE] = "",		   [SITE_LABEL_STRING] = "string",
		[SITE_LABEL_STORAGE] = "storage",  [SITE_LABEL_NODE] = "map node",
		[SITE_LABEL_CALLBACK] = "callback",
		[SITE_LABEL_COUNTED] = "reference-counted object",
		[SITE_LABEL_ALIGNED] = "aligned block"
	};

	if (label->kind == SITE_LABEL_ARRAY || label->kind == SITE_LABEL_BEHIND_COUNT)
		snprintf(out, SITE_LABEL_TEXT, "array of %llu-byte elements",
			 (unsigned long long)label->unit);
	else if (label->kind == SITE_LABEL_OBJECT)
		snprintf(out, SITE_LABEL_TEXT, "%llu-byte object", (unsigned long long)label->unit);
	else
		snprintf(out, SITE_LABEL_TEXT, "%s", texts[label->kind]);
}
