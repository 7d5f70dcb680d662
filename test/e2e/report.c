/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: one call site each makes blocks that are live, short-lived, retained; prints what each
 * did: name, blocks, bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline))
enum {
	HELD = 3,
	HELD_BYTES = 1 << 20,
	CHURNED = 200000,
	CHURNED_BYTES = 48,
	STAYING = 500,
	STAYING_BYTES = 1000,
	PASSING = 64
};

static void *volatile sink;

APART static void holds(void) { sink = malloc(HELD_BYTES); }
APART static void churns(void)
{
	void *p = malloc(CHURNED_BYTES);

	sink = p;
	free(p);
}
APART static void stays(void) { sink = malloc(STAYING_BYTES); }
/* Makes blocks all along of which the last ones are live at the end: under way, not staying. */
APART static void passes(void **place)
{
	free(*place);
	*place = malloc(4000);
	sink = *place;
}

int main(void)
{
	static void *ring[PASSING];
	struct timespec began, now, wait;

	clock_gettime(CLOCK_MONOTONIC, &began);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < HELD; i++)
		holds();
	for (int i = 0; i < CHURNED; i++)
		churns();
	/* what comes now is of the second half, however slow the start was: a wait can only be
	 * longer */
	clock_gettime(CLOCK_MONOTONIC, &now);
	wait = (struct timespec){.tv_sec = 2 * (now.tv_sec - began.tv_sec) + 2};
	nanosleep(&wait, NULL);
	for (int i = 0; i < STAYING; i++)
		stays();
	for (int i = 0; i < 4 * PASSING; i++)
		passes(&ring[i % PASSING]);
	printf("live holds %d %d\n", HELD, HELD * HELD_BYTES);
	printf("short_lived churns %d %d\n", CHURNED, CHURNED * CHURNED_BYTES);
	printf("retained stays %d %d\n", STAYING, STAYING * STAYING_BYTES);
	return 0;
}
