/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_flow.c: the pointer followed through code that was written by hand below, instruction for
 * instruction what the facts must be; the calls in front of return addresses; and every allocation
 * site of libraries that nobody here wrote, with damaged copies of them.
 *
 * Each case is a function of this program with a return address in it, listed in the section
 * flow_cases. It is never run. What the walk finds is written out as text and compared as a whole,
 * so a fact too many fails as well as one too few.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../symbolizer/elf/binary.h"
#include "../../symbolizer/flow/flow.h"
#include "../../symbolizer/flow/flow_calls.h"
#include "../../symbolizer/flow/flow_code.h"
#include "../../symbolizer/elf/reloc.h"
#include "../../symbolizer/elf/symtab.h"
#include "check.h"

/* A function, where its pointer starts, and its end. `text` holds the label .Lret_NAME. */
#define CASE(name, text)                                                                      \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n" #name ":\n" text            \
		"\n.Lend_" #name ":\n.size " #name ", .Lend_" #name " - " #name "\n"          \
		".pushsection .rodata\n.Lname_" #name ": .asciz \"" #name "\"\n.popsection\n" \
		".pushsection flow_cases, \"aw\", @progbits\n.quad .Lname_" #name ", " #name  \
		", .Lret_" #name ", .Lend_" #name "\n.popsection\n")
#define NEW(name) "call _Znwm@PLT\n.Lret_" #name ":\n"
#define FUNCTION(name, text)                                                                     \
	__asm__(".text\n.p2align 4\n.type " name ", @function\n" name ":\n" text "\n.size " name \
		", . - " name "\n")

struct flow_case {
	const char *name;
	uintptr_t low, ret, high;
};
extern const struct flow_case __start_flow_cases[], __stop_flow_cases[];

__asm__(".section .data.rel.ro, \"aw\"\n.p2align 4\n"
	".type first_table, @object\nfirst_table: .quad 0, 0, construct, construct\n.size "
	"first_table, 32\n"
	".type second_table, @object\nsecond_table: .quad 0, 0, construct, construct\n.size "
	"second_table, 32\n"
	".type both_tables, @object\nboth_tables: .quad first_table + 16, second_table + 16\n.size "
	"both_tables, 16\n"
	".data\n.type variable, @object\nvariable: .quad construct\n.size variable, 8\n"
	".type table, @object\ntable: .zero 64\n.size table, 64\n");

FUNCTION("construct", "mov %esi, (%rdi)\nret");
FUNCTION("other", "test %edi, %edi\nje 1f\nnop\n1: ret");
FUNCTION("_ZnwmPv", "mov %rsi, %rax\nret");
FUNCTION("give_up", "push %rax\nlea 1f(%rip), %rdi\ncall puts@PLT\ncall abort@PLT\n1: nop");
FUNCTION("thunk", "jmp construct");
FUNCTION("adjusting", "endbr64\nsub $16, %rdi\njmp construct");
FUNCTION("allocate", "test %rdi, %rdi\nje 1f\nmov %rdi, %rax\nshr $60, %rax\njne 2f\nshl $3, "
		     "%rdi\njmp _Znwm@PLT\n"
		     "1: xor %eax, %eax\nret\n2: push %rax\ncall _ZSt17__throw_bad_allocv@PLT");
FUNCTION("maybe", "test %rdi, %rdi\nje 1f\njmp construct\n1: ret");
FUNCTION("two_ways", "test %rdi, %rdi\nje 1f\njmp construct\n1: jmp other");
FUNCTION("maybe_calls", "test %rdi, %rdi\nje 1f\njmp construct\n1: call other\nret");
__asm__(".text\n.p2align 4\n.Lstub: endbr64\njmp *puts@GOTPCREL(%rip)\n"); /* without a symbol */
FUNCTION("calls_first", "push %rbx\ncall construct\npop %rbx\njmp malloc@PLT");
FUNCTION("around", "1: dec %rdi\njne 1b\njmp around");
FUNCTION("through_got", "endbr64\njmp *malloc@GOTPCREL(%rip)");

CASE(plain_return, NEW(plain_return) "mov %rax, %rbx\nmov %rbx, %rax\nret");
CASE(constructor, NEW(constructor) "mov $3, %esi\nmov %rax, %rbx\nmov %rax, %rdi\ncall "
				   "construct\nmov %rbx, %rax\npop %rbx\nret");
CASE(caller_saved, NEW(caller_saved) "mov %rax, %rcx\nmov %rax, %r12\ncall other\nmov %rcx, "
				     "8(%rbx)\nmov %r12, 16(%rbx)\nmov %ecx, %eax\nret");
CASE(half_register, NEW(half_register) "mov %eax, %eax\nmov %rax, 8(%rbx)\nret");
CASE(byte_register, NEW(byte_register) "mov %rax, %rdx\nmov $1, %al\nmov %rax, 8(%rbx)\nmov %rdx, "
				       "16(%rbx)\nxor %eax, %eax\nret");
CASE(member, NEW(member) "mov 8(%rbx), %rdi\nmov %rax, 8(%rbx)\ncall other\nxor %eax, %eax\nret");
CASE(element, NEW(element) "mov %rax, 48(%r13,%rcx,8)\nxor %eax, %eax\nret");
CASE(global, NEW(global) "mov %rax, variable(%rip)\nxor %eax, %eax\nret");
CASE(global_through_got,
     NEW(global_through_got) "mov stderr@GOTPCREL(%rip), %rdx\nmov %rax, (%rdx)\nlea table(%rip), "
			     "%rcx\nmov %rax, 16(%rcx)\n"
			     "mov %rax, (%rcx,%rsi,8)\nxor %eax, %eax\nret");
