/* SPDX-License-Identifier: Apache-2.0 */
// build: -O2 -fomit-frame-pointer
/*
 * stacks.c: allocates at the end of random calls without frame pointers, each block of a size of
 * its own, and prints for each the return addresses that glibc's backtrace() finds in this program,
 * as addresses in its file: `stack SIZE ADDRESS…`, innermost first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 300, DEPTHS = 12, FIRST = 40000 /* larger than what libc makes for itself */ };

static uint64_t seed = 88172645463325252u;
static uintptr_t base;

__attribute__((noinline)) static uint64_t down(uint64_t size, int depth);

#define SHAPE(name, room) \
	__attribute__((noinline)) static uint64_t name(uint64_t size, int depth) \
	{ \
		volatile char block[room]; \
		block[depth] = (char)depth; \
		return down(size, depth) * 3 + (uint64_t)block[depth]; \
	}
SHAPE(small, 24) SHAPE(middle, 200) SHAPE(variable, 16 + size % 400)
static uint64_t (*const shapes[])(uint64_t, int) = { small, middle, variable };

static int compare(const void *a, const void *b)
{
	static int inside;

	if (!inside) {
		inside = 1;
		down(*(const uint64_t *)a & 0xffff, (int)(*(const uint64_t *)a >> 16));
		inside = 0;
	}
	return 0;
}

/* The block's call site is in the caller: both it and backtrace() are called from one place. */
__attribute__((noinline)) static uint64_t down(uint64_t size, int depth)
{
	void *frames[64];
	uint64_t two[2] = { size | (uint64_t)(depth - 1) << 16, size | (uint64_t)(depth - 1)
										<< 16 },
		 result = size;

	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	if (depth > 0) {
		if (seed >> 60 == 0)
			/* may not call: then there is no such block */
			qsort(two, 2, sizeof *two, compare);
		else
			result = shapes[(seed >> 33) % 3](size, depth - 1);
		return result + two[0];
	}
	*(volatile char *)malloc(size) = 1;
	int count = backtrace(frames, 64);
	printf("stack %lu", size);
	for (int i = 1; i < count; i++) { /* [0] is this function's own, at another call */
		Dl_info info;

		if (dladdr(frames[i], &info) && (uintptr_t)info.dli_fbase == base)
			printf(" %lx", (uintptr_t)frames[i] - base);
	}
	printf("\n");
	return result + (uint64_t)count;
}

int main(void)
{
	void *warm[2];
	Dl_info info;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	backtrace(warm, 2);
	if (!dladdr((void *)(uintptr_t)main, &info))
		return 1;
	base = (uintptr_t)info.dli_fbase;
	for (uint64_t i = 0; i < BLOCKS; i++)
		down(FIRST + i, (int)(i % DEPTHS));
	return 0;
}
