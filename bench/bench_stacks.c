/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_stacks.c: a program of many different stacks, as a browser is one.
 *
 *   bench_stacks [events, default 2000000] [different stacks, default 150000] [repeats, default 3]
 *
 * Each of its allocations is made under 24 frames with frame pointers, of 8 functions. The stack
 * is chosen by a number: the innermost frames are its digits, the outer ones are alike. Every
 * number is used for `repeats` allocations in a row, and the numbers come again when all were used.
 * A block is freed when 1,000 others have been made. Prints CPU ns of this process, and wall ns, an
 * event (one malloc or one free).
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIVE = 1000, DEPTH = 24, BITS = 3 };

static void *live[LIVE];
static long made;

static void descend(uint64_t number, int depth);

/* A caller of its own; the barrier keeps the call from becoming a jump. */
#define CALLER(n)                                                             \
	__attribute__((noinline)) static void caller_##n(uint64_t r, int depth) \
	{                                                                     \
		descend(r, depth);                                            \
		__asm__ volatile("" ::"i"(n) : "memory");                     \
	}
CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6) CALLER(7)
static void (*const callers[])(uint64_t, int) = { caller_0, caller_1, caller_2, caller_3,
						  caller_4, caller_5, caller_6, caller_7 };

/* Inlined into its callers: one frame a level. */
__attribute__((always_inline)) static inline void descend(uint64_t number, int depth)
{
	if (depth == 0) {
		void **slot = &live[made++ % LIVE];

		free(*slot);
		*slot = malloc(16 + number % 200);
		return;
	}
	callers[number >> (depth - 1) * BITS & 7](number, depth - 1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long events = argc > 1 ? atol(argv[1]) : 2000000;
	long stacks = argc > 2 ? atol(argv[2]) : 150000, repeats = argc > 3 ? atol(argv[3]) : 3;

	if (events < 2 || stacks < 1 || repeats < 1)
		return 2;
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	for (long i = 0; i < events / 2; i++)
		callers[0]((uint64_t)(i / repeats % stacks), DEPTH - 1);
	printf("%.2f %.2f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)events,
	       (now(CLOCK_MONOTONIC) - wall) / (double)events);
	return 0;
}