CASE(cookie, NEW(cookie) "mov %rbx, (%rax)\nadd $8, %rax\nret");
CASE(offsets, NEW(offsets) "lea 24(%rax), %rdi\nsub $8, %rdi\ninc %rdi\nmov %rax, %rbx\ncall "
			   "construct\nlea -8(%rbx), %rax\nret");
CASE(lost_by_arithmetic,
     NEW(lost_by_arithmetic) "mov %rax, %rdi\nadd %rcx, %rdi\nand $-16, %rax\ncall construct\nret");
CASE(frame_slots,
     NEW(frame_slots) "mov %rax, -24(%rbp)\nmov -24(%rbp), %rdi\ncall construct\nmov -24(%rbp), "
		      "%rdx\nmov -8(%rbp), %rax\n"
		      "mov %rdx, 8(%rax)\nmovl $0, -20(%rbp)\nmov -24(%rbp), %rax\nleave\nret");
CASE(stack_slots, NEW(stack_slots) "mov %rax, 8(%rsp)\nsub $32, %rsp\nmov 40(%rsp), %rdi\ncall "
				   "construct\nadd $32, %rsp\nmov 8(%rsp), %rax\n"
				   "lea 16(%rsp), %rdx\nmov %rax, (%rdx)\nmov 16(%rsp), %rdi\ncall "
				   "construct\nxor %eax, %eax\nret");
CASE(slot_given_away, NEW(slot_given_away) "mov %rax, -24(%rbp)\nlea -24(%rbp), %rdi\ncall "
					   "other\nmov -24(%rbp), %rdi\ncall construct\nret");
CASE(push_and_pop, NEW(push_and_pop) "push %rax\npush $4\npop %rdx\npop %rdi\ncall construct\nret");
CASE(exchange, NEW(exchange) "xchg %rax, %rdi\nxchg %rdi, 8(%rbx)\ncall construct\nret");
CASE(conditional_move, NEW(conditional_move) "mov %rax, %rdi\nmov %rax, %rdx\ncmp $3, %ebx\ncmove "
					     "%rax, %rdi\ncmove %rbx, %rdx\ncall construct\nret");
CASE(null_move, NEW(null_move) "lea 8(%rax), %rdi\nmov %rax, %rdx\ntest %rax, %rax\ncmove %rax, "
			       "%rdi\ncmovne %rdi, %rdx\nmov %rdx, %rsi\ncall construct\nret");
CASE(null_check, NEW(null_check) "mov %rax, %rbx\ntest %rax, %rax\nje 1f\nmov %rax, %rdi\ncall "
				 "construct\n1: mov %rbx, %rax\nret\n");
CASE(null_check_other_way, NEW(null_check_other_way) "mov %rax, -8(%rbp)\ncmpq $0, -8(%rbp)\njne "
						     "1f\nmov %rax, %rdi\ncall other\nret\n"
						     "1: mov %rax, %rdi\ncall construct\nret");
CASE(not_a_null_check,
     NEW(not_a_null_check) "test %rax, %rbx\nje 1f\nmov %rax, %rdi\ncall construct\nret\n1: mov "
			   "%rax, 8(%rbx)\nxor %eax, %eax\nret");
CASE(two_arms, NEW(two_arms) "mov %rax, %rbx\ntest %r12d, %r12d\nje 1f\nmov %rax, %rdi\ncall "
			     "construct\njmp 2f\n"
			     "1: mov %rax, %rdi\ncall other\n2: mov %rbx, %rax\nret");
CASE(one_arm_loses, NEW(one_arm_loses) "mov %rax, %rbx\ntest %r12d, %r12d\nje 1f\nxor %ebx, "
				       "%ebx\n1: mov %rbx, 8(%r13)\nxor %eax, %eax\nret");
CASE(one_arm_throws, NEW(one_arm_throws) "mov %rax, %rbx\ntest %r12d, %r12d\nje 1f\ncall "
					 "_ZSt17__throw_bad_allocv@PLT\n"
					 "1: mov %rbx, %rdi\ncall construct\ntest %r12d, "
					 "%r12d\njne 2f\nmov %rbx, %rax\nret\n2: call give_up");
CASE(arm_with_other_constant,
     NEW(arm_with_other_constant) "lea 16+first_table(%rip), %rdx\ntest %r12d, %r12d\nje 1f\nlea "
				  "16+second_table(%rip), %rdx\n1: mov %rdx, (%rax)\nret");
CASE(back_without_it, NEW(back_without_it) "mov %rax, %rbx\ntest %r12d, %r12d\nje 1f\nmov %rax, "
					   "%rdi\ncall free@PLT\nlea 8(%r13), %rbx\n"
					   "1: mov %rbx, 8(%r13)\nxor %eax, %eax\nret");
CASE(given_object, NEW(given_object) "mov %rax, 64(%rsp)\nmov %rax, 8(%rsp)\nlea 32(%rsp), "
				     "%rdi\ncall construct\nmov 64(%rsp), %rdi\n"
				     "call other\nmov 8(%rsp), %rdi\ncall construct\nret");
CASE(loop, "1: " NEW(loop) "mov %rax, %rdi\nmov %rbp, %r14\nmov %rax, %rbp\ncall construct\ndec "
			   "%r12d\njne 1b\nxor %eax, %eax\nret");
CASE(loop_over_elements,
     NEW(loop_over_elements) "mov %rax, %rbx\n1: mov %rbx, %rdi\ncall construct\nadd $24, "
			     "%rbx\ncmp %rbx, %r12\njne 1b\nxor %eax, %eax\nret");
