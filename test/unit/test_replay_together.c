/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_together.c: analyses that run together share passes, and each sees what it would see
 * alone. Passes are told apart by what their observers are given. */
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "../../src/analysis/replay/replay_together.h"
#include "session_writer.h"

enum { BLOCKS = 50, SECOND = 1000000000, TASKS = 4 };
static char path[64];
static struct store *session;
static struct filter all, first_half;

/* Passes in the order in which they were begun. */
static const struct replay *passes[16];
static size_t pass_count;
static uint64_t pass_events;

struct counter {
	unsigned passes; /* that it makes */
	const struct filter *filter;
	bool fails;
	unsigned made[4];     /* number of each, from 1 */
	uint64_t births[4];
	unsigned now;
};

static void on_birth(void *context, const struct replay_process *process, const struct life *life)
{
	struct counter *c = context;

	(void)process;
	(void)life;
	/* an event less than the last one told: another pass */
	if (!pass_count || passes[pass_count - 1] != process->replay ||
	    process->replay->events < pass_events)
		passes[pass_count++] = process->replay;
	pass_events = process->replay->events;
	c->made[c->now] = (unsigned)pass_count;
	c->births[c->now]++;
}

static struct shiny_err *count(void *context)
{
	struct counter *c = context;
	struct shiny_err *err = NULL;

	for (c->now = 0; !err && c->now < c->passes; c->now++) {
		struct replay_observer observer = { .context = c, .birth = on_birth };

		err = replay_run(session, c->filter, &observer, 1, NULL);
	}
	return c->fails ? shiny_err(SHINY_ERR_OTHER, "it fails after %u passes", c->passes) : err;
}

static struct shiny_err *together(struct counter *counters, size_t many)
{
	struct replay_task tasks[REPLAY_TASKS_MAX];

	pass_count = 0;
	pass_events = 0;
	for (size_t i = 0; i < many; i++)
		tasks[i] = (struct replay_task){ count, &counters[i] };
	return replay_together(tasks, many);
}

static void make_session(void)
{
	session = session_begin(path, SECOND);
	put_program(session);
	put_process(session, (struct store_process){ .id = 1 });
	must(store_put_thread(session,
			      &(struct store_thread){
				      .id = 1, .process = 1, .tid = 101, .name = "prog" }));
	put_site(session, 1, "site");
	for (uint64_t i = 0; i < BLOCKS; i++)
		put_event(session, (struct event){ .time = (i + 1) * SECOND / (BLOCKS + 1),
						   .address = 0x1000 + i * 64,
						   .size = 64,
						   .process = 1,
						   .thread = 1,
						   .stack = 1,
						   .kind = EVENT_ALLOC });
	must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = 1 }));
	must(store_finish(session, NULL));
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
	must(filter_resolve(session, NULL, &first_half));
}

static void test_shared(void)
{
	struct counter c[TASKS] = {
		{ .passes = 1, .filter = &all },
		{ .passes = 2, .filter = &all },
		{ .passes = 0, .filter = &all },
		{ .passes = 3, .filter = &all },
	};
	bool whole = true;

	must(together(c, TASKS));
	for (unsigned i = 0; i < TASKS; i++)
		for (unsigned k = 0; k < c[i].passes; k++)
			whole &= c[i].births[k] == BLOCKS && c[i].made[k] == k + 1;
	check_that("each sees all, its nth pass being everybody's nth", whole);
	number("as many passes as the one that needs most", pass_count, 3);
}

static void test_filters(void)
{
	struct counter c[3] = {
		{ .passes = 1, .filter = &all },
		{ .passes = 1, .filter = &first_half },
		{ .passes = 1, .filter = &all },
	};

	must(together(c, 3));
	check_that("one filter, one pass", c[0].made[0] == c[2].made[0]);
	check_that("another, another", c[1].made[0] != c[0].made[0]);
	check_that("all see all", c[0].births[0] == BLOCKS && c[1].births[0] == BLOCKS &&
					  c[2].births[0] == BLOCKS);
	number("two in all", pass_count, 2);
}

static void test_errors(void)
{
	struct counter c[3] = {
		{ .passes = 1, .filter = &all },
		{ .passes = 1, .filter = &all, .fails = true },
		{ .passes = 2, .filter = &all, .fails = true },
	};
	struct shiny_err *err = together(c, 3);

	check_that("the first one's error", err && strstr(err->message, "after 1 passes"));
	shiny_err_free(err);
	check_that("the others were not kept from theirs", c[0].births[0] == BLOCKS &&
								   c[2].births[1] == BLOCKS);
}

/* Its tasks have a pass each, and then it has one. */
struct owner {
	struct counter of[2], then;
};

