/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.c: a heap with one symptom, or none: churn, growth, utilization, spikes, calm. All but
 * utilization hold a table of 8 MiB from the start on; a run goes by work and waits, never by how
 * fast the machine is: how long it takes is not its matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline))
enum { TABLE = 8 << 20, STEPS = 40, STEP_MS = 10 };

static void *volatile sink;

static void wait_step(void)
{
	struct timespec left = {.tv_nsec = STEP_MS * 1000000L};

	while (nanosleep(&left, &left) != 0)
		;
}

APART static void *table(void) { return sink = malloc(TABLE); }

APART static void churns(void)
{
	for (int i = 0; i < 5000; i++) {
		void *p = malloc(40);

		sink = p;
		free(p);
	}
}

APART static void grows(void)
{
	for (int i = 0; i < 2000; i++)
		sink = malloc(100);
}

/* A small block on each of many pages, as what is left of many that were not. */
APART static void survivors(void)
{
	for (int i = 0; i < 4000; i++)
		sink = aligned_alloc(4096, 64);
}

APART static void spikes(void)
{
	enum { BLOCKS = 512 };
	static void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(65536);
	sink = blocks;
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "calm";
	void *kept = strcmp(what, "utilization") == 0 ? NULL : table();

	if (strcmp(what, "utilization") == 0)
		survivors();
	for (int step = 0; step < STEPS; step++) {
		if (strcmp(what, "churn") == 0)
			churns();
		if (strcmp(what, "growth") == 0)
			grows();
		if (strcmp(what, "spikes") == 0 && step == 3 * STEPS / 4)
			spikes();
		wait_step();
	}
	printf("%s %s\n", what, kept ? "with a table" : "without");
	return 0;
}