CASE(endless, NEW(endless) "mov %rax, %rbx\n1: mov %rbx, %rdi\ntest %r12d, %r12d\nje 1b\ncall "
			   "construct\njmp 1b");
CASE(vtable, NEW(vtable) "lea 16+first_table(%rip), %rdx\nmov %rdx, (%rax)\nmovq $0, 8(%rax)\nret");
CASE(imported_vtable,
     NEW(imported_vtable) "mov _ZTVN10__cxxabiv117__class_type_infoE@GOTPCREL(%rip), %rdx\nadd "
			  "$16, %rdx\nmov %rdx, (%rax)\nret");
CASE(two_at_once, NEW(two_at_once) "lea 16+first_table(%rip), %rdx\nlea 16+second_table(%rip), "
				   "%rcx\nmovq %rdx, %xmm0\nmovq %rcx, %xmm1\n"
				   "punpcklqdq %xmm1, %xmm0\nmovups %xmm0, 8(%rax)\nret");
CASE(two_from_memory,
     NEW(two_from_memory) "movdqa both_tables(%rip), %xmm3\nmovups %xmm3, (%rax)\nret");
CASE(high_from_memory,
     NEW(high_from_memory) "lea 16+second_table(%rip), %rdx\nmovq %rdx, %xmm0\nmovhps "
			   "both_tables(%rip), %xmm0\nmovups %xmm0, (%rax)\n"
			   "movhps %xmm0, 32(%rax)\nmovlps %xmm0, 40(%rax)\nret");
CASE(avx, NEW(avx) "lea 16+first_table(%rip), %rdx\nvmovq %rdx, %xmm2\nlea 16+second_table(%rip), "
		   "%rdx\nvpinsrq $1, %rdx, %xmm2, %xmm1\n"
		   "vpunpcklqdq %xmm2, %xmm2, %xmm4\nvmovdqu %xmm1, (%rax)\nvmovdqu %xmm4, "
		   "16(%rax)\nret");
CASE(half_of_a_vector,
     NEW(half_of_a_vector) "movq %rax, %xmm0\npunpcklqdq %xmm0, %xmm0\nmovq %rbx, "
			   "%xmm1\npunpcklqdq %xmm0, %xmm1\nmovups %xmm1, 16(%rbx)\n"
			   "movaps %xmm0, (%rsp)\nxor %eax, %eax\nmov 8(%rsp), %rdi\ncall "
			   "construct\nmovups %xmm0, (%rbx)\nret");
CASE(vector_overwritten, NEW(vector_overwritten) "movq %rax, %xmm0\nxor %eax, %eax\npxor %xmm0, "
						 "%xmm0\nmovups %xmm0, (%rbx)\nret");
CASE(tail_jump, NEW(tail_jump) "mov %rax, %rsi\nmov %rbx, %rdi\npop %rbx\njmp construct");
CASE(tail_jump_to_import, NEW(tail_jump_to_import) "mov %rax, %rdi\njmp free@PLT");
CASE(conditional_tail_jump,
     NEW(conditional_tail_jump) "mov %rax, %rdi\ntest %ebx, %ebx\nje construct\ncall other\nxor "
				"%eax, %eax\nret");
CASE(virtual_tail_jump, NEW(virtual_tail_jump) "mov %rax, %rdi\nmov (%rbx), %rax\njmp *24(%rax)");
CASE(jump_table, NEW(jump_table) "mov %rax, %rdi\njmp *%rcx");
CASE(several_arguments,
     NEW(several_arguments) "mov %rax, %rdi\nlea 8(%rax), %rsi\nmov %rax, %rdx\nmov %rax, "
			    "%rcx\nmov %rax, %r8\nlea 16(%rax), %r9\ncall other\nret");
CASE(through_slot,
     NEW(through_slot) "mov %rax, %rdi\nmov %rax, %rbx\ncall *puts@GOTPCREL(%rip)\nmov %rbx, "
		       "%rdi\nmov puts@GOTPCREL(%rip), %r13\n"
		       "call *%r13\nmov %rbx, %rdi\ncall *variable(%rip)\nmov %rbx, %rdi\ncall "
		       "*8(%r13)\nret");
CASE(placement, NEW(placement) "mov %rax, %rsi\nmov $32, %edi\ncall _ZnwmPv\nmov %rax, %rdi\ncall "
			       "construct\nret");
CASE(cleared, NEW(cleared) "mov %rax, %rdi\nxor %esi, %esi\nmov $16, %edx\ncall memset@PLT\nmov "
			   "%rax, 8(%rbx)\nxor %eax, %eax\nret");
CASE(freed, NEW(freed) "mov %rax, %rbx\nmov %rax, %rdi\ncall free@PLT\nmov %rbx, %rdi\ncall "
		       "construct\nret");
CASE(deleted, NEW(deleted) "mov %rax, %rbx\nmov %rax, %rdi\ncall _ZdlPv@PLT\nmov %rbx, %rdi\ncall "
			   "construct\nret");
CASE(stale_test, NEW(stale_test) "test %rax, %rax\nmov %rax, %rdi\ndec %r12d\nje 1f\ncall "
				 "construct\nret\n1: call other\nret");
CASE(test_of_two, NEW(test_of_two) "mov %rax, %rdi\ntest %rbx, %rax\nje 1f\ncall "
				   "construct\nret\n1: call other\nret");
CASE(thread_local_slot,
     NEW(thread_local_slot) "mov %rax, %fs:-8(%rbp)\nmov -8(%rbp), %rdi\ncall construct\nret");
