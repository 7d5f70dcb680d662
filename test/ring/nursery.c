/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery.c: young blocks whose first words are read later: by many threads that free each other's,
 * with recording off in between, and with another block at the same address.
 */
#define _GNU_SOURCE
#include "../../interpose/record/nursery.h"
#include "ring_case.h"

/* Real blocks, so that the sanitizer sees a read of a freed one. */
static void release(void *block)
{
	book->released++;
	free(block);
}

static uint64_t handed_over(void)
{
	return __atomic_load_n(
		&si_ring.processes[si_process.slot].counters[SHINY_COUNT_FREES_HANDED_OVER],
		__ATOMIC_RELAXED);
}

static void *_Atomic shared_blocks[SLOTS];
static void *const relocated = &book; /* lies where vtables do, in read-only relocated data,
                                       * wherever the program is loaded */
static void *churn(void *seed)
{
	uint64_t x = (uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < 40000; i++) {
		unsigned slot;
		uint64_t *fresh = malloc(24), *old;

		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		slot = (unsigned)(x >> 40) % SLOTS;
		fresh[0] = (uintptr_t)&relocated;
		fresh[1] = 0;
		si_event_alloc(FP, fresh, 24, SHINY_API_MALLOC);
		old = atomic_exchange(&shared_blocks[slot], fresh);
		book->allocs++;
		if (old) {
			book->frees++;
			if (si_event_free(FP, old, 0, SHINY_API_FREE, release))
				release(old);
		}
	}
	return NULL;
}

/*
 * Holds a read open until another thread has freed what is being read: the block is in a slot that
 * all churn, so one soon does. Bounded, as the others may have ended; and a few times only, once it
 * has come to that, as each takes its time.
 */
static void linger(void)
{
	static _Atomic unsigned n, waited;
	uint64_t before;

	if (n++ % 16 != 0)
		return;
	sched_yield();
	if (waited >= (handed_over() ? 20 : 2000))
		return;
	waited++;
	before = handed_over();
	for (unsigned i = 0; i < 20000 && handed_over() == before; i++)
		sched_yield();
}

static void run_nursery(void)
{
	pthread_t threads[4];

	si_nursery_test_pause = linger;

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1));
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	si_event_exiting();
	for (unsigned i = 0; i < SLOTS; i++)
		free(shared_blocks[i]);
}

static uint64_t handed_at;

static void note_handed(void)
{
	handed_at = si_ticks();
}

/* A block that is being read is freed: who reads may give it away at once, so the free's time is
 * from before. */
static void hand_over_one(void)
{
	static uint64_t block[3];
	uint32_t slot = si_nursery_slot(block);
	uint64_t held, freed = UINT64_MAX;

	__atomic_store_n(&si_nursery[slot], (uintptr_t)block | SI_BUSY, __ATOMIC_RELAXED);
	si_nursery_test_handed = note_handed;
	if (si_nursery_hand_over(slot, (uintptr_t)block, never, &held, &freed) || freed > handed_at)
		abort();
	si_nursery_test_handed = NULL;
	__atomic_store_n(&si_nursery[slot], 0, __ATOMIC_RELAXED);
}

/*
 * Recording is off at first, comes, goes and comes again. What was recorded as made and freed
 * unrecorded must not be read when others push it out (the sanitizer sees that); and only what came
 * while it was on is found.
 */
static void run_switched(void)
{
	enum { BLOCKS = 2 * SI_NURSERY };
	static uint64_t *blocks[BLOCKS];

	hand_over_one();
	for (unsigned round = 0; round < 6; round++) {
		bool on = round % 2;

		/* [ctl] */
		__atomic_store_n(&si_ring.header->recording, on, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < BLOCKS; i++) {
			uint64_t *fresh = malloc(24);

			if (blocks[i]) {
				if (!si_event_free(FP, blocks[i], 0, SHINY_API_FREE, never))
					abort();
				free(blocks[i]);
				book->frees += on;
			}
			fresh[0] = (uintptr_t)&relocated;
			fresh[1] = 0;
			si_event_alloc(FP, fresh, 24, SHINY_API_MALLOC);
			book->allocs += on;
			blocks[i] = fresh;
		}
	}
	si_event_exiting();
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static uint64_t twice[3]; /* a block, and one that comes to its address when it is gone */
static pthread_barrier_t looked, changed;

static void birth(uint64_t word)
{
	twice[0] = word;
	si_event_alloc(FP, twice, sizeof(twice), SHINY_API_MALLOC);
	book->allocs++;
}

/* What si_event_alloc does, of a thread that is stopped when it has looked at the entry. */
static void *pusher(void *unused)
{
	static uint64_t other[3];
	uint32_t slot = si_nursery_slot(twice);
	struct si_writer *w = si_enter(FP);
	uint64_t old, now;

	(void)unused;
	if (!w)
		abort();
	old = __atomic_load_n(&si_nursery[slot], __ATOMIC_ACQUIRE);
	now = si_ticks();
	pthread_barrier_wait(&looked);
	pthread_barrier_wait(&changed);
	si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, SHINY_API_MALLOC,
		       (uintptr_t)other, sizeof(other), 0, now);
	si_nursery_push(w, slot, old, si_nursery_entry(other, sizeof(other), now), now);
	book->allocs++;
	si_leave(w);
	return NULL;
}

/* A block is gone, and another one at its address, before a pusher marks it. */
static void run_later(void)
{
	static void *const later = &twice;
	pthread_t thread;

	book->later_at = (uintptr_t)twice;
	book->later_word = (uintptr_t)&later;
	pthread_barrier_init(&looked, NULL, 2);
	pthread_barrier_init(&changed, NULL, 2);
	birth((uintptr_t)&relocated);
	pthread_create(&thread, NULL, pusher, NULL);
	pthread_barrier_wait(&looked);
	note_free((uintptr_t)twice);
	birth((uintptr_t)&later);
	pthread_barrier_wait(&changed);
	pthread_join(thread, NULL);
	si_event_exiting(); /* reads it, in its time */
}

static uint64_t later_born, later_read; /* times of the book's later block; 0: never */

static void see_later(const struct rd_event *e)
{
	if (e->kind == SHINY_REC_ALLOC && e->address == book->later_at && e->time > later_born)
		later_born = e->time;
	if (e->kind == SHINY_REC_VPTR && e->word == book->later_word &&
	    (!later_read || e->time < later_read))
		later_read = e->time;
}

static const char *judge_later(const struct rd *r, const struct event_sums *s)
{
	(void)r;
	(void)s;
	if (!(si_nursery_entry(&later_read, sizeof(later_read), 0) >> SI_OBJECT_SHIFT))
		return "an entry is an address, which a leak checker follows";
	if (!later_read)
		return "the later block's vptr was not read";
	if (later_read < later_born)
		return "a vptr was read of the block before the one that has it";
	return NULL;
}

static const char *judge_nursery(const struct rd *r, const struct event_sums *s)
{
	uint64_t handed = counted(r, SHINY_COUNT_FREES_HANDED_OVER);

	(void)s;
	if (r->count[SHINY_REC_VPTR] == 0 || !handed)
		return because("%" PRIu64 " vptrs were read, %" PRIu64
			       " blocks freed while they were",
			       r->count[SHINY_REC_VPTR], handed);
	if (book->released != book->frees)
		return "a block was not given back exactly once";
	return NULL;
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct ring_case cases[] = {
		{ "nursery", "64m", .run = run_nursery, .judge = judge_nursery },
		{ "later", "8m", .run = run_later, .see = see_later, .judge = judge_later },
		{ "switched", "8m", .run = run_switched },
	};
	/* clang-format on */

	return ring_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
