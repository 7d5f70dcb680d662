/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_case.h: cases that use the engine in a process of their own, which keeps its own book in
 * shared memory; the test then reads the ring that is left behind with reader.h and compares.
 *
 * Runs: tests, against interpose/ built with sanitizers. Reads of freed blocks, torn tables and
 * races on them end the child's run. Signals: as the case says. Allocates: yes. Threads: the
 * case's.
 */
#ifndef TEST_RING_CASE_H
#define TEST_RING_CASE_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "../../interpose/core/clock.h"
#include "../../interpose/core/ring_map.h"
#include "../../interpose/hook/record_event.h"
#include "../../interpose/record/chunk.h"
#include "../../interpose/record/process.h"
#include "../../interpose/record/thread.h"
#include "../unit/check.h"
#include "reader.h"

void si_boot_test_constructor(void);

enum {
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

/* What the events of a ring add up to. */
struct event_sums {
	uint64_t allocs, frees, reallocs, lost, processes;
	uint64_t by_worker[SLOTS];
	uint64_t last_time[THREAD_SLOTS];
	uint32_t last_generation[THREAD_SLOTS];
	bool seen_process[PROCESS_SLOTS], backwards, gap;
	void (*see)(const struct rd_event *e); /* the case's own look at each event */
};

struct ring_case {
	const char *mode, *ring;
	void (*run)(void); /* in the child */
	/* optional, in the test: looks at each event; says what is wrong, NULL: nothing */
	void (*see)(const struct rd_event *e);
	const char *(*judge)(const struct rd *r, const struct event_sums *s);
	bool fills;	 /* events are lost, as the ring is too small */
	bool jumps;	 /* handlers leave by longjmp, out of the book-keeping, too */
	uint64_t nested; /* events that are dropped because of others' records */
	unsigned kills;	 /* it runs until it is killed, that many times, later each time */
};

#define FP ((const uintptr_t *)__builtin_frame_address(0))

/* ---- in the child ---- */

static __attribute__((noinline, unused)) void note_alloc(uint64_t address, size_t size)
{
	book->tried++;
	si_event_alloc(FP, (void *)(uintptr_t)address, size, SHINY_API_MALLOC);
	book->allocs++;
}

static inline void never(void *block)
{
	abort();
}

static __attribute__((noinline, unused)) void note_free(uint64_t address)
{
	if (!si_event_free(FP, (void *)(uintptr_t)address, 0, SHINY_API_FREE, never))
		abort();
	book->frees++;
}

static __attribute__((noinline, unused)) void work(unsigned id, uint64_t events, unsigned depth)
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

/* ---- the test ---- */

/* Returns the text, until the next call. */
static inline __attribute__((format(printf, 1, 2))) const char *because(const char *format, ...)
{
	static char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return why;
}

static inline void add_up(void *context, const struct rd_event *e)
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
	if (s->see)
		s->see(e);
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

static char directory[] = "/tmp/shiny-ring.XXXXXX";

static inline pid_t start(const struct ring_case *c, const char *self)
{
	char session[128], truth[128], size[64];
	pid_t child;

	memset(book, 0, sizeof(*book));
	snprintf(session, sizeof(session), "SHINY_SESSION=%s", directory);
	snprintf(truth, sizeof(truth), "%s/book", directory);
	snprintf(size, sizeof(size), "SHINY_RING=%s", c->ring);
	child = fork();
	if (child == 0) {
		char *arguments[] = { (char *)(uintptr_t)self, (char *)(uintptr_t)c->mode, truth,
				      NULL };
		char *environment[] = { session, "SHINY_COLLECT=off", size, NULL };

		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	return child;
}

static inline uint64_t counted(const struct rd *r, enum shiny_counter which)
{
	const struct shiny_process *p =
		(const struct shiny_process *)((const char *)r->h + r->h->processes_at);
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->h->processes; i++)
		sum += p[i].counters[which];
	return sum + r->h->counters[which];
}

static inline uint64_t losses(const struct rd *r)
{
	return counted(r, SHINY_COUNT_DROPPED_FULL) + counted(r, SHINY_COUNT_DROPPED_NO_THREAD) +
	       counted(r, SHINY_COUNT_DROPPED_NO_STREAM) + counted(r, SHINY_COUNT_DROPPED_ENDING) +
	       counted(r, SHINY_COUNT_DROPPED_NO_PROCESS) + counted(r, SHINY_COUNT_DROPPED_NESTED);
}

/* What was reported before a kill is there; what was begun may be there. */
static inline const char *judge_killed(const struct event_sums *s)
{
	for (unsigned i = 1; i <= 4; i++)
		if (s->by_worker[i] < book->done[i] || s->by_worker[i] > book->begun[i] || s->gap)
			return because("worker %u reported %" PRIu64 ", began %" PRIu64
				       ", the ring has %" PRIu64,
				       i, book->done[i], book->begun[i], s->by_worker[i]);
	return NULL;
}

/* Compares a ring with the child's book. */
static inline const char *judge_book(const struct ring_case *c, const struct rd *r,
				     const struct event_sums *s)
{
	uint64_t allocs = s->allocs + book->drained, lost = losses(r);
	uint64_t missing = book->allocs + book->frees + book->reallocs - allocs - s->frees -
			   s->reallocs;
	bool jumped = c->jumps && s->allocs <= book->tried && allocs + lost >= book->allocs;

	if ((missing != lost || allocs > book->allocs || s->frees > book->frees) && !jumped)
		return because("told %" PRIu64 "/%" PRIu64 "/%" PRIu64 ", found %" PRIu64
			       "/%" PRIu64 "/%" PRIu64 ", counted lost %" PRIu64,
			       book->allocs, book->frees, book->reallocs, allocs, s->frees,
			       s->reallocs, lost);
	if (!c->fills && counted(r, SHINY_COUNT_DROPPED_FULL) +
				 counted(r, SHINY_COUNT_DROPPED_NO_THREAD))
		return "events were lost in a ring with room";
	if (c->fills && lost == 0)
		return "nothing was lost in a ring that is too small";
	if (counted(r, SHINY_COUNT_DROPPED_NESTED) != c->nested)
		return because("%" PRIu64 " events were dropped because of others' records, "
			       "%" PRIu64 " were due",
			       counted(r, SHINY_COUNT_DROPPED_NESTED), c->nested);
	if (book->processes && s->processes != book->processes)
		return because("%" PRIu64 " processes ran, %" PRIu64 " have records",
			       book->processes, s->processes);
	return NULL;
}

static inline const char *judge_ring(const struct ring_case *c, struct rd *r)
{
	static struct event_sums s;
	const char *problem;

	memset(&s, 0, sizeof(s));
	s.see = c->see;
	if (!rd_walk(r, add_up, &s))
		return r->error;
	if (s.backwards)
		return "time goes back within a stream";
	if (r->undefined_stacks)
		return "an event has a stack that its stream has not defined";
	problem = c->kills ? judge_killed(&s) : judge_book(c, r, &s);
	return problem || !c->judge ? problem : c->judge(r, &s);
}

static inline void one_case(const struct ring_case *c, const char *self, unsigned kill_after)
{
	char path[300];
	struct rd r;
	int status = 0;
	pid_t child = start(c, self);

	if (kill_after) {
		while (book->done[1] + book->done[2] + book->done[3] + book->done[4] < kill_after &&
		       waitpid(child, &status, WNOHANG) == 0)
			sched_yield();
		kill(child, SIGKILL);
	}
	waitpid(child, &status, 0);
	if (!rd_find(directory, path, sizeof(path)) || !rd_open(&r, path)) {
		verdict(c->mode, "no ring was left, or it has no header");
		return;
	}
	if (!kill_after && status != 0)
		verdict(c->mode, because("the child ended with status %x", status));
	else
		verdict(c->mode, judge_ring(c, &r));
	rd_close(&r);
	unlink(path);
}

/* Runs all cases, or in a child the one that its arguments name; main's status. */
static inline int ring_cases(int argc, char **argv, const struct ring_case *cases, size_t count)
{
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
		for (size_t i = 0; i < count; i++)
			if (strcmp(argv[1], cases[i].mode) == 0)
				cases[i].run();
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (!cases[i].kills)
			one_case(&cases[i], argv[0], 0);
	for (size_t i = 0; i < count; i++)
		for (unsigned n = 0; n < cases[i].kills; n++)
			one_case(&cases[i], argv[0], 1 + n * n * 997);
	unlink(path);
	rmdir(directory);
	return failures != 0;
}

#endif