CASE(one_arm_slot, NEW(one_arm_slot) "mov %rax, -8(%rbp)\ntest %r12d, %r12d\nje 1f\nmovq $0, "
				     "-8(%rbp)\n1: mov -8(%rbp), %rdi\ncall construct\n"
				     "xor %eax, %eax\nret");
CASE(through_stub, NEW(through_stub) "mov %rax, %rdi\ncall .Lstub\nret");
CASE(ends_in_noreturn,
     NEW(ends_in_noreturn) "mov %rax, %rbx\nmov %rax, %rdi\ncall __cxa_throw@PLT\nmov %rbx, "
			   "%rdi\ncall construct\nud2");
CASE(trap, NEW(trap) "ud2\nmov %rax, %rdi\ncall construct\nret");
CASE(number, NEW(number) "movq $0x400, (%rax)\nmov $0x408, %edx\nmov %rdx, 8(%rax)\nret");
CASE(string_instructions,
     NEW(string_instructions) "mov %rax, %rdi\nmov $4, %ecx\nmov %rax, %rbx\nrep stosq\nmov %rdi, "
			      "8(%r12)\nmov %rbx, 16(%r12)\nxor %eax, %eax\nret");
CASE(compare_and_swap, NEW(compare_and_swap) "mov %rax, %rcx\nxor %eax, %eax\nlock cmpxchg %rcx, "
					     "8(%rbx)\nxor %ecx, %ecx\nret");
CASE(thread_local, NEW(thread_local) "mov %rax, %fs:16\nmov %rax, %fs:(%rdx)\nxor %eax, %eax\nret");
CASE(long_way, NEW(long_way) ".rept 300\nnop\n.endr\nret");
CASE(cold, NEW(cold) "mov %rax, %rbx\ntest %r12d, %r12d\nje cold.cold\nmov %rbx, %rax\nret");
FUNCTION("cold.cold", "mov %rbx, %rdi\ncall construct\njmp .Lret_cold");

static const struct {
	const char *name, *facts; /* a ! behind what is certain */
} expected[] = {
	{ "plain_return", "return +0!" },
	{ "constructor", "call construct rdi+0!; return +0!" },
	{ "caller_saved", "call other rcx+0!; store +0 at rbx+16!" },
	{ "half_register", "" },
	{ "byte_register", "store +0 at rbx+16!" },
	{ "member", "store +0 at rbx+8!" },
	{ "element", "store +0 at r13+48+*8!" },
	{ "global", "store +0 at variable+0!" },
	{ "global_through_got",
	  "store +0 at stderr+0!; store +0 at table+16!; store +0 at rcx+0+*8!" },
	{ "cookie", "return +8!" },
	{ "offsets", "call construct rdi+17!; return -8!" },
	{ "lost_by_arithmetic", "" },
	{ "frame_slots", "store +0 at rbp-24!; call construct rdi+0!; store +0 at rax+8!" },
	{ "stack_slots",
	  "store +0 at rsp+8!; call construct rdi+0!; store +0 at rdx+0!; call construct rdi+0!" },
	{ "slot_given_away", "store +0 at rbp-24!" },
	{ "push_and_pop", "call construct rdi+0!" },
	{ "exchange", "store +0 at rbx+8!" },
	{ "conditional_move", "call construct rdi+0!" },
	{ "null_move", "call construct rdi+8!; call construct rsi+8!; call construct rdx+8!" },
	{ "null_check", "call construct rdi+0!; return +0!" },
	{ "null_check_other_way", "store +0 at rbp-8!; call construct rdi+0!" },
	{ "not_a_null_check", "store +0 at rbx+8; call construct rdi+0" },
	{ "two_arms", "call construct rdi+0; call other rdi+0; return +0!" },
	{ "one_arm_loses", "store +0 at r13+8" },
	{ "one_arm_throws", "call construct rdi+0!; return +0!" },
	{ "arm_with_other_constant",
	  "const first_table+16 at +0; const second_table+16 at +0; return +0!" },
	{ "back_without_it", "store +0 at r13+8; call free rdi+0" },
	{ "given_object", "store +0 at rsp+64!; store +0 at rsp+8!; call construct rdi+0!" },
	{ "loop", "call construct rdi+0!" },
	{ "loop_over_elements", "call construct rdi+0!; call construct rdi+24; call construct "
				"rdi+48; call construct rdi+72" },
	{ "endless", "call construct rdi+0" },
	{ "vtable", "const first_table+16 at +0!; return +0!" },
	{ "imported_vtable", "const _ZTVN10__cxxabiv117__class_type_infoE+16 at +0!; return +0!" },
	{ "two_at_once", "const first_table+16 at +8!; const second_table+16 at +16!; return +0!" },
	{ "two_from_memory",
	  "const first_table+16 at +0!; const second_table+16 at +8!; return +0!" },
	{ "high_from_memory", "const second_table+16 at +0!; const first_table+16 at +8!; const "
			      "first_table+16 at +32!; "
			      "const second_table+16 at +40!; return +0!" },
	{ "avx", "const first_table+16 at +0!; const second_table+16 at +8!; const first_table+16 "
		 "at +16!; const first_table+16 at +24!; "
		 "return +0!" },
	{ "half_of_a_vector",
	  "store +0 at rbx+24!; store +0 at rsp+0!; store +0 at rsp+8!; call construct rdi+0!" },
	{ "vector_overwritten", "" },
	{ "tail_jump", "jump construct rsi+0!" },
	{ "tail_jump_to_import", "jump free rdi+0!" },
	{ "conditional_tail_jump", "jump construct rdi+0; call other rdi+0" },
	{ "virtual_tail_jump", "jump ? rdi+0!" },
	{ "jump_table", "lost!" },
	{ "several_arguments", "call other rdi+0!; call other rsi+8!; call other rdx+0!; call "
			       "other rcx+0!; call other r8+0!; call other r9+16!" },
	{ "through_slot", "call puts rdi+0!; call puts rdi+0!; call ? rdi+0!; call ? rdi+0!" },
	{ "placement", "call _ZnwmPv rsi+0!; call construct rdi+0!" },
	{ "cleared", "call memset rdi+0!; store +0 at rbx+8!" },
	{ "freed", "call free rdi+0!" },
	{ "deleted", "call _ZdlPv rdi+0!" },
	{ "stale_test", "call construct rdi+0; call other rdi+0" },
	{ "test_of_two", "call construct rdi+0; call other rdi+0" },
	{ "thread_local_slot", "" },
	{ "one_arm_slot", "store +0 at rbp-8!; call construct rdi+0" },
	{ "through_stub", "call puts rdi+0!" },
	{ "ends_in_noreturn", "call __cxa_throw rdi+0!" },
	{ "trap", "" },
	{ "number", "return +0!" },
	{ "string_instructions", "store +0 at r12+16!" },
	{ "compare_and_swap", "store +0 at rbx+8!" },
	{ "thread_local", "" },
	{ "long_way", "lost" },
	{ "cold", "return +0; call construct rdi+0" },
};

