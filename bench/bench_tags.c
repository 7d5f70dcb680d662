/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_tags.c: what a tag costs.
 *
 *   bench_tags [pairs, default 2000000] [0: none, 1: a push and a pop around each]
 *
 * Each step allocates and frees one block, with a tag pushed before and popped behind it or
 * without. Prints CPU and wall ns a step.
 */
#define _GNU_SOURCE
#include <shiny/shiny.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static void step(void)
{
	void *block = malloc(64);

	__asm__ volatile("" : "+r"(block));
	free(block);
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? atol(argv[1]) : 2000000, tagged = argc > 2 ? atol(argv[2]) : 1;
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);

	for (long i = 0; i < steps; i++) {
		if (tagged)
			shiny_tag_push("step");
		step();
		if (tagged)
			shiny_tag_pop();
	}
	printf("%.2f %.2f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)steps,
	       (now(CLOCK_MONOTONIC) - wall) / (double)steps);
	return 0;
}
