/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c: the engine under threads, forks, signals, SIGKILL and a full ring. Each case runs in a
 * process of its own, which keeps its own book in shared memory; the test then reads the ring that
 * is left behind with reader.h and compares.
 *
 * Runs: test, against interpose/ built with sanitizers. Reads of freed blocks, torn tables and
 * races on them end the child's run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "../../interpose/core/ring_map.h"
#include "../../interpose/record/chunk.h"
#include "../../interpose/core/clock.h"
#include "../../interpose/hook/record_event.h"
#include "../../interpose/record/nursery.h"
#include "../../interpose/record/process.h"
#include "../../interpose/record/thread.h"
#include "../unit/check.h"
#include "reader.h"

void si_boot_test_constructor(void);

enum {
	THREADS = 64,
	SLOTS = 256,
	THREAD_SLOTS = 32768,
	PROCESS_SLOTS = 16384 /* in the largest ring here */
};
static const uint64_t ghost = UINT64_C(0x100000000); /* addresses that are nobody's: never put into
                                                      * the nursery, as whole pages */

/* The child's own book. */
struct book {
	_Atomic uint64_t begun[SLOTS], done[SLOTS]; /* events by worker: about to be reported,
	                                             * reported */
	uint64_t code; /* where descend_left is */
	_Atomic uint64_t tried; /* allocations about to be reported */
	_Atomic uint64_t allocs, frees, reallocs, processes, released, handler_events;
	_Atomic uint64_t drained; /* allocations that the child itself took out of the ring, as a
	                           * sidecar would */
	_Atomic uint64_t waited;  /* seconds */
	uint64_t later_at, later_word; /* a block's address, which another one had before, and
	                                * its first word */
};
static struct book *book;

#define FP ((const uintptr_t *)__builtin_frame_address(0))

static __attribute__((noinline)) void note_alloc(uint64_t address, size_t size)
{
	book->tried++;
	si_event_alloc(FP, (void *)(uintptr_t)address, size, SHINY_API_MALLOC);
	book->allocs++;
}

static void never(void *block)
{
	abort();
}

static __attribute__((noinline)) void note_free(uint64_t address)
{
	if (!si_event_free(FP, (void *)(uintptr_t)address, 0, SHINY_API_FREE, never))
		abort();
	book->frees++;
}

/* ---- in the child ---- */

static void run_kinds(void)
{
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t at = ghost + i * 4096;

		note_alloc(at, 4096 + (i % 7 == 0 ? 1 << 21 : i)); /* now and then wide */
		if (i % 3 == 0)
			note_free(at);
		if (i % 5 == 1) {
			if (!si_event_realloc_begin(FP, (void *)(uintptr_t)at))
				abort();
			if (i % 2)
				si_event_realloc_done(FP, (void *)(uintptr_t)(at + 4),
						      8192); /* not on an 8-byte boundary: wide */
			else
				si_event_realloc_failed(FP);
			book->reallocs++;
		}
	}
}

/*
 * Two functions that call each other down to `depth`, by a path that `path`'s bits choose; the
 * block's size tells both. Each call site leaves its mark in the stack: a frame is told from its
 * caller's by which of the two functions it lies in.
 */
static void descend_left(uint64_t path, unsigned depth, uint64_t at, size_t size);
static __attribute__((noinline)) void descend_right(uint64_t path, unsigned depth, uint64_t at,
						    size_t size)
{
	if (depth == 0)
		note_alloc(at, size);
	else if (path & 1)
		descend_left(path >> 1, depth - 1, at, size);
	else
		descend_right(path >> 1, depth - 1, at, size);
	__asm__ volatile("");
}

static __attribute__((noinline)) void descend_left(uint64_t path, unsigned depth, uint64_t at,
						   size_t size)
{
	if (depth == 0)
		note_alloc(at, size);
	else if (path & 1)
		descend_left(path >> 1, depth - 1, at, size);
	else
		descend_right(path >> 1, depth - 1, at, size);
	__asm__ volatile("");
}

enum { PATH_BITS = 12, PATH_DEPTHS = 20 };