/* ---- the file under the walk ---- */

struct opened {
	struct binary file;
	struct reloc_index relocs;
	struct symtab symbols;
	struct flow_code code;
};

static bool open_symbols(struct opened *opened)
{
	Elf64_Shdr section;

	reloc_index_init(&opened->relocs, &opened->file);
	for (size_t i = 0; binary_section(&opened->file, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			symtab_add(&opened->symbols, &opened->file, &section);
	symtab_finish(&opened->symbols, &opened->file);
	opened->code = (struct flow_code){ &opened->file, &opened->relocs, &opened->symbols };
	return true;
}

static bool open_file(struct opened *opened, const char *path)
{
	memset(opened, 0, sizeof(*opened));
	return binary_open(&opened->file, path) == BINARY_OK && open_symbols(opened);
}

static void close_file(struct opened *opened)
{
	symtab_deinit(&opened->symbols);
	reloc_index_deinit(&opened->relocs);
	binary_close(&opened->file);
}

static uint64_t bias;

static int find_bias(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	bias = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static const struct flow_case *case_named(const char *name)
{
	for (const struct flow_case *at = __start_flow_cases; at < __stop_flow_cases; at++)
		if (!strcmp(at->name, name))
			return at;
	fprintf(stderr, "no case %s\n", name);
	exit(1);
}

static bool follow_case(const struct opened *opened, const char *name, struct flow *out)
{
	const struct flow_case *at = case_named(name);

	return flow_follow(&opened->code, at->ret - bias, at->low - bias, at->high - bias, 0, 0,
			   out);
}

/* ---- facts as text ---- */

static const char *const register_names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					      "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					      "r12", "r13", "r14", "r15" };
static const char *const argument_names[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };

static void name_object(const struct opened *opened, uint64_t vaddr, char *out, size_t room)
{
	const struct symbol *symbol = symbols_find(&opened->symbols.objects, vaddr);

	snprintf(out, room, "%s%+ld", symbol ? symbol->name : "?",
		 symbol ? (long)(vaddr - symbol->value) : (long)vaddr);
}

static void write_fact(const struct opened *opened, const struct flow_fact *fact, char *out,
		       size_t room)
{
	const char *callee = fact->callee.symbol ? fact->callee.symbol : "?",
		   *mark = fact->certain ? "!" : "";
	char object[200], index[16] = "";

	switch (fact->kind) {
	case FLOW_CALL:
	case FLOW_JUMP:
		snprintf(out, room, "%s %s %s%+ld%s", fact->kind == FLOW_CALL ? "call" : "jump",
			 callee, argument_names[fact->argument], (long)fact->offset, mark);
		break;
	case FLOW_WRITE:
		snprintf(out, room, "write at %+ld", (long)fact->offset);
		break;
	case FLOW_VTABLE:
		name_object(opened, fact->value, object, sizeof(object));
		if (!fact->value)
			snprintf(object, sizeof(object), "%s%+ld", callee,
				 (long)fact->displacement);
		snprintf(out, room, "const %s at %+ld%s", object, (long)fact->offset, mark);
		break;
	case FLOW_STORE:
		if (fact->base != FLOW_NONE)
			snprintf(object, sizeof(object), "%s%+ld", register_names[fact->base],
				 (long)fact->displacement);
		else if (fact->value)
			name_object(opened, fact->value, object, sizeof(object));
		else
			snprintf(object, sizeof(object), "%s%+ld", callee,
				 (long)fact->displacement);
		if (fact->scale)
			snprintf(index, sizeof(index), "+*%u", fact->scale);
		snprintf(out, room, "store %+ld at %s%s%s", (long)fact->offset, object, index,
			 mark);
		break;
	case FLOW_RETURN: snprintf(out, room, "return %+ld%s", (long)fact->offset, mark); break;
	case FLOW_LOST: snprintf(out, room, "lost%s", mark); break;
	}
}

static void check_text(const char *name, const char *got, const char *want)
{
	char why[3000];

	snprintf(why, sizeof(why), "got \"%s\", want \"%s\"", got, want);
	check(name, !strcmp(got, want), why);
}

static void write_facts(const struct opened *opened, const struct flow *flow, char *out,
			size_t room)
{
	size_t used = 0;

	*out = 0;
	for (size_t i = 0; i < flow->fact_count && used < room; i++) {
		char text[300];

		write_fact(opened, &flow->facts[i], text, sizeof(text));
		used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "; " : "", text);
	}
}

static void check_cases(const struct opened *self)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		char got[2000], name[100];
		struct flow flow;

		snprintf(name, sizeof(name), "facts of %s", expected[i].name);
		if (!follow_case(self, expected[i].name, &flow)) {
			check(name, false, "no memory");
			continue;
		}
		write_facts(self, &flow, got, sizeof(got));
		flow_deinit(&flow);
		check_text(name, got, expected[i].facts);
	}
	check("every case is checked",
	      (size_t)(__stop_flow_cases - __start_flow_cases) ==
		      sizeof(expected) / sizeof(*expected),
	      "one has no expectation");
}

