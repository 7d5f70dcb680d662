/* SPDX-License-Identifier: Apache-2.0 */
#include "warm_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "../name_lookup.h"

enum { JOBS_MOST = 64, LOOK_AGAIN_MS = 100 };

struct crew {
	const struct sym_options *options;
	struct warm_file *files;
	size_t count;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t news;
	size_t next, working;
	uint64_t calls, done;
};

typedef VEC(uint64_t) addresses_t;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void take_call(void *context, uint64_t ret)
{
	*vec_push((addresses_t *)context) = ret;
}

static void count(struct crew *crew, uint64_t calls, uint64_t done)
{
	pthread_mutex_lock(&crew->lock);
	crew->calls += calls;
	crew->done += done;
	pthread_mutex_unlock(&crew->lock);
}

static struct shiny_err *warm_file(struct crew *crew, struct warm_file *file)
{
	struct sym_module *module;
	addresses_t calls = { 0 };
	struct sym *sym = NULL;
	struct shiny_err *err = sym_create(crew->options, &sym);

	if (!err)
		err = lookup_module(sym, file->path, file->build_id, &module);
	if (!err) {
		sym_allocation_calls(module, take_call, &calls);
		if (calls.count) /* sorted by address: neighbours are in one unit */
			qsort(calls.at, calls.count, sizeof(*calls.at), order_numbers);
		file->calls = calls.count;
		count(crew, calls.count, 0);
	}
	for (size_t i = 0; i < calls.count; i++) {
		struct sym_type type;

		switch (sym_site_outlook(sym, &(struct sym_call){module, calls.at[i]}, &type)) {
		case SYM_OUTLOOK_TYPE:
			file->by_confidence[type.confidence]++;
			break;
		case SYM_OUTLOOK_WRAPPER:
			file->wrappers++;
			break;
		default:
			file->none++;
		}
		count(crew, 0, 1);
	}
	free(calls.at);
	sym_destroy(sym); /* writes the cache */
	return err;
}

static void *work(void *context)
{
	struct crew *crew = context;

	pthread_mutex_lock(&crew->lock);
	while (crew->next < crew->count) {
		struct warm_file *file = &crew->files[crew->next++];
		uint64_t start;

		pthread_mutex_unlock(&crew->lock);
		start = now_ns();
		file->err = warm_file(crew, file);
		file->ns = now_ns() - start;
		pthread_mutex_lock(&crew->lock);
	}
	crew->working--;
	pthread_cond_signal(&crew->news);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

void warm_files(const struct sym_options *options, struct warm_file *files, size_t file_count,
		size_t jobs)
{
	struct crew crew = {.options = options, .files = files, .count = file_count};
	pthread_t threads[JOBS_MOST];
	struct progress progress;
	pthread_condattr_t monotonic;
	size_t started = 0;

	if (!jobs)
		jobs = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	jobs = jobs > JOBS_MOST ? JOBS_MOST : jobs;
	jobs = jobs > file_count ? file_count : jobs;
	pthread_mutex_init(&crew.lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&crew.news, &monotonic);
	progress_begin(&progress, "working out types", true);
	pthread_mutex_lock(&crew.lock);
	for (; started < jobs && pthread_create(&threads[started], NULL, work, &crew) == 0;
	     started++)
		crew.working++;
	if (!started && file_count) { /* without any other thread, this one works */
		crew.working++;
		pthread_mutex_unlock(&crew.lock);
		work(&crew);
		pthread_mutex_lock(&crew.lock);
	}
	while (crew.working) {
		struct timespec until;

		progress_set(&progress, crew.done, crew.calls);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_AGAIN_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&crew.news, &crew.lock, &until);
	}
	pthread_mutex_unlock(&crew.lock);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	progress_end(&progress);
	pthread_cond_destroy(&crew.news);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_destroy(&crew.lock);
}
