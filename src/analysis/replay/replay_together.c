/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_together.c: see replay_together.h.
 *
 * Each task has a thread for its stack alone: a lock that only the running one holds is given up
 * where a task waits for a pass. The last one that comes to wait makes the pass, for itself and for
 * all that asked for the same session and filter.
 */
#include "replay_together.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"

struct party;

struct party_member {
	struct party *party;
	const struct replay_task *task;
	struct shiny_err *err; /* of the task */
	/* what it waits for */
	bool waits;
	struct store *store;
	const struct filter *filter;
	struct replay_observer *observers;
	size_t observer_count;
	const char *title;
	struct shiny_err *pass_err;
};

struct party {
	pthread_mutex_t running; /* held by the one member that runs */
	pthread_cond_t passed;   /* a pass was made, or a member has ended */
	struct party_member members[REPLAY_TASKS_MAX];
	size_t count, left, waiting; /* left: not ended */
};

static _Thread_local struct party_member *self;

static bool same_pass(const struct party_member *a, const struct party_member *b)
{
	return b->waits && a->store == b->store && a->filter == b->filter;
}

/* The same error for one more. */
static struct shiny_err *copy_of(const struct shiny_err *err)
{
	struct shiny_err *copy;

	if (!err)
		return NULL;
	copy = shiny_err(err->code, "%s", err->message);
	return err->advice ? shiny_err_advise(copy, "%s", err->advice) : copy;
}

/* A pass for `first` and for those that want the same one. */
static void make_pass(struct party *party, struct party_member *first)
{
	struct replay_observer *observers;
	struct shiny_err *err;
	size_t count = 0, at = 0;

	for (size_t i = 0; i < party->count; i++)
		if (same_pass(first, &party->members[i]))
			count += party->members[i].observer_count;
	observers = mem_zero(count + 1, sizeof(*observers));
	for (size_t i = 0; i < party->count; i++) {
		const struct party_member *m = &party->members[i];

		if (!same_pass(first, m))
			continue;
		memcpy(&observers[at], m->observers, m->observer_count * sizeof(*observers));
		at += m->observer_count;
	}
	err = replay_pass(first->store, first->filter, observers, count, first->title);
	free(observers);
	for (size_t i = 0; i < party->count; i++) {
		struct party_member *m = &party->members[i];

		if (m == first || !same_pass(first, m))
			continue;
		m->pass_err = copy_of(err);
		m->waits = false;
		party->waiting--;
	}
	first->pass_err = err;
	first->waits = false;
	party->waiting--;
	pthread_cond_broadcast(&party->passed);
}

struct shiny_err *replay_run(struct store *store, const struct filter *filter,
			     struct replay_observer *observers, size_t count, const char *title)
{
	struct party_member *m = self;

	if (!m)
		return replay_pass(store, filter, observers, count, title);
	m->waits = true;
	m->store = store;
	m->filter = filter;
	m->observers = observers;
	m->observer_count = count;
	m->title = title;
	m->party->waiting++;
	while (m->waits)
		if (m->party->waiting == m->party->left)
			make_pass(m->party, m);
		else
			pthread_cond_wait(&m->party->passed, &m->party->running);
	return m->pass_err;
}

static void *run(void *context)
{
	struct party_member *m = context;

	pthread_mutex_lock(&m->party->running);
	self = m;
	m->err = m->task->run(m->task->context);
	self = NULL;
	m->party->left--;
	pthread_cond_broadcast(&m->party->passed);
	pthread_mutex_unlock(&m->party->running);
	return NULL;
}

struct shiny_err *replay_together(const struct replay_task *tasks, size_t count)
{
	struct party party = { .running = PTHREAD_MUTEX_INITIALIZER,
			       .passed = PTHREAD_COND_INITIALIZER,
			       .count = count,
			       .left = count };
	pthread_t threads[REPLAY_TASKS_MAX];
	size_t started = 0;
	struct shiny_err *first = NULL;

	for (size_t i = 0; i < count; i++)
		party.members[i] = (struct party_member){ .party = &party, .task = &tasks[i] };
	while (started < count && thread_start(&threads[started], run, &party.members[started]))
		started++;
	/* those that got no thread run here: they share no pass, and keep nobody waiting */
	pthread_mutex_lock(&party.running);
	party.left -= count - started;
	pthread_cond_broadcast(&party.passed);
	for (size_t i = started; i < count; i++)
		party.members[i].err = tasks[i].run(tasks[i].context);
	pthread_mutex_unlock(&party.running);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < count; i++) {
		if (!first)
			first = party.members[i].err;
		else
			shiny_err_free(party.members[i].err);
	}
	return first;
}