/* ---- states, arms ---- */

static void write_state(const struct flow_state *state, char *out, size_t room)
{
	size_t used = 0;

	*out = 0;
	if (!state) {
		snprintf(out, room, "none");
		return;
	}
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (state->possible >> i & 1)
			used += (size_t)snprintf(out + used, room - used, "%s%+d%s ",
						 register_names[i], (int)state->offsets[i],
						 state->registers >> i & 1 ? "" : "?");
	for (unsigned i = 0; i < state->slot_count; i++)
		used += (size_t)snprintf(out + used, room - used, "[%s%+ld]%+ld ",
					 register_names[state->slots[i].base],
					 (long)state->slots[i].displacement,
					 (long)state->slots[i].offset);
	if (state->rsp == FLOW_RSP_UNKNOWN)
		snprintf(out + used, room - used, "rsp?");
	else
		snprintf(out + used, room - used, "rsp%+ld", (long)state->rsp);
}

/* The state in front of the first fact of `kind`, or behind it. */
static void check_state(const struct opened *self, const char *name, enum flow_kind kind,
			bool behind, const char *want)
{
	char got[500] = "no such fact", title[100];
	struct flow flow;

	if (follow_case(self, name, &flow))
		for (size_t i = 0; i < flow.fact_count; i++)
			if (flow.facts[i].kind == kind) {
				write_state(flow_at(&flow, behind ? flow.facts[i].next
								  : flow.facts[i].vaddr),
					    got, sizeof(got));
				break;
			}
	flow_deinit(&flow);
	snprintf(title, sizeof(title), "state %s fact of %s", behind ? "behind" : "in front of",
		 name);
	check_text(title, got, want);
}

static void check_states(const struct opened *self)
{
	check_state(self, "constructor", FLOW_CALL, false, "rax+0 rbx+0 rdi+0 rsp+0");
	check_state(self, "constructor", FLOW_CALL, true, "rbx+0 rsp+0");
	check_state(self, "offsets", FLOW_CALL, false, "rax+0 rbx+0 rdi+17 rsp+0");
	check_state(self, "frame_slots", FLOW_CALL, true, "[rbp-24]+0 rsp+0");
	check_state(self, "stack_slots", FLOW_CALL, false, "rax+0 rdi+0 [rsp+8]+0 rsp-32");
	check_state(self, "push_and_pop", FLOW_CALL, false, "rax+0 rdi+0 [rsp-8]+0 rsp+0");
	check_state(self, "null_check", FLOW_RETURN, false, "rax+0 rbx+0 rsp+0");
	check_state(self, "one_arm_loses", FLOW_STORE, false, "rax+0 rbx+0? rsp+0");
	check_state(self, "back_without_it", FLOW_STORE, false, "rax+0? rbx+0? rsp+0");
	/* r14: the block of the round before */
	check_state(self, "loop", FLOW_CALL, false, "rax+0 rdi+0 rbp+0 rsp+0");
	check_state(self, "two_arms", FLOW_RETURN, false, "rax+0 rbx+0 rsp+0");
	check_state(self, "plain_return", FLOW_RETURN, true, "none");
}

static void check_arms(const struct opened *self)
{
	struct flow flow;

	if (follow_case(self, "two_arms", &flow) && flow.fact_count == 3) {
		const struct flow_fact *facts = flow.facts;

		check("two arms are alternatives",
		      facts[0].arm != facts[1].arm && facts[0].arm && facts[1].arm,
		      "they have one number");
		check("behind them is no arm", !facts[2].arm, "it has a number");
	} else {
		check("two arms are alternatives", false, "not three facts");
	}
	flow_deinit(&flow);
}

/* ---- calls ---- */

static void write_callee(const struct flow_callee *callee, char *out, size_t room)
{
	snprintf(out, room, "%s%s", callee->symbol ? callee->symbol : "?",
		 callee->vaddr ? "" : " elsewhere");
}

