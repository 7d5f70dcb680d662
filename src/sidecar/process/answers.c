/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.c: see answers.h.
 *
 * Problem. A thread that waits for the sidecar spins until it knows that no filter forbids it to
 * sleep (interpose/record/wait.c). A thousand spinning threads keep the processor from one that the
 * kernel has preempted while it holds the lock of its process's memory map; and the sidecar's loop,
 * which sometimes reads /proc/PID/maps and pagemap, waits for that lock. With 1,000 threads that
 * start at once, nothing proceeded for six seconds, and 534,298 events were lost.
 *
 * Approach. A separate thread answers. It reads only /proc/PID/task/TID/status, which takes no such
 * lock. Rejected: answering from the loop, which may block.
 *
 * Cost. The thread reads one word a process each NAP_MS while some process waits, and each
 * LONGEST_NAP_MS after a while without any (with NAP_MS throughout: 601 of the sidecar's 12,894
 * samples with clang++). For a waiting process it reads a file of /proc per thread, for at most a
 * fifth of the time.
 */
#define _GNU_SOURCE
#include "answers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"
#include "../proc/proc.h"
#include "../ring/ticks.h"

#define MS UINT64_C(1000000)
enum { REST = 4, NAP_MS = 4, LONGEST_NAP_MS = 16 };

struct asker {
	struct shiny_process *slot;
	uint32_t pid;
	uint32_t answered; /* the last answered value of its `waits` */
	uint64_t next;     /* wall ns of the earliest next answer */
};

struct answers {
	pthread_t thread;
	pthread_mutex_t lock; /* guards `askers` and `stop`; held while reading /proc, so that no
	                       * slot is removed meanwhile */
	pthread_cond_t end;
	VEC(struct asker) askers;
	bool stop;
};

/* Processor time of this thread, in ns: while thousands spin, wall time shows their number and not
 * the cost of reading. */
static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Answers a process that waits; true: it does. */
static bool answer(struct asker *asker)
{
	uint32_t waits = __atomic_load_n(&asker->slot->waits, __ATOMIC_RELAXED); /* [ctl] */
	uint64_t began;

	if (waits == asker->answered)
		return false;
	if (ticks_wall_ns() < asker->next)
		return true;
	began = processor_ns();
	asker->answered = waits;
	if (proc_filtered_as_we(asker->pid))
		__atomic_store_n(&asker->slot->may_sleep, waits, __ATOMIC_RELAXED); /* [ctl] */
	__atomic_store_n(&asker->slot->looked, waits, __ATOMIC_RELEASE); /* [ctl] */
	asker->next = ticks_wall_ns() + REST * (processor_ns() - began);
	return true;
}

static void nap(struct answers *answers, unsigned ms)
{
	uint64_t at = ticks_wall_ns() + ms * MS;
	struct timespec until = { .tv_sec = (time_t)(at / (1000 * MS)),
				  .tv_nsec = (long)(at % (1000 * MS)) };

	pthread_cond_timedwait(&answers->end, &answers->lock, &until);
}

static void *answer_all(void *context)
{
	struct answers *answers = context;
	unsigned ms = NAP_MS;

	pthread_mutex_lock(&answers->lock);
	while (!answers->stop) {
		bool any = false;

		for (size_t i = 0; i < answers->askers.count; i++)
			any |= answer(&answers->askers.at[i]);
		ms = any ? NAP_MS : ms < LONGEST_NAP_MS ? ms * 2 : ms;
		nap(answers, ms);
	}
	pthread_mutex_unlock(&answers->lock);
	return NULL;
}

static void destroy(struct answers *answers)
{
	pthread_cond_destroy(&answers->end);
	pthread_mutex_destroy(&answers->lock);
	free(answers->askers.at);
	free(answers);
}

struct answers *answers_start(void)
{
	struct answers *answers = mem_zero(1, sizeof(*answers));
	pthread_condattr_t attributes;

	pthread_mutex_init(&answers->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&answers->end, &attributes);
	pthread_condattr_destroy(&attributes);
	if (thread_start(&answers->thread, answer_all, answers))
		return answers;
	destroy(answers);
	return NULL;
}

void answers_stop(struct answers *answers)
{
	if (!answers)
		return;
	pthread_mutex_lock(&answers->lock);
	answers->stop = true;
	pthread_cond_signal(&answers->end);
	pthread_mutex_unlock(&answers->lock);
	pthread_join(answers->thread, NULL);
	destroy(answers);
}

static struct asker *asker_of(struct answers *answers, const struct shiny_process *slot)
{
	for (size_t i = 0; i < answers->askers.count; i++)
		if (answers->askers.at[i].slot == slot)
			return &answers->askers.at[i];
	return NULL;
}

void answers_put(struct answers *answers, struct shiny_process *slot, uint32_t pid)
{
	struct asker *asker;

	if (!answers)
		return;
	pthread_mutex_lock(&answers->lock);
	asker = asker_of(answers, slot);
	if (!asker) {
		asker = vec_push(&answers->askers);
		*asker = (struct asker){ .slot = slot };
	}
	asker->pid = pid;
	pthread_mutex_unlock(&answers->lock);
}

void answers_remove(struct answers *answers, const struct shiny_process *slot)
{
	struct asker *asker;

	if (!answers)
		return;
	pthread_mutex_lock(&answers->lock);
	asker = asker_of(answers, slot);
	if (asker)
		*asker = answers->askers.at[--answers->askers.count];
	pthread_mutex_unlock(&answers->lock);
}
