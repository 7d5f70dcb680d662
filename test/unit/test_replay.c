/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay.c: what was live at each moment of a session with two forks, worked out by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/analysis/replay.h"

static int failures;

static void must(struct shiny_err *err)
{
	if (!err)
		return;
	printf("not ok store: %s\n", err->message);
	exit(1);
}

enum { A = 0x1000, B = 0x2000, C = 0x3000, D = 0x4000, E = 0x5000 };

/* Process 2 is forked by 1 at 300, process 3 by 2 at 500. */
static void make_session(const char *path)
{
	static const struct event events[] = {
		{ .time = 10, .kind = EVENT_ALLOC, .process = 1, .thread = 1, .address = A, .size = 100 },
		{ .time = 20, .kind = EVENT_ALLOC, .process = 1, .thread = 1, .address = B, .size = 50 },
		{ .time = 300, .kind = EVENT_ALLOC, .process = 1, .thread = 1, .address = C, .size = 7 }, /* the fork's own moment: inherited */
		{ .time = 301, .kind = EVENT_FREE, .process = 1, .thread = 1, .address = A },             /* the child keeps its copy */
		{ .time = 310, .kind = EVENT_ALLOC, .process = 2, .thread = 2, .address = D, .size = 1 },
		{ .time = 320, .kind = EVENT_FREE, .process = 2, .thread = 2, .address = B },             /* and may free what it inherited */
		{ .time = 400, .kind = EVENT_REALLOC, .process = 1, .thread = 1, .address = E, .size = 60, .old_address = B },
		{ .time = 500, .kind = EVENT_FREE, .process = 2, .thread = 2, .address = C },
		{ .time = 600, .kind = EVENT_VPTR, .process = 1, .thread = 1, .address = E, .vtable = 9 },
		{ .time = 650, .kind = EVENT_REALLOC, .process = 1, .thread = 1, .address = E, .size = 70, .old_address = E },
		{ .time = 660, .kind = EVENT_FREE, .process = 1, .thread = 1, .address = 0x9000 },        /* nothing is there */
		{ .time = 700, .kind = EVENT_ALLOC, .process = 1, .thread = 1, .address = E, .size = 80 }, /* its free was not seen */
	};
	struct store *s;

	must(store_create(path, true, true, &s));
	must(store_put_process(s, &(struct store_process){ .id = 1, .end = 1000, .ending = "exited" }));
	must(store_put_process(s, &(struct store_process){ .id = 2, .parent = 1, .start = 305, .forked = 300, .end = 900, .ending = "exited" }));
	must(store_put_process(s, &(struct store_process){ .id = 3, .parent = 2, .start = 510, .forked = 500, .ending = "running" }));
	must(store_put_events(s, events, sizeof events / sizeof events[0]));
	must(store_finish(s, NULL));
}

struct state {
	uint64_t moment;
	struct { bool running; size_t count; uint64_t bytes; } process[3];
};
static const struct state expected[] = {
	{ 5, { { true, 0, 0 }, { false, 0, 0 }, { false, 0, 0 } } },
	{ 10, { { true, 1, 100 }, { false, 0, 0 }, { false, 0, 0 } } },
	{ 299, { { true, 2, 150 }, { false, 0, 0 }, { false, 0, 0 } } },
	{ 300, { { true, 3, 157 }, { false, 3, 157 }, { false, 0, 0 } } },
	{ 305, { { true, 2, 57 }, { true, 3, 157 }, { false, 0, 0 } } },
	{ 450, { { true, 2, 67 }, { true, 3, 108 }, { false, 0, 0 } } },
	{ 550, { { true, 2, 67 }, { true, 2, 101 }, { true, 2, 101 } } },
	{ 650, { { true, 2, 77 }, { true, 2, 101 }, { true, 2, 101 } } },
	{ 950, { { true, 2, 87 }, { false, 2, 101 }, { true, 2, 101 } } },
	{ 1000, { { false, 2, 87 }, { false, 2, 101 }, { true, 2, 101 } } },
};
enum { STATES = sizeof expected / sizeof expected[0] };

static size_t told;

static bool at(void *context, uint64_t moment, const struct replay_process *processes, size_t count)
{
	const struct state *want = &expected[told++];
	size_t limit = *(const size_t *)context;
	bool good = count == 3 && moment == want->moment;

	for (size_t i = 0; good && i < 3; i++)
		good = processes[i].id == i + 1 && processes[i].running == want->process[i].running &&
		       processes[i].blocks.count == want->process[i].count && processes[i].bytes == want->process[i].bytes;
	if (good && moment == 650) {
		const struct entry *entry = registry_find(&processes[0].blocks, E);

		good = entry && entry->size == 70 && entry->birth == 650 && entry->flags & ENTRY_REALLOC;
		entry = registry_find(&processes[1].blocks, A);
		good = good && entry && entry->flags & ENTRY_INHERITED && entry->birth == 10;
	}
	if (good) {
		printf("ok replay/%lu\n", moment);
	} else {
		printf("not ok replay/%lu: other blocks than by hand:", moment);
		for (size_t i = 0; i < count; i++)
			printf(" %s %zu blocks %lu bytes", processes[i].running ? "running" : "not running", processes[i].blocks.count,
			       processes[i].bytes);
		printf("\n");
		failures++;
	}
	return told < limit;
}

static void count_told(const char *name, size_t want)
{
	printf(told == want ? "ok %s\n" : "not ok %s: %zu moments were told, not %zu\n", name, told, want);
	failures += told != want;
}

int main(void)
{
	uint64_t moments[STATES];
	char path[] = "/tmp/shiny-replay-XXXXXX";
	size_t all = STATES, some = 2;
	struct store *s;
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	for (size_t i = 0; i < STATES; i++)
		moments[i] = expected[i].moment;
	make_session(path);
	must(store_open(path, &s));
	must(replay(s, moments, STATES, at, &all));
	count_told("replay/all-told", STATES);
	told = 0;
	must(replay(s, moments, STATES, at, &some));
	count_told("replay/stopped", some);
	store_close(s);
	unlink(path);
	return failures ? 1 : 0;
}
