/* SPDX-License-Identifier: Apache-2.0 */
// build: -O2 -fno-omit-frame-pointer
/*
 * undescribed.c: allocates below functions of assembly that no .eh_frame describes. Prints `stack
 * SIZE whole|cut FUNCTION…` of each: the functions of its stack, innermost first; cut: no more can
 * be told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define FUNCTION(name, code)                                              \
	int name(size_t size);                                            \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n" code    \
		"\n.size " #name ", . - " #name "\n")

__attribute__((noinline, used)) int leaf(size_t size)
{
	char *block = malloc(size);

	block[0] = 1;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block[0];
}

FUNCTION(plain, "sub $24, %rsp\n call leaf\n add $24, %rsp\n ret");
FUNCTION(keeps_pointer, "push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n call leaf\n leave\n ret");
FUNCTION(uses_pointer, "push %rbp\n mov $77, %ebp\n push %rbx\n sub $8, %rsp\n call leaf\n"
		       "add $8, %rsp\n pop %rbx\n pop %rbp\n ret");
FUNCTION(far_frame, "lea -4104(%rsp), %rsp\n call leaf\n lea 4104(%rsp), %rsp\n ret");
FUNCTION(branches, "sub $8, %rsp\n call leaf\n test %eax, %eax\n je 1f\n jle 2f\n add $8, %rsp\n"
		   "ret\n 1: call abort\n ud2\n 2: add $8, %rsp\n xor %eax, %eax\n ret");
FUNCTION(done, "push %rbp\n mov %rsp, %rbp\n xor %eax, %eax\n pop %rbp\n ret");
FUNCTION(jumps_on, "sub $8, %rsp\n call leaf\n add $8, %rsp\n jmp done");
/* Their code does not show how they return. */
FUNCTION(hides, "sub $8, %rsp\n call leaf\n pop %rcx\n pop %rcx\n jmp *%rcx");
FUNCTION(hides_pointer, "push %rbp\n mov %rsp, %rbp\n call leaf\n pop %rbp\n pop %rcx\n jmp *%rcx");

/* Frames with a pointer around each. */
static int (*way)(size_t);
static volatile int sum;
__attribute__((noinline)) static void inner(size_t size)
{
	sum += way(size);
}
__attribute__((noinline)) static void outer(size_t size)
{
	inner(size);
	sum++;
}

enum { COROUTINE = 42000 };
static ucontext_t here, there;
static char room[1 << 16];
static void coroutine(void)
{
	sum += leaf(COROUTINE);
}

int main(void)
{
	static const struct {
		int (*way)(size_t);
		const char *name, *told;
	} ways[] = { { plain, "plain", "whole" },
		     { keeps_pointer, "keeps_pointer", "whole" },
		     { uses_pointer, "uses_pointer", "whole" },
		     { far_frame, "far_frame", "whole" },
		     { branches, "branches", "whole" },
		     { jumps_on, "jumps_on", "whole" },
		     { hides, "hides", "cut" },
		     { hides_pointer, "hides_pointer", "whole" } };
	size_t size = 41000;

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++, size += 16) {
		way = ways[i].way;
		outer(size);
		printf("stack %zu %s leaf %s%s\n", size, ways[i].told, ways[i].name,
		       *ways[i].told == 'w' ? " inner outer main" : "");
	}
	/* a stack whose end is not known */
	getcontext(&there);
	there.uc_stack.ss_sp = room;
	there.uc_stack.ss_size = sizeof(room);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
	printf("stack %d cut leaf\n", COROUTINE);
	return 0;
}