static void run_stacks(void)
{
	uint64_t mixed = 1;

	book->code = (uintptr_t)descend_left;
	for (uint64_t i = 0; i < 30000; i++) {
		uint64_t path = (mixed >> 40) & ((1 << PATH_BITS) - 1);
		unsigned depth = (unsigned)(mixed >> 33) % PATH_DEPTHS;

		mixed = mixed * UINT64_C(6364136223846793005) + 1442695040888963407;
		descend_right(path, depth, ghost + i * 4096, 4096 + (path << 5 | depth));
	}
}

/* Where the code of the function that `address` lies in is, of the two; the parent knows them, as
 * it is the same executable. */
static int side(uint64_t address, int64_t slide)
{
	uint64_t at = address - (uint64_t)slide, left = (uintptr_t)descend_left,
		 right = (uintptr_t)descend_right;
	bool left_is_lower = left < right;
	uint64_t lower = left_is_lower ? left : right, upper = left_is_lower ? right : left;

	if (at - lower >= 2 * (upper - lower))
		return -1;
	return (at >= upper) == left_is_lower; /* 0: left, 1: right */
}

/* What the stack of a block of run_stacks must be: at each depth the function that the path had
 * chosen. */
static bool right_stack(const struct rd_event *e, int64_t slide)
{
	uint64_t told = e->size - 4096, path = told >> 5;
	unsigned depth = told & 31;

	if (!e->frame || e->frames < 2)
		return false;
	for (unsigned i = 0; i <= depth && i < e->frames; i++) {
		unsigned level = depth - i; /* the function that was entered by that many calls */
		int expected = level == 0 ? 1 : level > PATH_BITS ? 1 : !(path >> (level - 1) & 1);

		if (side(e->frame[i], slide) != expected)
			return false;
	}
	return e->frames > depth || e->frames == 16;
}

static __attribute__((noinline)) void work(unsigned id, uint64_t events, unsigned depth)
{
	if (depth) {
		work(id, events, depth - 1);
		__asm__ volatile("");
		return;
	}
	for (uint64_t i = 0; i < events; i++) {
		book->begun[id]++;
		note_alloc(ghost * (id + 1) + i * 4096, 4096);
		book->done[id]++;
	}
}

static pthread_key_t late_key;
static void late_event(void *at)
{
	/* in the last round of destructors, and after our own stream may be closed */
	note_free((uintptr_t)at);
}

static void *worker(void *argument)
{
	unsigned id = (unsigned)(uintptr_t)argument;

	pthread_setspecific(late_key, (void *)(uintptr_t)(ghost * (id + 1)));
	work(id, 3000, id % 12);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	pthread_key_create(&late_key, late_event);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
}

static void fork_tree(unsigned depth, bool raw)
{
	for (unsigned i = 0; i < 4 && depth; i++) {
		pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

		if (child == 0) {
			book->processes++;
			work(depth * 8 + i, 100, 3);
			fork_tree(depth - 1, raw);
			_exit(0);
		}
		work(0, 10, 1);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void run_forks(void)
{
	book->processes = 1;
	work(0, 100, 1);
	fork_tree(3, false);
	fork_tree(2, true);
}

static void *endless(void *argument)
{
	work((unsigned)(uintptr_t)argument, UINT64_MAX, 3);
	return NULL;
}

static void run_until_killed(void)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, endless, (void *)(uintptr_t)(i + 1));
	pause();
}

static sigjmp_buf out;
static bool jump;
static void handler(int number)
{
	note_alloc(ghost * 99 + book->handler_events++ * 4096, 5000);
	if (jump)
		siglongjmp(out, 1);
}

static void run_signals(void)
{
	struct sigaction act = { .sa_handler = handler };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never_more = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &act, NULL);
	for (int round = 0; round < 2; round++) {
		setitimer(ITIMER_REAL, &often, NULL);
		for (volatile unsigned n = 0; n < 300; n++) {
			jump = round == 1;
			if (sigsetjmp(out, 1) == 0)
				work(round, 200, 2);
		}
		jump = false;
		setitimer(ITIMER_REAL, &never_more, NULL);
	}
}

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
	uint64_t freed = UINT64_MAX;

	__atomic_store_n(&si_nursery[slot], (uintptr_t)block | SI_BUSY, __ATOMIC_RELAXED);
	si_nursery_test_handed = note_handed;
	if (si_nursery_hand_over(slot, (uintptr_t)block, never, &freed) || freed > handed_at)
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

