/* SPDX-License-Identifier: Apache-2.0 */
// build: -g0 -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables
/*
 * bare.c: code that keeps frame pointers and has no unwind information, as Chromium's, calls code
 * that has unwind information and no frame pointers, and is called by it. Each block is allocated
 * at the end of a random way through these functions, has a size of its own, and the way is
 * printed: `stack SIZE FUNCTION…`, innermost first. Whoever follows rbp out of `sized` leaves its
 * caller out, and what remains is a way that exists, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 300, LONGEST = 8, FIRST = 40000 };
enum { END = 3 };

typedef uint64_t step_fn(uint64_t way, uint64_t size);

__attribute__((noinline)) static uint64_t bare_one(uint64_t way, uint64_t size);
__attribute__((noinline)) static uint64_t bare_two(uint64_t way, uint64_t size);
__attribute__((noinline)) static uint64_t make(uint64_t way, uint64_t size);
extern uint64_t sized(uint64_t way, uint64_t size);

/* two bits of `way` a step, the next one lowest */
__attribute__((used)) step_fn *const steps[] = { bare_one, bare_two, sized, make };
static const char *const names[] = { "bare_one", "bare_two", "sized", "make" };

/* On pages of its own: its neighbours stay bare. */
__asm__(".section .text.sized, \"ax\", @progbits\n"
	".p2align 12\n"
	".globl sized\n"
	".type sized, @function\n"
	"sized:\n"
	".cfi_startproc\n"
	"sub $24, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"mov %rdi, %rax\n"
	"and $3, %eax\n"
	"shr $2, %rdi\n"
	"lea steps(%rip), %rcx\n"
	"call *(%rcx, %rax, 8)\n"
	"add $24, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size sized, . - sized\n"
	".skip 65536\n"
	".text\n");

static uint64_t bare_one(uint64_t way, uint64_t size)
{
	return steps[way & 3](way >> 2, size) + 1;
}

static uint64_t bare_two(uint64_t way, uint64_t size)
{
	return steps[way & 3](way >> 2, size) * 3;
}

static uint64_t make(uint64_t way, uint64_t size)
{
	*(volatile char *)malloc(size) = 1;
	return way;
}

int main(void)
{
	uint64_t seed = 88172645463325252u, sum = 0;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (uint64_t size = FIRST; size < FIRST + BLOCKS; size++) {
		uint64_t way = END, length = 0;
		unsigned told[LONGEST];

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		while (length < 1 + (seed >> 32) % LONGEST) {
			told[length] = (unsigned)((seed >> (8 + 2 * length)) % END);
			way = way << 2 | told[length++];
		}
		printf("stack %lu make", size);
		for (uint64_t i = 0; i < length; i++)
			printf(" %s", names[told[i]]);
		printf(" bare_one main\n");
		sum += bare_one(way, size);
	}
	return sum == 0;
}
