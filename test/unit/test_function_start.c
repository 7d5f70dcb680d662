/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_function_start.c: where functions begin in code without symbols, by the bytes in front of
 * them; and what only looks like a beginning. And where the next function begins without padding.
 *
 * Each case is code of this program that is never run: a function that is known to begin, what
 * stands in front of a multiple of 16, and code behind it. The labels say what is true.
 */
#define _GNU_SOURCE
#include <stdint.h>

#include "../../symbolizer/names/function_start.h"
#include "check.h"
#include "fixtures/own_code.h"

struct start_case {
	const char *name;
	uintptr_t before, here, ret; /* two beginnings, or one if `begins` is 0 */
	uint64_t begins;
};
extern const struct start_case __start_start_cases[], __stop_start_cases[];

/* `end` is the last code in front of the multiple of 16, `pad` its padding, `body` what is
 * there. */
#define START(name, begins, end, pad, body)                                                  \
	__asm__(".text\nret\n.p2align 4, 0xcc\n.byte 0xcc, 0xcc, 0xcc, 0xcc\nret\n"           \
		".p2align 4, 0xcc\n.Lbefore_" #name ":\n.skip 128, 0x50\n" end "\n" pad       \
		"\n.Lhere_" #name ":\n" body "\n.skip 16, 0x50\n.Lret_" #name ":\nret\n"      \
		".pushsection .rodata\n.Lname_" #name ": .asciz \"" #name "\"\n.popsection\n" \
		".pushsection start_cases, \"aw\", @progbits\n.quad .Lname_" #name             \
		", .Lbefore_" #name ", .Lhere_" #name ", .Lret_" #name ", " #begins            \
		"\n.popsection\n")
#define INT3 ".p2align 4, 0xcc"
#define FULL "" /* the code ends at the multiple of 16 */
#define FRAME "push %rbp\nmov %rsp, %rbp"

START(behind_ret, 1, "push %rax\nret", INT3, "push %rax");
START(behind_ret_n, 1, "ret $8", INT3, "push %rax");
START(behind_jump, 1, ".byte 0xe9, 1, 2, 3, 0", INT3, "push %rax");
START(behind_near_jump, 1, ".byte 0xeb, 5", INT3, "push %rax");
START(behind_call, 1, ".byte 0xe8, 1, 2, 3, 0", INT3, "push %rax");
START(behind_call_register, 1, "call *%r11", INT3, "push %rax");
START(behind_jump_register, 1, "jmp *%rax", INT3, "push %rax");
START(behind_jump_word, 1, "jmp *16(%rax)", INT3, "push %rax");
START(behind_jump_far_word, 1, "jmp *0x1234(%r12)", INT3, "push %rax");
START(behind_jump_slot, 1, "jmp *0x1234(%rip)", INT3, "push %rax");
START(behind_jump_table, 1, "jmp *(%rax,%rcx,8)", INT3, "push %rax");
START(behind_ud2, 1, "ud2", INT3, "push %rax");
START(behind_ud1, 1, ".byte 0x67, 0x0f, 0xb9, 0x40, 0x01", INT3, "push %rax");
START(behind_nop, 1, "ret", ".p2align 4, 0x90", "push %rax");
START(behind_wide_nop, 1, ".skip 5, 0x50\nret",
      ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", "push %rax");
START(no_padding_frame, 1, ".skip 11, 0x50\n.byte 0xe8, 1, 2, 3, 0", FULL, FRAME);
START(no_padding_endbr, 1, ".skip 15, 0x50\nret", FULL, "endbr64");
START(far_padding, 1, "ret\n.skip 15, 0xcc", ".skip 32, 0xcc", "push %rax");

START(in_number, 0, ".skip 6, 0x50\nmovabs $0xcccccccccccccccd, %r15", FULL, "push %rax");
START(moves_then_reads, 0, ".skip 10, 0x50\nmov %eax, %ebx\nmovzbl 4(%rdi), %eax", FULL,
      "push %rax");
START(frame_is_fallen_into, 0, ".skip 16, 0x50", FULL, FRAME);
START(int3_is_fallen_into, 0, ".skip 14, 0x50", INT3, "push %rax");
START(aligned_loop, 0, ".skip 13, 0x50\n.byte 0x0f, 0x1f, 0x00", FULL, "push %rax");

/* Two functions, the second at a multiple of 16 right behind the first: where they begin, and an
 * instruction of each. */
struct part_case {
	const char *name;
	uintptr_t low, inside, next, behind;
};
extern const struct part_case __start_part_cases[], __stop_part_cases[];

#define PART(name, body, end)                                                                \
	__asm__(".text\nret\n.p2align 4, 0xcc\n.byte 0xcc, 0xcc, 0xcc, 0xcc\nret\n"           \
		".p2align 4, 0xcc\n.Lpart_" #name ":\n" FRAME "\n" body "\n.Linside_" #name     \
		":\nnop\n.skip 27 - (. - .Lpart_" #name "), 0x50\n" end "\n.Lnext_" #name        \
		":\n.skip 20, 0x50\n.Lbehind_" #name ":\nret\n.p2align 4, 0xcc\n"               \
		".pushsection .rodata\n.Lpart_name_" #name ": .asciz \"" #name "\"\n.popsection\n" \
		".pushsection part_cases, \"aw\", @progbits\n.quad .Lpart_name_" #name           \
		", .Lpart_" #name ", .Linside_" #name ", .Lnext_" #name ", .Lbehind_" #name   \
		"\n.popsection\n")

PART(it_calls_the_next, "call .Lnext_it_calls_the_next", ".byte 0xe8, 1, 2, 3, 0");
PART(it_ends_in_abort, "xor %eax, %eax", "call abort@PLT");

int main(void)
{
	struct own_code own;

	if (!own_code_open(&own)) {
		printf("not ok open: /proc/self/exe\n");
		return 1;
	}

	const struct flow_code code = { &own.file, &own.relocs, NULL };
	const uint64_t bias = own.bias;

	for (const struct start_case *c = __start_start_cases; c < __stop_start_cases; c++) {
		uint64_t start = 0, want = c->begins ? c->here : c->before;
		bool found = function_start(&code, c->ret - bias, &start);

		checkf(c->name, found && start + bias == want,
		       "found %d, %" PRId64 " bytes behind the beginning", found,
		       (int64_t)(start + bias - want));
	}
	for (const struct part_case *c = __start_part_cases; c < __stop_part_cases; c++) {
		uint64_t low = 0, high = 0;
		bool found = function_part(&code, c->inside - bias, &low, &high);

		checkf(c->name, found && low + bias == c->low && high + bias == c->next,
		       "found %d, %" PRId64 " bytes too long", found,
		       (int64_t)(high + bias - c->next));
	}
	/* seen from the next one, only a call that never returns says it */
	for (const struct part_case *c = __start_part_cases + 1; c < __stop_part_cases; c++) {
		uint64_t low = 0, high = 0;
		bool found = function_part(&code, c->behind - bias, &low, &high);

		checkf("seen_from_the_next", found && low + bias == c->next,
		       "found %d, %" PRId64 " bytes in front", found,
		       (int64_t)(c->next - low - bias));
	}
	own_code_close(&own);
	return failures != 0;
}
