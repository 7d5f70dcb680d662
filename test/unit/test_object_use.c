/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_object_use.c: what is written into a block of a fixed size makes it an object, or the
 * characters of a string, or the elements of an array.
 *
 * Each case is code of this program that is never run, as clang makes it: what stands behind the
 * call that made the block.
 */
#define _GNU_SOURCE
#include <stdint.h>

#include "../../symbolizer/names/object_use.h"
#include "check.h"
#include "fixtures/own_code.h"

struct use_case {
	const char *name;
	uintptr_t code;
	uint64_t bytes, is_object;
};
extern const struct use_case __start_use_cases[], __stop_use_cases[];

#define USE(name, bytes, object, body)                                                       \
	__asm__(".text\n.p2align 4, 0xcc\n.Luse_" #name ":\n" body "\nret\n"                  \
		".pushsection .rodata\n.Luse_name_" #name ": .asciz \"" #name "\"\n.popsection\n" \
		".pushsection use_cases, \"aw\", @progbits\n.quad .Luse_name_" #name           \
		", .Luse_" #name ", " #bytes ", " #object "\n.popsection\n")

#define COPY "movups (%r12), %xmm0\nmovups 16(%r12), %xmm1\nmovups %xmm0, (%rax)\n"            \
	"movups %xmm1, 16(%rax)\nmov 32(%r12), %rcx\nmov %rcx, 32(%rax)\n"
#define SHORT "movb $24, 24(%rax)\nmovabs $0x617373654d425047, %rcx\nmov %rcx, 25(%rax)\n"      \
	"movl $0x682e6567, 33(%rax)\nmovb $0, 37(%rax)\n"
#define MOVED "movups (%r15), %xmm0\nmovups %xmm0, (%rax)\nmov 16(%r15), %rcx\nmov %rcx, 16(%rax)\n"

/* std::string of a text of 40 characters; a member of one byte that does not lie behind the copy */
USE(characters, 48, 0, COPY "movb $0, 40(%rax)");
USE(copy_and_flag, 48, 1, COPY "movb $0, 44(%rax)");
/* { moved, "GPBMessage.h" } of std::string; the same with a pointer to a variable behind it */
USE(short_strings, 48, 0, SHORT MOVED);
USE(short_string_and_flags, 56, 1, SHORT MOVED "movl %ecx, 48(%rax)");
/* { "text", value } of const char *; a vtable's or function's address is no text */
USE(texts, 16, 0, "lea .Luse_name_texts(%rip), %rcx\nmov %rcx, (%rax)\nmov %rdi, 8(%rax)");
USE(function, 16, 1, "lea .Luse_function(%rip), %rcx\nmov %rcx, (%rax)\nmov %rdi, 8(%rax)");
USE(variable, 16, 1, "lea __start_use_cases(%rip), %rcx\nmov %rcx, (%rax)\nmov %rdi, 8(%rax)");

int main(void)
{
	struct own_code own;

	if (!own_code_open(&own)) {
		printf("not ok open: /proc/self/exe\n");
		return 1;
	}

	const struct flow_code code = { &own.file, &own.relocs, NULL };
	const uint64_t bias = own.bias;

	for (const struct use_case *c = __start_use_cases; c < __stop_use_cases; c++) {
		const char *why = object_use_find(&code, c->code - bias, c->bytes);

		checkf(c->name, !why == !c->is_object, "%s", why ? why : "no object");
	}
	own_code_close(&own);
	return failures != 0;
}