static struct shiny_err *own(void *context)
{
	struct owner *o = context;
	const struct replay_task tasks[] = { { count, &o->of[0] }, { count, &o->of[1] } };
	struct shiny_err *err = replay_together(tasks, 2);

	return err ? err : count(&o->then);
}

static void test_owned(void)
{
	struct counter c = { .passes = 2, .filter = &all };
	struct owner o = { .of = { { .passes = 1, .filter = &all },
				   { .passes = 1, .filter = &all } },
			   .then = { .passes = 1, .filter = &all } };
	const struct replay_task tasks[] = { { own, &o }, { count, &c } };
	struct shiny_err *err;

	pass_count = 0;
	pass_events = 0;
	must(replay_together(tasks, 2));
	check_that("a task's tasks share the first pass, itself the second",
		   o.of[0].made[0] == 1 && o.of[1].made[0] == 1 && o.then.made[0] == 2);
	check_that("all see all", o.of[0].births[0] == BLOCKS && o.of[1].births[0] == BLOCKS &&
					  o.then.births[0] == BLOCKS && c.births[1] == BLOCKS);
	number("two in all", pass_count, 2);
	o.of[1].fails = true;
	err = replay_together(tasks, 2);
	check_that("its tasks' error", err && strstr(err->message, "after 1 passes"));
	shiny_err_free(err);
}

struct finder {
	struct counter own;
	const bool *until; /* NULL: nothing */
	bool done;
};

static struct shiny_err *find(void *context)
{
	struct finder *f = context;
	struct shiny_err *err;

	if (f->until)
		replay_await(f->until);
	err = count(&f->own);
	f->done = true;
	return err;
}

static void test_awaited(void)
{
	struct counter twice = { .passes = 2, .filter = &all };
	struct finder first = { .own = { .passes = 1, .filter = &all } };
	struct finder second = { .own = { .passes = 1, .filter = &all }, .until = &first.done };
	struct finder last = { .own = { .passes = 0, .filter = &all }, .until = &second.done };
	const struct replay_task tasks[] = {
		{ count, &twice }, { find, &first }, { find, &second }, { find, &last }
	};

	pass_count = 0;
	pass_events = 0;
	must(replay_together(tasks, 4));
	check_that("who waits for a fact shares the pass behind it",
		   first.own.made[0] == 1 && second.own.made[0] == 2 &&
			   second.own.births[0] == BLOCKS && twice.births[1] == BLOCKS);
	check_that("who waits for that comes to an end", last.done);
	number("two in all", pass_count, 2);
}

/* A pass over one session that waits at its first birth for the one over another. */
struct meeting {
	struct store *store;
	struct filter filter;
	sem_t here, *there;
	uint64_t births;
	bool met;
};

static void on_meeting(void *context, const struct replay_process *process, const struct life *life)
{
	struct meeting *m = context;
	struct timespec until;

	(void)process;
	(void)life;
	if (m->births++)
		return;
	sem_post(&m->here);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	m->met = sem_timedwait(m->there, &until) == 0;
}

static struct shiny_err *meet(void *context)
{
	struct meeting *m = context;
	struct replay_observer observer = { .context = m, .birth = on_meeting };

	return replay_run(m->store, &m->filter, &observer, 1, NULL);
}

static void test_sessions(void)
{
	struct meeting m[2] = { 0 };
	const struct replay_task tasks[] = { { meet, &m[0] }, { meet, &m[1] } };

	for (unsigned i = 0; i < 2; i++) {
		must(store_open(path, &m[i].store));
		must(filter_resolve(m[i].store, NULL, &m[i].filter));
		sem_init(&m[i].here, 0, 0);
		m[i].there = &m[!i].here;
	}
	must(replay_together(tasks, 2));
	check_that("two sessions, two passes at the same time", m[0].met && m[1].met);
	check_that("both see all", m[0].births == BLOCKS && m[1].births == BLOCKS);
	for (unsigned i = 0; i < 2; i++) {
		sem_destroy(&m[i].here);
		store_close(m[i].store);
	}
}

static void test_alone(void)
{
	struct counter c = { .passes = 2, .filter = &all };

	must(together(NULL, 0));
	must(together(&c, 1));
	check_that("one task", c.births[0] == BLOCKS && c.births[1] == BLOCKS);
	c = (struct counter){ .passes = 1, .filter = &all };
	must(count(&c));
	number("and none: replay_run() as ever", c.births[0], BLOCKS);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/shiny-test-together-%d.shiny", (int)getpid());
	make_session();
	test_shared();
	test_filters();
	test_errors();
	test_owned();
	test_awaited();
	test_sessions();
	test_alone();
	store_close(session);
	unlink(path);
	return failures != 0;
}