static void check_calls(const struct opened *self)
{
	static const struct {
		const char *name, *callee;
		bool low;
	} calls[] = { { "constructor", "_Znwm elsewhere", true },
		      { "constructor", "_Znwm elsewhere", false } };
	static const struct {
		const char *bytes, *callee; /* code in front of the return address */
		size_t length;
		bool only_by_bytes;
	} forms[] = {
		{ "\xff\xd0", "? elsewhere", 2, false },                     /* call *%rax */
		{ "\x41\xff\xd3", "? elsewhere", 3, false },                 /* call *%r11 */
		{ "\xff\x50\x08", "? elsewhere", 3, false },                 /* call *8(%rax) */
		{ "\x41\xff\x54\x24\x18", "? elsewhere", 5, false },         /* call *24(%r12) */
		{ "\xff\x90\x98\x01\x00\x00", "? elsewhere", 6, false },     /* call *408(%rax) */
		/* mov %rbp, %rax: an E8 five in front; call *8(%rsp) */
		{ "\x48\x89\xe8\xff\x54\x24\x08", "? elsewhere", 7, false },
		/* movabs $0xe8030201, %rax */
		{ "\x48\xb8\x01\x02\x03\xe8\x00\x00\x00\x00", "?", 10, true },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", NULL, 8, false },
	};
	struct flow_callee callee;
	char got[300];
	uint64_t vaddr;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		const struct flow_case *at = case_named(calls[i].name);
		bool found = flow_call_before(&self->code, calls[i].low ? at->low - bias : 0,
					      at->ret - bias, &vaddr, &callee);

		write_callee(&callee, got, sizeof(got));
		check_text(calls[i].low ? "the call in front, from the function's start"
					: "the call in front",
			   found ? got : "none", calls[i].callee);
	}

	/* the same without symbols, in a copy in memory that has other code in one place */
	const struct flow_case *place = case_named("long_way");

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (int known = 0; known < 2; known++) {
			struct binary copy;
			uint8_t *bytes = malloc(self->file.bytes);
			struct reloc_index relocs;
			uint64_t low = place->ret - bias + 32, at = low + 16;
			char title[60];

			memcpy(bytes, self->file.data, self->file.bytes);
			memcpy(bytes + ((const uint8_t *)binary_at(&self->file, at, 16) -
					self->file.data),
			       forms[i].bytes, forms[i].length);
			if (binary_open_memory(&copy, bytes, self->file.bytes) != BINARY_OK)
				exit(1);
			reloc_index_init(&relocs, &copy);

			const struct flow_code code = { &copy, &relocs, NULL };
			bool found = flow_call_before(&code, known ? low : 0, at + forms[i].length,
						      &vaddr, &callee);

			write_callee(&callee, got, sizeof(got));
			snprintf(title, sizeof(title), "call form %zu %s", i,
				 known ? "in line" : "by its bytes");
			check_text(title, found ? got : "none",
				   forms[i].callee && !(known && forms[i].only_by_bytes)
					   ? forms[i].callee
					   : "none");
			reloc_index_deinit(&relocs);
			binary_close(&copy);
		}
}

static void check_jumps(const struct opened *self)
{
	static const struct {
		const char *name, *callee;
	} jumps[] = {
		{ "thunk", "construct" },
		{ "adjusting", "construct" },
		{ "allocate", "_Znwm elsewhere" },
		{ "maybe", "none" },
		{ "two_ways", "none" },
		{ "maybe_calls", "none" },
		{ "calls_first", "none" },
		{ "around", "none" },
		{ "through_got", "malloc elsewhere" },
		{ "construct", "none" },
	};

	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		char got[300], title[60];
		struct flow_callee callee = { 0, NULL };
		uint64_t vaddr = 0;

		for (size_t k = 0; k < self->symbols.functions.count; k++)
			if (!strcmp(self->symbols.functions.at[k].name, jumps[i].name))
				vaddr = self->symbols.functions.at[k].value;

		bool found = vaddr && flow_jumps_to(&self->code, vaddr, &callee);

		write_callee(&callee, got, sizeof(got));
		snprintf(title, sizeof(title), "%s jumps on", jumps[i].name);
		check_text(title, found ? got : "none", jumps[i].callee);
	}

	/* the stub behind a call, which has no symbol */
	const struct flow_case *at = case_named("constructor");
	struct flow_instruction call;
	struct flow_callee callee = { 0, NULL };
	uint64_t stub = 0;
	char got[300];
	bool found = flow_decode(&self->code, at->ret - bias - 5, &call) &&
		     flow_address(&call, call.operands, &stub) &&
		     flow_jumps_to(&self->code, stub, &callee);

	write_callee(&callee, got, sizeof(got));
	check_text("a stub jumps on", found ? got : "none", "_Znwm elsewhere");
}

