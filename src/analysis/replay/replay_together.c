/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_together.c: see replay_together.h.
 *
 * Each task has a thread only for its stack: the running one holds a lock, and releases it to wait.
 * The last task that comes to wait for a pass makes it, for all that wait for the same session and
 * filter, and holds the lock meanwhile; awaited passes over other sessions get threads of their
 * own, and no task runs before all have ended. A pass does not wait for tasks that wait for
 * something else: another task's result, or tasks of their own.
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
	struct shiny_err *err; /* result of the task */
	struct party_member *owner; /* member that started it; NULL: none */
	size_t owned;               /* number of its own tasks that have not ended */
	const bool *until;          /* flag that it waits for; NULL: none */
	/* the pass that it waits for */
	bool waits;
	struct store *store;
	const struct filter *filter;
	struct replay_observer *observers;
	size_t observer_count;
	const char *title;
	struct shiny_err *pass_err;
};

struct party {
	pthread_mutex_t running; /* held by the running member */
	pthread_cond_t passed;   /* a pass or a member has ended */
	struct party_member members[REPLAY_TASKS_MAX];
	size_t count, left, waiting; /* left: neither ended nor waiting for own tasks */
};

static _Thread_local struct party_member *self;

/* True if all members that could run wait for a pass. */
static bool all_wait(const struct party *party)
{
	size_t stuck = 0;

	for (size_t i = 0; i < party->count; i++)
		stuck += party->members[i].until && !*party->members[i].until;
	return party->waiting + stuck == party->left;
}

/* Copies an error for another member. */
static struct shiny_err *copy_of(const struct shiny_err *err)
{
	struct shiny_err *copy;

	if (!err)
		return NULL;
	copy = shiny_err(err->code, "%s", err->message);
	return err->advice ? shiny_err_advise(copy, "%s", err->advice) : copy;
}

/* A pass for all members that wait for the same one. */
struct party_pass {
	struct store *store;
	const struct filter *filter;
	struct replay_observer *observers;
	size_t count;
	const char *title;
	struct shiny_err *err;
	pthread_t thread;
	bool threaded;
};

static bool wants(const struct party_member *m, const struct party_pass *pass)
{
	return m->waits && m->store == pass->store && m->filter == pass->filter;
}

/* Collects the observers of the pass that `first` waits for. */
static struct party_pass gather(const struct party *party, const struct party_member *first)
{
	struct party_pass pass = { .store = first->store,
				   .filter = first->filter,
				   .title = first->title };

	for (size_t i = 0; i < party->count; i++)
		if (wants(&party->members[i], &pass))
			pass.count += party->members[i].observer_count;
	pass.observers = mem_zero(pass.count + 1, sizeof(*pass.observers));
	pass.count = 0;
	for (size_t i = 0; i < party->count; i++) {
		const struct party_member *m = &party->members[i];

		if (!wants(m, &pass))
			continue;
		memcpy(&pass.observers[pass.count], m->observers,
		       m->observer_count * sizeof(*m->observers));
		pass.count += m->observer_count;
	}
	return pass;
}

static void *make_pass(void *context)
{
	struct party_pass *pass = context;

	pass->err = replay_pass(pass->store, pass->filter, pass->observers, pass->count,
				pass->title);
	return NULL;
}

/* Ends the wait of the pass's members. */
static void hand_out(struct party *party, struct party_pass *pass)
{
	for (size_t i = 0; i < party->count; i++) {
		struct party_member *m = &party->members[i];

		if (!wants(m, pass))
			continue;
		m->pass_err = copy_of(pass->err);
		m->waits = false;
		party->waiting--;
	}
	shiny_err_free(pass->err);
	free(pass->observers);
}

static bool is_read(const struct store *store, const struct party_pass *passes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (passes[i].store == store)
			return true;
	return false;
}

/* Makes one pass of each awaited session, all at the same time. */
static void make_passes(struct party *party)
{
	struct party_pass passes[REPLAY_TASKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < party->count; i++)
		if (party->members[i].waits && !is_read(party->members[i].store, passes, count))
			passes[count++] = gather(party, &party->members[i]);
	for (size_t i = 1; i < count; i++)
		passes[i].threaded = thread_start(&passes[i].thread, make_pass, &passes[i]);
	for (size_t i = 0; i < count; i++)
		if (!passes[i].threaded)
			make_pass(&passes[i]);
	for (size_t i = 0; i < count; i++) {
		if (passes[i].threaded)
			pthread_join(passes[i].thread, NULL);
		hand_out(party, &passes[i]);
	}
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
	pthread_cond_broadcast(&m->party->passed);
	while (m->waits)
		if (all_wait(m->party))
			make_passes(m->party);
		else
			pthread_cond_wait(&m->party->passed, &m->party->running);
	return m->pass_err;
}

void replay_await(const bool *done)
{
	struct party_member *m = self;

	if (!m)
		return;
	m->until = done;
	pthread_cond_broadcast(&m->party->passed);
	while (!*done)
		pthread_cond_wait(&m->party->passed, &m->party->running);
	m->until = NULL;
}

static void *run(void *context)
{
	struct party_member *m = context;
	struct party *party = m->party;

	pthread_mutex_lock(&party->running);
	self = m;
	m->err = m->task->run(m->task->context);
	self = NULL;
	party->left--;
	if (m->owner && !--m->owner->owned)
		party->left++; /* the owner runs again */
	pthread_cond_broadcast(&party->passed);
	pthread_mutex_unlock(&party->running);
	return NULL;
}

/* Starts the tasks as members of the party, whose lock is held. Returns how many have a thread. */
static size_t start(struct party *party, const struct replay_task *tasks, size_t count,
		    pthread_t *threads)
{
	struct party_member *members = &party->members[party->count];
	size_t started = 0;

	for (; started < count; started++) {
		if (party->count == REPLAY_TASKS_MAX)
			break;
		members[started] = (struct party_member){
			.party = party, .task = &tasks[started], .owner = self
		};
		if (!thread_start(&threads[started], run, &members[started]))
			break;
		party->count++;
	}
	party->left += started;
	return started;
}

struct shiny_err *replay_together(const struct replay_task *tasks, size_t count)
{
	struct party own = { .running = PTHREAD_MUTEX_INITIALIZER,
			     .passed = PTHREAD_COND_INITIALIZER };
	struct party_member *m = self;
	struct party *party = m ? m->party : &own;
	struct party_member *members = &party->members[party->count];
	pthread_t threads[REPLAY_TASKS_MAX];
	struct shiny_err *first = NULL;
	size_t started;

	if (!m)
		pthread_mutex_lock(&party->running);
	started = start(party, tasks, count, threads);
	if (m && started) {
		m->owned = started;
		party->left--;
		pthread_cond_broadcast(&party->passed);
		while (m->owned)
			pthread_cond_wait(&party->passed, &party->running);
	}
	if (!m)
		pthread_mutex_unlock(&party->running);
	for (size_t i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		if (!first)
			first = members[i].err;
		else
			shiny_err_free(members[i].err);
	}
	/* without threads: run them in order, after the tasks that they may wait for */
	for (size_t i = started; i < count; i++) {
		struct shiny_err *err = tasks[i].run(tasks[i].context);

		if (!first)
			first = err;
		else
			shiny_err_free(err);
	}
	return first;
}
