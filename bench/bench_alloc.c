/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_alloc.c: an allocating program for measuring what a preloaded library adds.
 *
 *   bench_alloc [events a thread, default 2000000] [threads, default 1]
 *
 * Every thread keeps 1,000 blocks of mixed sizes (16 to 512 bytes mostly, some to 64 KiB) and
 * replaces a random one each step, from one of 16 call sites under 8 frames with frame pointers:
 * one free and one malloc. Prints CPU ns of this process and all its threads, and wall ns, an event
 * (one malloc or one free).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* with the leaf and the thread's function: 8 frames of this program */
enum { LIVE = 1000, DEPTH = 6 };

static long events = 2000000;

struct churn_state {
	void *live[LIVE];
	uint64_t seed;
};

static uint64_t next(struct churn_state *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

static size_t a_size(uint64_t r)
{
	return r % 100 < 60   ? 16 + (r >> 8) % 48
	       : r % 100 < 98 ? 64 + (r >> 8) % 448
			      : 512 + (r >> 8) % 65024;
}

/* A call site of its own; the store keeps the call from becoming a jump. */
#define SITE(n) \
	__attribute__((noinline)) static void site_##n(struct churn_state *s, uint64_t r) \
	{ \
		void **slot = &s->live[(r >> 32) % LIVE]; \
		free(*slot); \
		*slot = malloc(a_size(r)); \
		*(volatile char *)*slot = n; \
	}
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)
static void (*const sites[])(struct churn_state *, uint64_t) = {
	site_0, site_1, site_2,	 site_3,  site_4,  site_5,  site_6,  site_7,
	site_8, site_9, site_10, site_11, site_12, site_13, site_14, site_15
};

__attribute__((noinline)) static void descend(struct churn_state *s, uint64_t r, int depth)
{
	if (depth == 0)
		sites[r >> 60](s, r);
	else
		descend(s, r, depth - 1);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

static void *run(void *argument)
{
	struct churn_state *s = calloc(1, sizeof(*s));

	s->seed = UINT64_C(88172645463325252) + (uint64_t)(uintptr_t)argument;
	for (long i = 0; i < events / 2; i++)
		descend(s, next(s), DEPTH - 1);
	for (int i = 0; i < LIVE; i++)
		free(s->live[i]);
	free(s);
	return NULL;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 2 ? atoi(argv[2]) : 1;

	if (argc > 1)
		events = atol(argv[1]);
	if (events < 2 || count < 1 || count > 64)
		return 2;
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%.2f %.2f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)events / count,
	       (now(CLOCK_MONOTONIC) - wall) / (double)events / count);
	return 0;
}
