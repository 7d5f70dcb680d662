/* SPDX-License-Identifier: Apache-2.0 */
/* test_moments.c: what was live at each moment of a session with two forks, worked out by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/analysis/replay/replay.h"
#include "session_writer.h"

enum { A = 0x1000, B = 0x2000, C = 0x3000, D = 0x4000, E = 0x5000 };

/* Process 2 is forked by 1 at 300, process 3 by 2 at 500. */
static void make_session(const char *path)
{
	static const struct event events[] = {
		{ .time = 10,
		  .kind = EVENT_ALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = A,
		  .size = 100 },
		{ .time = 20,
		  .kind = EVENT_ALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = B,
		  .size = 50 },
		{ .time = 300,
		  .kind = EVENT_ALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = C,
		  .size = 7 }, /* the fork's own moment: inherited */
		/* the child keeps its copy */
		{ .time = 301, .kind = EVENT_FREE, .process = 1, .thread = 1, .address = A },
		{ .time = 310,
		  .kind = EVENT_ALLOC,
		  .process = 2,
		  .thread = 2,
		  .address = D,
		  .size = 1 },
		{ .time = 320,
		  .kind = EVENT_FREE,
		  .process = 2,
		  .thread = 2,
		  .address = B }, /* and may free what it inherited */
		{ .time = 400,
		  .kind = EVENT_REALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = E,
		  .size = 60,
		  .old_address = B },
		{ .time = 500, .kind = EVENT_FREE, .process = 2, .thread = 2, .address = C },
		{ .time = 600,
		  .kind = EVENT_VPTR,
		  .process = 1,
		  .thread = 1,
		  .address = E,
		  .vtable = 9 },
		{ .time = 650,
		  .kind = EVENT_REALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = E,
		  .size = 70,
		  .old_address = E },
		{ .time = 660,
		  .kind = EVENT_FREE,
		  .process = 1,
		  .thread = 1,
		  .address = 0x9000 }, /* nothing is there */
		/* its free was not seen */
		{ .time = 700,
		  .kind = EVENT_ALLOC,
		  .process = 1,
		  .thread = 1,
		  .address = E,
		  .size = 80 },
	};
	struct store *s = session_begin(path, 2000);

	put_process(s, (struct store_process){ .id = 1, .end = 1000 });
	put_process(s, (struct store_process){
			       .id = 2, .parent = 1, .start = 305, .forked = 300, .end = 900 });
	put_process(s, (struct store_process){ .id = 3,
					       .parent = 2,
					       .start = 510,
					       .forked = 500,
					       .ending = "running" });
	put_program(s);
	put_vtable(s, 9);
	must(store_put_events(s, events, sizeof(events) / sizeof(events[0])));
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
enum { STATES = sizeof(expected) / sizeof(expected[0]) };

static size_t told;

static bool running(const struct replay_process *p, uint64_t moment)
{
	return p->start <= moment && (moment < p->end || p->end == p->replay->duration);
}

static uint64_t at(void *context, const struct replay *replay, uint64_t moment)
{
	const struct state *want = &expected[told++];
	size_t limit = *(const size_t *)context;
	bool good = replay->process_count == 3 && moment == want->moment;

	for (size_t i = 0; good && i < 3; i++) {
		const struct replay_process *p = &replay->processes[i];
		uint64_t count = 0, bytes = 0;

		replay_each(p, life)
		{
			count++;
			bytes += life->size;
		}
		good = p->id == i + 1 && running(p, moment) == want->process[i].running &&
		       count == want->process[i].count && p->blocks.count == count &&
		       bytes == want->process[i].bytes && p->bytes == bytes;
	}
	if (good && moment == 650) {
		const struct life *life = replay_find(&replay->processes[0], E);

		good = life && life->size == 70 && life->birth == 650 && life->realloced &&
		       life->vtable == 9;
		life = replay_find(&replay->processes[1], A);
		good = good && life && life->inherited && life->birth == 10 &&
		       !replay_find(&replay->processes[1], B);
	}
	if (good) {
		printf("ok moments/%lu\n", moment);
	} else {
		printf("not ok moments/%lu: other blocks than by hand:", moment);
		for (size_t i = 0; i < replay->process_count; i++)
			printf(" %s %zu blocks %lu bytes",
			       running(&replay->processes[i], moment) ? "running" : "not running",
			       replay->processes[i].blocks.count, replay->processes[i].bytes);
		printf("\n");
		failures++;
	}
	return told < limit ? expected[told].moment : UINT64_MAX;
}

static void count_told(const char *name, size_t want)
{
	checkf(name, told == want, "%zu moments were told, not %zu", told, want);
	told = 0;
}

static uint64_t look_at_many(void *context, const struct replay *replay, uint64_t moment)
{
	size_t count = *(const size_t *)context, wrong = 0;

	for (size_t i = 1; i <= count; i++)
		for (size_t k = 0; k < 2; k++) {
			const struct life *life = replay_find(&replay->processes[k], i * 48);

			wrong += k && i % 3 == 1
					 ? life != NULL
					 : !life || life->size != i || life->inherited != (k == 1);
		}
	for (size_t k = 0; k < 2; k++) {
		uint64_t sum = 0, want = 0;

		replay_each(&replay->processes[k], life) sum += life->size;
		for (size_t i = 1; i <= count; i++)
			want += k && i % 3 == 1 ? 0 : i;
		wrong += sum != want || replay->processes[k].bytes != want;
	}
	checkf("moments/found", !wrong, "%zu are wrong", wrong);
	told++;
	return UINT64_MAX;
}

/* Many blocks of two processes, so that tables grow: each is found where it is, and each once. */
static void many(const char *path)
{
	enum { MANY = 300000 };
	struct replay_observer observer = { .context = &(size_t){ MANY },
					    .moment = look_at_many,
					    .first_moment = 2 * MANY };
	struct filter all;
	struct store *s;

	must(store_create(path, true, true, &s));
	must(store_put_number(s, "duration_ns", 3 * MANY));
	put_process(s, (struct store_process){ .id = 1, .ending = "running" });
	put_process(s, (struct store_process){ .id = 2,
					       .parent = 1,
					       .start = MANY,
					       .forked = MANY,
					       .ending = "running" });
	for (size_t i = 1; i <= MANY; i++)
		must(store_put_events(s,
				      &(struct event){ .time = i,
						       .kind = EVENT_ALLOC,
						       .process = 1,
						       .thread = 1,
						       .address = i * 48,
						       .size = i },
				      1));
	for (size_t i = 1; i <= MANY; i += 3)
		must(store_put_events(s,
				      &(struct event){ .time = MANY + i,
						       .kind = EVENT_FREE,
						       .process = 2,
						       .thread = 2,
						       .address = i * 48 },
				      1));
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(replay_run(s, &all, &observer, 1, NULL));
	count_told("moments/many", 1);
	filter_deinit(&all);
	store_close(s);
}

int main(void)
{
	char path[] = "/tmp/shiny-moments-XXXXXX";
	size_t all = STATES, some = 2;
	struct replay_observer observer = { .context = &all,
					    .moment = at,
					    .first_moment = expected[0].moment };
	struct filter filter;
	struct store *s;
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	make_session(path);
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &filter));
	must(replay_run(s, &filter, &observer, 1, NULL));
	count_told("moments/all-told", STATES);
	observer.context = &some;
	must(replay_run(s, &filter, &observer, 1, NULL));
	count_told("moments/stopped", some);
	filter_deinit(&filter);
	store_close(s);
	many(path);
	unlink(path);
	return failures ? 1 : 0;
}
