/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_sidecar.c: a full ring waits for a sidecar that is slow, and not for one that stands still.
 */
#define _GNU_SOURCE
#include <time.h>

#include "ring_case.h"

static atomic_bool worked;

static void sleep_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void drain(uint32_t index)
{
	struct shiny_chunk *chunk = shiny_chunk_at(&si_ring.chunks, index);
	uint32_t room = shiny_chunk_room(&si_ring.chunks, index);

	for (uint32_t i = 0; i < room;) {
		uint64_t w1 = chunk->records[i].w1;
		unsigned kind = (unsigned)(w1 & 63);

		if (kind == SHINY_REC_NONE)
			break;
		book->drained += kind == SHINY_REC_ALLOC;
		i += 1 + (si_kind_is_run(kind)
				  ? (uint32_t)(w1 >> SHINY_SIZE_SHIFT & (SHINY_SIZE_LIMIT - 1))
				  : 0);
	}
	shiny_chunk_give(si_ring.header, &si_ring.chunks, index, room);
}

static bool drain_one(void)
{
	for (uint32_t i = 0; i < si_ring.chunks.count; i++)
		if (SHINY_CHUNK_PHASE(
			    __atomic_load_n(&si_ring.chunks.states[i], __ATOMIC_ACQUIRE)) ==
		    SHINY_CHUNK_FULL) { /* [seal] */
			drain(i);
			return true;
		}
	return false;
}

/* Gives one chunk back in so many steps of 300 ms; in each it shows by `sign` that it gets on. */
struct slow {
	unsigned steps;
	void (*sign)(unsigned step);
};

static void *slow_sidecar(void *argument)
{
	const struct slow *slow = argument;

	for (unsigned step = 1; !worked; step++) {
		sleep_ms(300);
		if (slow->sign)
			slow->sign(step);
		if (step % slow->steps == 0)
			drain_one();
	}
	while (drain_one())
		;
	return NULL;
}

static void sign_beat(unsigned step)
{
	(void)step;
	__atomic_store_n(&si_ring.header->sidecar_beat, si_ticks(), __ATOMIC_RELAXED); /* [ctl] */
}

/* A chunk that was given back has been had by somebody else by the time we look. */
static void sign_other(unsigned step)
{
	for (uint32_t i = 0; i < si_ring.chunks.count; i++)
		if (SHINY_CHUNK_PHASE(si_ring.chunks.states[i]) == SHINY_CHUNK_FULL) {
			__atomic_store_n(&si_ring.chunks.states[i],
					 SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, THREAD_SLOTS - 1,
							   step),
					 __ATOMIC_RELEASE);
			__atomic_fetch_add(&si_ring.header->given, 1, __ATOMIC_RELEASE);
			return;
		}
}

static void *fill(void *argument)
{
	uint64_t records = (uintptr_t)argument * SHINY_SMALL_RECORDS;

	for (uint32_t i = 0; i < si_ring.chunks.count; i++)
		records += shiny_chunk_room(&si_ring.chunks, i);
	work(0, records, 2);
	return NULL;
}

/* The sidecar's last beat, so many seconds ago; below 0: young for as long as the case runs. */
static void beat_ago(double seconds)
{
	const struct shiny_header *h = si_ring.header;
	double rate = (double)(si_ticks() - h->start_ticks) /
		      (double)(si_clock_ns(CLOCK_BOOTTIME) - h->start_boottime);

	/* [ctl] */
	__atomic_store_n(&si_ring.header->sidecar_beat,
			 si_ticks() - (uint64_t)(int64_t)(seconds * 1e9 * rate), __ATOMIC_RELAXED);
}

/* Writes what all chunks hold and `more` small ones. In a thread, as its end seals the last of
 * them. */
static void overfill(unsigned more, struct slow *slow)
{
	pthread_t writer, sidecar;

	worked = false;
	if (slow)
		pthread_create(&sidecar, NULL, slow_sidecar, slow);
	pthread_create(&writer, NULL, fill, (void *)(uintptr_t)more);
	pthread_join(writer, NULL);
	worked = true;
	if (slow)
		pthread_join(sidecar, NULL);
}

static void run_slow(void)
{
	sleep_ms(20); /* else the clocks' rate is not known */
	beat_ago(-600);
	overfill(5, &(struct slow){ 1, NULL }); /* only the chunks tell */
	overfill(2, &(struct slow){ 5, sign_beat });
	overfill(2, &(struct slow){ 5, sign_other });
	beat_ago(11); /* or everything stood still, and goes on now */
	overfill(2, &(struct slow){ 1, NULL });
}

static void *latecomer(void *unused)
{
	(void)unused;
	work(1, 1000, 2);
	return NULL;
}

/* As a sidecar does that has seen that no filter forbids it. */
static void run_slow_asleep(void)
{
	if (!si_own_slot())
		abort();
	__atomic_store_n(&si_ring.processes[si_process.slot].may_sleep, 1 << 20,
			 __ATOMIC_RELAXED); /* [ctl] */
	run_slow();
}

static void run_still(void)
{
	uint64_t start = si_clock_ns(CLOCK_MONOTONIC);
	pthread_t another;

	sleep_ms(20);
	beat_ago(-600);
	overfill(2, NULL); /* this thread waits in vain; */
	pthread_create(&another, NULL, latecomer, NULL);
	pthread_join(another, NULL); /* another need not */
	book->waited = (si_clock_ns(CLOCK_MONOTONIC) - start) / 1000000000;
}

/* One that has not been heard of for eleven seconds was killed. It is waited for once. */
static void run_aged(void)
{
	pthread_t another;

	sleep_ms(20);
	beat_ago(11);
	overfill(2, NULL);
	pthread_create(&another, NULL, latecomer, NULL);
	pthread_join(another, NULL);
}

static const char *judge_slow(const struct rd *r, const struct event_sums *s)
{
	(void)s;
	return counted(r, SHINY_COUNT_WAITED_FULL) ? NULL : "nobody had to wait";
}

/* One wait of three seconds, or ten where it does not notice that nothing moves; two where each
 * thread finds out for itself. */
static const char *judge_still(const struct rd *r, const struct event_sums *s)
{
	uint64_t waits = counted(r, SHINY_COUNT_WAITED_FULL);

	(void)s;
	return waits == 1 && book->waited < 10
		       ? NULL
		       : because("%" PRIu64 " waits, %" PRIu64 " seconds", waits, book->waited);
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct ring_case cases[] = {
		{ "slow asleep", "1m", .run = run_slow_asleep, .judge = judge_slow },
		{ "still", "1m", .run = run_still, .judge = judge_still, .fills = true },
		{ "aged", "1m", .run = run_aged, .judge = judge_still, .fills = true },
		/* without leave to sleep, as the two above, for longer */
		{ "slow", "1m", .run = run_slow, .judge = judge_slow },
	};
	/* clang-format on */
	const char *lengthy = getenv("SHINY_TEST_LONG");

	return ring_cases(argc, argv, cases,
			  sizeof(cases) / sizeof(*cases) - !(lengthy && *lengthy == '1'));
}
