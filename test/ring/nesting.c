/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nesting.c: handlers in handlers: a call from inside a record is what a handler's is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>

#include "ring_case.h"

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

/* A thread has one stream that is its own; what handlers needed beside it is marked. */
static const char *judge_claims(const struct rd *r, const struct event_sums *s)
{
	const struct shiny_thread *t =
		(const struct shiny_thread *)((const char *)r->h + r->h->threads_at);

	(void)s;
	for (unsigned i = 0; i < r->h->threads_used; i++)
		for (unsigned k = 0; k < i; k++)
			if (t[i].state >= SHINY_SLOT_LIVE && t[k].state >= SHINY_SLOT_LIVE &&
			    t[i].tid == t[k].tid && !t[i].nested && !t[k].nested)
				return "a thread has two streams of its own";
	return NULL;
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct ring_case cases[] = {
		{ "nested", "8m", .run = run_nested },
		{ "deep", "8m", .run = run_too_deep, .nested = 1 },
		{ "claims", "32m", .run = run_claims, .judge = judge_claims },
	};
	/* clang-format on */

	return ring_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
