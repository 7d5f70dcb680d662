/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c: the engine under threads, forks, signals, SIGKILL and a full ring: each stream has its
 * events in order, with the stacks that the program had.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "ring_case.h"

enum { THREADS = 64 };

static void run_kinds(void)
{
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t at = ghost + i * 4096;

		note_alloc(at, 4096 + (i % 7 == 0 ? 1 << 21 : i)); /* now and then wide */
		if (i % 3 == 0)
			note_free(at);
		if (i % 5 == 1) {
			if (!si_event_realloc_begin(FP, (void *)(uintptr_t)at, 8192,
						    SHINY_API_REALLOC))
				abort();
			if (i % 2)
				/* not on an 8-byte boundary: wide */
				si_event_realloc_done(FP, (void *)(uintptr_t)(at + 4), 8192,
						      SHINY_API_REALLOC);
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

static uint64_t wrong_stacks;

static void see_stack(const struct rd_event *e)
{
	if (e->kind == SHINY_REC_ALLOC)
		wrong_stacks += !right_stack(e, (int64_t)(book->code - (uintptr_t)descend_left));
}

static const char *judge_stacks(const struct rd *r, const struct event_sums *s)
{
	(void)s;
	if (!wrong_stacks && r->count[SHINY_REC_STACK_LIKE] && r->count[SHINY_REC_STACK])
		return NULL;
	return because("%" PRIu64 " stacks are not the program's; %" PRIu64
		       " definitions by another one's frames, %" PRIu64 " whole",
		       wrong_stacks, r->count[SHINY_REC_STACK_LIKE], r->count[SHINY_REC_STACK]);
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

static void run_full(void)
{
	work(0, 400000, 2);
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct ring_case cases[] = {
		{ "kinds", "8m", .run = run_kinds },
		{ "threads", "64m", .run = run_threads },
		{ "forks", "64m", .run = run_forks },
		{ "signals", "32m", .run = run_signals, .jumps = true },
		{ "full", "1m", .run = run_full, .fills = true },
		{ "stacks", "32m", .run = run_stacks, .see = see_stack, .judge = judge_stacks },
		{ "killed", "64m", .run = run_until_killed, .kills = 12 },
	};
	/* clang-format on */

	return ring_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
