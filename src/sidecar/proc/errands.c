/* SPDX-License-Identifier: Apache-2.0 */
/* errands.c: see errands.h. */
#define _GNU_SOURCE
#include "errands.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"

struct errand_list {
	struct errand *first, **last;
};

struct errands {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t news;  /* an errand is added or done, or `stop` is set */
	struct errand_list waiting, done;
	struct errand *under_way; /* by the thread */
	struct errand *awaited;   /* the loop waits for it; NULL: for none, or it is done */
	bool stop, stopped;
};

static void list_init(struct errand_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_add(struct errand_list *list, struct errand *errand)
{
	errand->next = NULL;
	*list->last = errand;
	list->last = &errand->next;
}

static struct errand *list_take(struct errand_list *list)
{
	struct errand *first = list->first;

	if (first)
		list->first = first->next;
	if (!list->first)
		list->last = &list->first;
	return first;
}

static void *run_all(void *context)
{
	struct errands *errands = context;

	pthread_mutex_lock(&errands->lock);
	while (!errands->stop) {
		errands->under_way = list_take(&errands->waiting);
		if (!errands->under_way) {
			pthread_cond_wait(&errands->news, &errands->lock);
			continue;
		}
		pthread_mutex_unlock(&errands->lock);
		errands->under_way->run(errands->under_way);
		pthread_mutex_lock(&errands->lock);
		if (errands->awaited == errands->under_way)
			errands->awaited = NULL;
		else
			list_add(&errands->done, errands->under_way);
		errands->under_way = NULL;
		pthread_cond_broadcast(&errands->news);
	}
	errands->stopped = true;
	pthread_cond_broadcast(&errands->news);
	pthread_mutex_unlock(&errands->lock);
	return NULL;
}

static void free_all(struct errands *errands)
{
	pthread_cond_destroy(&errands->news);
	pthread_mutex_destroy(&errands->lock);
	free(errands);
}

struct errands *errands_start(void)
{
	struct errands *errands = mem_zero(1, sizeof(*errands));
	pthread_condattr_t attributes;

	list_init(&errands->waiting);
	list_init(&errands->done);
	pthread_mutex_init(&errands->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&errands->news, &attributes);
	pthread_condattr_destroy(&attributes);
	if (thread_start(&errands->thread, run_all, errands))
		return errands;
	free_all(errands);
	return NULL;
}

static struct timespec from_now(uint64_t ns)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	ns += (uint64_t)time.tv_nsec;
	time.tv_sec += (time_t)(ns / 1000000000);
	time.tv_nsec = (long)(ns % 1000000000);
	return time;
}

static bool is_idle(const struct errands *errands)
{
	return errands->stop ? errands->stopped : !errands->waiting.first && !errands->under_way;
}

/*
 * Waits, with the lock held, until no errand is waiting or under way, or, after `stop`, until the
 * thread has stopped. False: that took longer than `ns`.
 */
static bool wait_idle(struct errands *errands, uint64_t ns)
{
	const struct timespec until = from_now(ns);

	while (!is_idle(errands) && !pthread_cond_timedwait(&errands->news, &errands->lock, &until))
		;
	return is_idle(errands);
}

static void drop(struct errand_list *list)
{
	struct errand *errand;

	while ((errand = list_take(list)))
		errand->end(NULL, errand);
}

bool errands_stop(struct errands *errands)
{
	bool stopped;

	if (!errands)
		return true;
	pthread_mutex_lock(&errands->lock);
	errands->stop = true;
	pthread_cond_broadcast(&errands->news);
	stopped = wait_idle(errands, ERRANDS_LAST);
	pthread_mutex_unlock(&errands->lock);
	if (!stopped) {
		pthread_detach(errands->thread);
		return false;
	}
	pthread_join(errands->thread, NULL);
	drop(&errands->waiting);
	drop(&errands->done);
	free_all(errands);
	return true;
}

bool errands_do(struct errands *errands, struct errand *errand)
{
	bool done = false;

	if (!errands) {
		errand->run(errand);
		return true;
	}
	pthread_mutex_lock(&errands->lock);
	if (is_idle(errands))
		errands->awaited = errand;
	list_add(&errands->waiting, errand);
	pthread_cond_broadcast(&errands->news);
	if (errands->awaited) {
		wait_idle(errands, ERRANDS_PATIENCE);
		done = !errands->awaited;
		errands->awaited = NULL;
	}
	pthread_mutex_unlock(&errands->lock);
	return done;
}

void errand_drop(struct session *session, struct errand *errand)
{
	(void)session;
	free(errand);
}

void errands_take(struct errands *errands, struct session *session)
{
	struct errand *errand = NULL;

	if (!errands)
		return;
	do {
		pthread_mutex_lock(&errands->lock);
		errand = list_take(&errands->done);
		pthread_mutex_unlock(&errands->lock);
		if (errand)
			errand->end(session, errand);
	} while (errand);
}

void errands_take_last(struct errands *errands, struct session *session)
{
	if (!errands)
		return;
	pthread_mutex_lock(&errands->lock);
	wait_idle(errands, ERRANDS_LAST);
	pthread_mutex_unlock(&errands->lock);
	errands_take(errands, session);
}