/* In a file that is never moved a number may be an address. */
static void check_fixed(const struct opened *self)
{
	struct opened fixed = { 0 };
	uint8_t *bytes = malloc(self->file.bytes);
	uint16_t type = ET_EXEC;
	struct flow flow;
	char got[500];

	memcpy(bytes, self->file.data, self->file.bytes);
	memcpy(bytes + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	if (binary_open_memory(&fixed.file, bytes, self->file.bytes) != BINARY_OK ||
	    !open_symbols(&fixed))
		exit(1);
	if (!follow_case(&fixed, "number", &flow))
		exit(1);
	write_facts(&fixed, &flow, got, sizeof(got));
	check_text("numbers in a file that is never moved", got,
		   "const ?+1024 at +0!; const ?+1032 at +8!; return +0!");
	flow_deinit(&flow);
	close_file(&fixed);
}

/* ---- real libraries, and damaged ones ---- */

struct survey {
	size_t sites, with_facts, lost, facts[FLOW_LOST + 1], steps, bad;
	size_t by_bytes_wrong; /* the call in front of a return address, without the function's
	                        * start */
};

static void survey_site(const struct opened *opened, uint64_t ret, struct survey *survey)
{
	const struct symbol *symbol = symbols_find(&opened->symbols.functions, ret - 1);
	uint64_t low = symbol ? symbol->value : 0, high = symbol ? symbol->value + symbol->size : 0;
	struct flow flow;
	size_t other = 0;

	if (!flow_follow(&opened->code, ret, low, high, 0, 0, &flow)) {
		survey->bad++;
		return;
	}
	survey->sites++;
	survey->steps += flow.state_count;
	survey->bad += flow.state_count > FLOW_STEPS || flow.fact_count > FLOW_FACTS;
	for (size_t i = 0; i < flow.fact_count; i++) {
		const struct flow_fact *fact = &flow.facts[i];

		survey->facts[fact->kind]++;
		other += fact->kind != FLOW_LOST;
		survey->lost += fact->kind == FLOW_LOST;
		/* a fact stands at an instruction that the walk came by */
		survey->bad += fact->kind != FLOW_LOST && !flow_at(&flow, fact->vaddr);
	}
	survey->with_facts += other != 0;
	flow_deinit(&flow);
}

/* Every call of an allocation function in the first `limit` bytes of .text, decoded in line from
 * its start. */
static void survey_file(const struct opened *opened, uint64_t limit, struct survey *survey)
{
	struct flow_instruction instruction;
	Elf64_Shdr text;

	memset(survey, 0, sizeof(*survey));
	if (!binary_section_named(&opened->file, ".text", &text))
		return;
	if (text.sh_size < limit)
		limit = text.sh_size;
	for (uint64_t at = text.sh_addr; at < text.sh_addr + limit;) {
		struct flow_callee callee = { 0, NULL };
		uint64_t target, found;

		if (!flow_decode(&opened->code, at, &instruction)) {
			at++;
			continue;
		}
		at = instruction.next;
		if (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_CALL ||
		    !flow_address(&instruction, instruction.operands, &target))
			continue;
		callee = instruction.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE
				 ? flow_callee_at(&opened->code, target)
				 : flow_callee_in(&opened->code, target);
		if (!flow_is_allocation(callee.symbol))
			continue;
		survey_site(opened, instruction.next, survey);
		survey->by_bytes_wrong +=
			!flow_call_before(&opened->code, 0, instruction.next, &found, &callee) ||
			!flow_is_allocation(callee.symbol);
	}
}

static void check_library(const char *path, size_t least)
{
	struct opened opened;
	struct survey survey;
	struct timespec before, after;
	char why[400], title[200];

	if (!open_file(&opened, path)) {
		printf("# no %s\n", path);
		return;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	survey_file(&opened, 4u << 20, &survey);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	snprintf(why, sizeof(why),
		 "%zu sites, %zu with facts (%zu calls, %zu jumps, %zu constants, %zu stores, %zu "
		 "returns), %zu lost, %zu steps, "
		 "%zu calls not found, %zu bad, %.1f s",
		 survey.sites, survey.with_facts, survey.facts[FLOW_CALL], survey.facts[FLOW_JUMP],
		 survey.facts[FLOW_VTABLE], survey.facts[FLOW_STORE], survey.facts[FLOW_RETURN],
		 survey.lost, survey.steps, survey.by_bytes_wrong, survey.bad,
		 (double)(after.tv_sec - before.tv_sec) +
			 (double)(after.tv_nsec - before.tv_nsec) / 1e9);
	printf("# %s: %s\n", path, why);
	snprintf(title, sizeof(title), "the sites of %s", path);
	/* an allocation of which nothing becomes is a leak: hardly any */
	check(title,
	      survey.sites >= least && !survey.bad && !survey.by_bytes_wrong &&
		      survey.with_facts * 100 >= survey.sites * 97,
	      why);
	close_file(&opened);
}

/* The same with code and headers overwritten at random: nothing to compare, but it must end, and
 * find its bounds. */
static void check_damaged(const char *path)
{
	struct opened whole, damaged;
	uint64_t random = 0x243f6a8885a308d3u;
	size_t bad = 0, sites = 0;
	char why[100];

	if (!open_file(&whole, path)) {
		printf("# no %s\n", path);
		return;
	}
	for (int round = 0; round < 24; round++) {
		uint8_t *bytes = malloc(whole.file.bytes);
		struct survey survey;

		memcpy(bytes, whole.file.data, whole.file.bytes);
		for (int i = 0; i < (round % 2 ? 40000 : 400); i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;

			uint64_t at = (random >> 20) % whole.file.bytes;

			/* each third round the program headers too */
			bytes[round % 3 == 2 && i < 4 ? 64 + at % 512
			      : at < 1024	      ? 1024
						      : at] = (uint8_t)(random >> 12);
		}
		memset(&damaged, 0, sizeof(damaged));
		if (binary_open_memory(&damaged.file, bytes, whole.file.bytes) != BINARY_OK)
			continue;
		open_symbols(&damaged);
		survey_file(&damaged, 256u << 10, &survey);
		for (int i = 0; i < 400; i++) { /* and from anywhere */
			random = random * 6364136223846793005u + 1442695040888963407u;

			struct flow_callee callee;
			uint64_t vaddr, start = (random >> 24) % (whole.file.bytes + 4096);

			flow_call_before(&damaged.code, i % 2 ? start - start % 512 : 0, start,
					 &vaddr, &callee);
			flow_jumps_to(&damaged.code, start, &callee);
			survey_site(&damaged, start, &survey);
		}
		sites += survey.sites;
		bad += survey.bad;
		close_file(&damaged);
	}
	close_file(&whole);
	snprintf(why, sizeof(why), "%zu sites, %zu bad", sites, bad);
	printf("# damaged %s: %s\n", path, why);
	check("damaged files", !bad && sites > 5000, why);
}

int main(void)
{
	struct opened self;

	dl_iterate_phdr(find_bias, NULL);
	if (!open_file(&self, "/proc/self/exe")) {
		printf("not ok open: /proc/self/exe\n");
		return 1;
	}
	check_cases(&self);
	check_states(&self);
	check_arms(&self);
	check_calls(&self);
	check_jumps(&self);
	check_fixed(&self);
	close_file(&self);
	check_library("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 150);
	check_library("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 500);
	check_damaged("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	return failures != 0;
}
