/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_errands.c: who hands over an errand that takes for ever goes on, and gets what it brought
 * when it has ended.
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "../../src/sidecar/proc/errands.h"
#include "check.h"

enum { ERRANDS = 5 };

struct work {
	struct errand errand;
	sem_t *gate; /* NULL: it does not wait */
	bool ran;
	pthread_t by;
};

static struct work *ended[ERRANDS];
static unsigned ended_count;

static void work(struct errand *errand)
{
	struct work *work = (struct work *)errand;

	if (work->gate)
		sem_wait(work->gate);
	work->by = pthread_self();
	work->ran = true;
}

static void end(struct session *session, struct errand *errand)
{
	if (session)
		ended[ended_count++] = (struct work *)errand;
}

static struct work make(sem_t *gate)
{
	return (struct work){ .errand = { .run = work, .end = end }, .gate = gate };
}

/* No session, but not NULL either: it is only passed on. */
static struct session *const somebody = (struct session *)&failures;

static void take_all(struct errands *errands, unsigned count)
{
	while (ended_count < count)
		errands_take(errands, somebody);
	ended_count = 0;
}

/* One that is done while we wait: again, on a machine that has no time for the thread. */
static struct work do_quick(struct errands *errands)
{
	struct work quick;

	for (;; take_all(errands, 1)) {
		quick = make(NULL);
		if (errands_do(errands, &quick.errand))
			return quick;
	}
}

int main(void)
{
	struct work works[ERRANDS], quick, last;
	struct errands *errands = errands_start();
	sem_t gate;

	alarm(60); /* whoever waits for the gate waits for ever */
	sem_init(&gate, 0, 0);
	quick = do_quick(errands);
	check_that("done", quick.ran);
	check_that("by a thread", !pthread_equal(quick.by, pthread_self()));

	for (unsigned i = 0; i < ERRANDS; i++) {
		works[i] = make(&gate);
		check_that("not waited for", !errands_do(errands, &works[i].errand));
	}
	errands_take(errands, somebody);
	number("nothing ended", ended_count, 0);
	for (unsigned i = 0; i < ERRANDS; i++)
		sem_post(&gate);
	take_all(errands, ERRANDS);
	for (unsigned i = 0; i < ERRANDS; i++)
		check_that("in order", ended[i] == &works[i] && works[i].ran);
	check_that("and so on", do_quick(errands).ran);

	works[0] = make(&gate);
	last = make(NULL);
	check_that("late", !errands_do(errands, &works[0].errand));
	check_that("late behind it", !errands_do(errands, &last.errand));
	sem_post(&gate);
	while (ended_count < 2)
		errands_take_last(errands, somebody);
	check_that("at the end", works[0].ran && last.ran);

	works[0] = make(&gate);
	check_that("never", !errands_do(errands, &works[0].errand));
	check_that("left behind", !errands_stop(errands)); /* and not waited for */
	check_that("nobody to stop", errands_stop(NULL));
	quick = make(NULL);
	check_that("without a thread", errands_do(NULL, &quick.errand));
	check_that("by who has it", pthread_equal(quick.by, pthread_self()));
	return failures != 0;
}
