/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_replay.c: what going through a session's events costs before any analysis does something
 * with them.
 *
 *   bench_replay FILE PASSES   best of so many passes, in ns of CPU an event: "DECODE REPLAY
 *                              EVENTS"; decode: blocks unpacked; replay: these, and every block
 *                              followed from birth to death with its type, an observer being told
 *                              of each
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../src/analysis/replay/replay.h"

static uint64_t events, told, sum;

static void must(struct shiny_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "bench_replay: %s\n", err->message);
	exit(4);
}

static bool add(void *context, const struct event *e, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum += e[i].size;
	events += count;
	return true;
}

static void see_birth(void *context, const struct replay_process *process, const struct life *life)
{
	told++;
}

static void see_death(void *context, const struct replay_process *process, const struct life *life,
		      const struct life_death *death)
{
	sum += replay_type(process, life);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct replay_observer observer = { .birth = see_birth, .death = see_death };
	double decode = 1e30, replay = 1e30;
	struct store *store;
	struct filter all;

	if (argc != 3)
		return 2;
	must(store_open(argv[1], &store));
	must(filter_resolve(store, NULL, &all));
	for (int left = atoi(argv[2]); left > 0; left--) {
		double from = now(), between;

		events = 0;
		must(store_each_batch(store, add, NULL));
		between = now();
		decode = between - from < decode ? between - from : decode;
		must(replay_run(store, &all, &observer, 1, NULL));
		between = now() - between;
		replay = between < replay ? between : replay;
	}
	filter_deinit(&all);
	store_close(store);
	printf("%.1f %.1f %lu\n", decode / (double)events, replay / (double)events, events);
	return sum && told ? 0 : 4;
}