static void run_full(void)
{
	work(0, 400000, 2);
}

/* ---- handlers in handlers: a call from inside a record is what a handler's is ---- */

static __attribute__((noinline)) void handled(void)
{
	note_alloc(ghost * 99 + book->handler_events++ * 4096, 4096);
}

static __attribute__((noinline)) void finish_record(struct si_writer *w)
{
	si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, SHINY_API_MALLOC, ghost * 90, 4096,
		       0, si_ticks());
	si_leave(w);
}

/* `depth` records, each interrupted by the next; `then` inside them all. */
static __attribute__((noinline)) void nest(unsigned depth, void (*then)(void))
{
	pid_t self = getpid();
	struct si_writer *w;

	handled();
	if (depth == 0) {
		if (then)
			then();
		return;
	}
	w = si_enter(FP);
	if (!w)
		abort();
	nest(depth - 1, then);
	book->allocs += self == getpid(); /* a child stores the very words that its parent does */
	finish_record(w);
	handled();
}

static pid_t nested_child;
static void fork_there(void)
{
	nested_child = fork();
	handled();
	book->processes++;
	while (nested_child && waitpid(nested_child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void run_nested(void)
{
	nest(3, NULL);
	nest(SI_NESTING - 1, NULL);
	nest(3, fork_there);
	if (nested_child == 0)
		_exit(0);
}

static void run_too_deep(void)
{
	nest(SI_NESTING, NULL);
}

enum { CLAIM_DEPTH = 3, CLAIM_THREADS = 12 };
static __thread unsigned claim_depth, claim_jump;
static __thread sigjmp_buf claim_out;
static void in_claim(void)
{
	if (claim_jump && --claim_jump == 0)
		siglongjmp(claim_out, 1);
	if (claim_depth == CLAIM_DEPTH)
		return;
	claim_depth++;
	handled();
	claim_depth--;
}

static __attribute__((noinline)) void claim_some(unsigned jump_at)
{
	claim_depth = 0;
	claim_jump = jump_at;
	if (sigsetjmp(claim_out, 1) == 0)
		handled();
	claim_depth = claim_jump = 0;
	for (unsigned i = 0; i < 10; i++)
		handled();
}

static void *claimer(void *argument)
{
	/* the place in a claim at which a handler leaves by longjmp; 0: none does */
	unsigned jump_at = (unsigned)(uintptr_t)argument;
	pthread_attr_t self;
	void *low;
	size_t bytes;
	struct si_writer *w;

	if (pthread_getattr_np(pthread_self(), &self) != 0 ||
	    pthread_attr_getstack(&self, &low, &bytes) != 0)
		abort();
	pthread_attr_destroy(&self);
	si_stack_is((uintptr_t)low, (uintptr_t)low + bytes, (uintptr_t)low);
	claim_some(jump_at);
	w = si_enter(FP);
	if (!w)
		abort();
	claim_some(jump_at);
	finish_record(w);
	book->allocs++;
	return NULL;
}

static void run_claims(void)
{
	si_thread_test_pause = in_claim;
	for (unsigned i = 0; i < CLAIM_THREADS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, claimer, (void *)(uintptr_t)i);
		pthread_join(thread, NULL);
	}
	si_thread_test_pause = NULL;
}

/* ---- a sidecar that is slow, or stands still ---- */

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

/* ---- the test ---- */

struct event_sums {
	uint64_t allocs, frees, reallocs, lost, processes;
	uint64_t by_worker[SLOTS];
	uint64_t last_time[THREAD_SLOTS];
	uint32_t last_generation[THREAD_SLOTS];
	bool seen_process[PROCESS_SLOTS], backwards, gap;
	uint64_t later_born, later_read; /* times of the book's later block; 0: never */
	bool stacks; /* the blocks are run_stacks' */
	uint64_t wrong_stacks;
};

static void add_up(void *context, const struct rd_event *e)
{
	struct event_sums *s = context;

	if (e->thread < THREAD_SLOTS && e->kind != SHINY_REC_VPTR) {
		if (s->last_generation[e->thread] == e->generation &&
		    e->time < s->last_time[e->thread])
			s->backwards = true;
		s->last_generation[e->thread] = e->generation;
		s->last_time[e->thread] = e->time;
	}
	if (e->process < PROCESS_SLOTS && !s->seen_process[e->process]) {
		s->seen_process[e->process] = true;
		s->processes++;
	}
	if (e->kind == SHINY_REC_ALLOC && s->stacks)
		s->wrong_stacks += !right_stack(e, (int64_t)(book->code - (uintptr_t)descend_left));
	if (e->kind == SHINY_REC_ALLOC && e->address == book->later_at &&
	    e->time > s->later_born)
		s->later_born = e->time;
	if (e->kind == SHINY_REC_VPTR && e->word == book->later_word &&
	    (!s->later_read || e->time < s->later_read))
		s->later_read = e->time;
	if (e->kind == SHINY_REC_ALLOC) {
		uint64_t id = e->address / ghost - 1;

		s->allocs++;
		if (id < SLOTS) {
			/* a worker's own blocks come in order and without a gap */
			if (e->address % ghost != s->by_worker[id] * 4096)
				s->gap = true;
			s->by_worker[id]++;
		}
	}
	s->frees += e->kind == SHINY_REC_FREE;
	s->reallocs += e->kind == SHINY_REC_REALLOC_DONE || e->kind == SHINY_REC_REALLOC_FAILED;
	if (e->kind == SHINY_REC_LOSS)
		s->lost += e->word;
}

static char directory[] = "/tmp/shiny-streams.XXXXXX";

static pid_t start(const char *mode, const char *ring, const char *self)
{
	char session[128], truth[128], size[64];
	pid_t child;

	memset(book, 0, sizeof(*book));
	snprintf(session, sizeof(session), "SHINY_SESSION=%s", directory);
	snprintf(truth, sizeof(truth), "%s/book", directory);
	snprintf(size, sizeof(size), "SHINY_RING=%s", ring);
	child = fork();
	if (child == 0) {
		char *arguments[] = { (char *)(uintptr_t)self, (char *)(uintptr_t)mode, truth,
				      NULL };
		char *environment[] = { session, "SHINY_COLLECT=off", size, NULL };

		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	return child;
}

static uint64_t counted(const struct rd *r, enum shiny_counter which)
{
	const struct shiny_process *p =
		(const struct shiny_process *)((const char *)r->h + r->h->processes_at);
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->h->processes; i++)
		sum += p[i].counters[which];
	return sum + r->h->counters[which];
}

static uint64_t losses(const struct rd *r)
{
	return counted(r, SHINY_COUNT_DROPPED_FULL) + counted(r, SHINY_COUNT_DROPPED_NO_THREAD) +
	       counted(r, SHINY_COUNT_DROPPED_NO_STREAM) + counted(r, SHINY_COUNT_DROPPED_ENDING) +
	       counted(r, SHINY_COUNT_DROPPED_NO_PROCESS) + counted(r, SHINY_COUNT_DROPPED_NESTED);
}

/* A thread has one stream that is its own; what handlers needed beside it is marked. */
static bool one_own_stream(const struct rd *r)
{
	const struct shiny_thread *t =
		(const struct shiny_thread *)((const char *)r->h + r->h->threads_at);

	for (unsigned i = 0; i < r->h->threads_used; i++)
		for (unsigned k = 0; k < i; k++)
			if (t[i].state >= SHINY_SLOT_LIVE && t[k].state >= SHINY_SLOT_LIVE &&
			    t[i].tid == t[k].tid && !t[i].nested && !t[k].nested)
				return false;
	return true;
}

static void one_case(const char *mode, const char *ring, const char *self, unsigned kill_after)
{
	static char why[512];
	static struct event_sums s;
	char path[300];
	struct rd r;
	int status = 0;
	pid_t child = start(mode, ring, self);
	const char *problem = NULL;

	if (kill_after) {
		while (book->done[1] + book->done[2] + book->done[3] + book->done[4] < kill_after &&
		       waitpid(child, &status, WNOHANG) == 0)
			sched_yield();
		kill(child, SIGKILL);
	}
	waitpid(child, &status, 0);
	memset(&s, 0, sizeof(s));
	s.stacks = strcmp(mode, "stacks") == 0;
	if (!kill_after && status != 0) {
		snprintf(why, sizeof(why), "the child ended with status %x", status);
		verdict(mode, why);
		if (rd_find(directory, path, sizeof(path)))
			unlink(path);
		return;
	}
	if (!rd_find(directory, path, sizeof(path)) || !rd_open(&r, path)) {
		verdict(mode, "no ring was left, or it has no header");
		return;
	}
	if (!rd_walk(&r, add_up, &s))
		problem = r.error;
	else if (s.backwards)
		problem = "time goes back within a stream";
	else if (r.undefined_stacks)
		problem = "an event has a stack that its stream has not defined";
	if (!problem && s.stacks &&
	    (s.wrong_stacks || !r.count[SHINY_REC_STACK_LIKE] || !r.count[SHINY_REC_STACK])) {
		snprintf(why, sizeof(why),
			 "%llu stacks are not the program's; %llu definitions by another one's "
			 "frames, %llu whole",
			 (unsigned long long)s.wrong_stacks,
			 (unsigned long long)r.count[SHINY_REC_STACK_LIKE],
			 (unsigned long long)r.count[SHINY_REC_STACK]);
		problem = why;
	}
	if (!problem && kill_after) {
		/* what was reported is there; what was begun may be there */
		for (unsigned i = 1; i <= 4; i++)
			if (s.by_worker[i] < book->done[i] || s.by_worker[i] > book->begun[i] ||
			    s.gap) {
				snprintf(why, sizeof(why),
					 "worker %u reported %llu, began %llu, the ring has %llu",
					 i, (unsigned long long)book->done[i],
					 (unsigned long long)book->begun[i],
					 (unsigned long long)s.by_worker[i]);
				problem = why;
			}
	} else if (!problem) {
		bool may_fill = strcmp(mode, "full") == 0 || strcmp(mode, "still") == 0 ||
				strcmp(mode, "aged") == 0;
		uint64_t missing, deep = strcmp(mode, "deep") == 0 ? 1 : 0;
		/* out of the book-keeping, too */
		bool jumped = strcmp(mode, "signals") == 0 && s.allocs <= book->tried;

		s.allocs += book->drained;
		missing = book->allocs + book->frees + book->reallocs - s.allocs - s.frees -
			  s.reallocs;
		if ((missing != losses(&r) || s.allocs > book->allocs || s.frees > book->frees) &&
		    !(jumped && s.allocs + losses(&r) >= book->allocs)) {
			snprintf(why, sizeof(why),
				 "told %llu/%llu/%llu, found %llu/%llu/%llu, counted lost %llu",
				 (unsigned long long)book->allocs, (unsigned long long)book->frees,
				 (unsigned long long)book->reallocs, (unsigned long long)s.allocs,
				 (unsigned long long)s.frees, (unsigned long long)s.reallocs,
				 (unsigned long long)losses(&r));
			problem = why;
		} else if (!may_fill && counted(&r, SHINY_COUNT_DROPPED_FULL) +
						counted(&r, SHINY_COUNT_DROPPED_NO_THREAD)) {
			problem = "events were lost in a ring with room";
		} else if (may_fill && losses(&r) == 0) {
			problem = "nothing was lost in a ring that is too small";
		} else if (counted(&r, SHINY_COUNT_DROPPED_NESTED) != deep) {
			snprintf(why, sizeof(why),
				 "%llu events were dropped because of others' records, %llu were "
				 "due",
				 (unsigned long long)counted(&r, SHINY_COUNT_DROPPED_NESTED),
				 (unsigned long long)deep);
			problem = why;
		} else if (strcmp(mode, "claims") == 0 && !one_own_stream(&r)) {
			problem = "a thread has two streams of its own";
		} else if (strcmp(mode, "slow") == 0 && !counted(&r, SHINY_COUNT_WAITED_FULL)) {
			problem = "nobody had to wait";
		} else if (strcmp(mode, "aged") == 0 && counted(&r, SHINY_COUNT_WAITED_FULL) != 1) {
			snprintf(why, sizeof(why), "%llu waits",
				 (unsigned long long)counted(&r, SHINY_COUNT_WAITED_FULL));
			problem = why;
		} else if (strcmp(mode, "still") == 0 &&
			   (counted(&r, SHINY_COUNT_WAITED_FULL) != 1 || book->waited >= 10)) {
			/* one wait of three seconds, or ten where it does not notice that nothing
			 * moves; two where each thread finds out for itself */
			snprintf(why, sizeof(why), "%llu waits, %llu seconds",
				 (unsigned long long)counted(&r, SHINY_COUNT_WAITED_FULL),
				 (unsigned long long)book->waited);
			problem = why;
		} else if (book->processes && s.processes != book->processes) {
			snprintf(why, sizeof(why), "%llu processes ran, %llu have records",
				 (unsigned long long)book->processes,
				 (unsigned long long)s.processes);
			problem = why;
		} else if (strcmp(mode, "nursery") == 0 &&
			   (r.count[SHINY_REC_VPTR] == 0 ||
			    !counted(&r, SHINY_COUNT_FREES_HANDED_OVER))) {
			snprintf(why, sizeof(why),
				 "%llu vptrs were read, %llu blocks freed while they were",
				 (unsigned long long)r.count[SHINY_REC_VPTR],
				 (unsigned long long)counted(&r, SHINY_COUNT_FREES_HANDED_OVER));
			problem = why;
		} else if (strcmp(mode, "nursery") == 0 && book->released != book->frees) {
			problem = "a block was not given back exactly once";
		} else if (strcmp(mode, "later") == 0 && !s.later_read) {
			problem = "the later block's vptr was not read";
		} else if (strcmp(mode, "later") == 0 && s.later_read < s.later_born) {
			problem = "a vptr was read of the block before the one that has it";
		}
	}
	verdict(mode, problem);
	rd_close(&r);
	unlink(path);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *mode, *ring;
		void (*run)(void);
	} cases[] = {
		{ "kinds", "8m", run_kinds },	   { "threads", "64m", run_threads },
		{ "forks", "64m", run_forks },	   { "signals", "32m", run_signals },
		{ "nursery", "64m", run_nursery }, { "full", "1m", run_full },
		{ "later", "8m", run_later },
		{ "stacks", "32m", run_stacks },   { "nested", "8m", run_nested },
		{ "deep", "8m", run_too_deep },	   { "claims", "32m", run_claims },
		{ "slow", "1m", run_slow },	   { "still", "1m", run_still },
		{ "aged", "1m", run_aged },	   { "switched", "8m", run_switched },
		{ "killed", "64m", run_until_killed },
	};
	enum { CASES = sizeof(cases) / sizeof(*cases) };
	const char *truth = argc == 3 ? argv[2] : NULL;
	char path[128];
	int fd;

	if (!truth && !mkdtemp(directory))
		return 77;
	snprintf(path, sizeof(path), "%s/book", directory);
	fd = open(truth ? truth : path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*book)) != 0)
		return 77;
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth) {
		si_boot_test_constructor();
		for (unsigned i = 0; i < CASES; i++)
			if (strcmp(argv[1], cases[i].mode) == 0)
				cases[i].run();
		return 0;
	}
	for (unsigned i = 0; i + 1 < CASES; i++)
		one_case(cases[i].mode, cases[i].ring, argv[0], 0);
	for (unsigned n = 0; n < 12; n++)
		one_case("killed", "64m", argv[0], 1 + n * n * 997);
	unlink(path);
	rmdir(directory);
	return failures != 0;
}
