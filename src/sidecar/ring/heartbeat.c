/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.c: see heartbeat.h. */
#define _GNU_SOURCE
#include "heartbeat.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../base/worker_thread.h"

#define MS UINT64_C(1000000)

struct heartbeat {
	pthread_t thread;
	pthread_mutex_t lock; /* guards `rings` and `stop` */
	pthread_cond_t news;
	const struct ticks *clock;
	void (*late)(void *context);
	void *context;
	VEC(struct ring_file *) rings;
	bool stop;
	unsigned beats_without_sign; /* beats since the loop's last sign */
};

static struct timespec when(uint64_t at)
{
	return (struct timespec){ .tv_sec = (time_t)(at / (1000 * MS)),
				  .tv_nsec = (long)(at % (1000 * MS)) };
}

static void beat(struct heartbeat *heartbeat)
{
	uint64_t now = heartbeat->rings.count ? ticks_now(heartbeat->clock) : 0;

	if (__atomic_add_fetch(&heartbeat->beats_without_sign, 1, __ATOMIC_RELAXED) >
	    HEARTBEAT_LONGEST_MS / HEARTBEAT_MS)
		return;
	for (size_t i = 0; i < heartbeat->rings.count; i++)
		__atomic_store_n(&heartbeat->rings.at[i]->header->sidecar_beat, now,
				 __ATOMIC_RELAXED); /* [ctl] */
}

static void *beat_always(void *context)
{
	struct heartbeat *heartbeat = context;

	pthread_mutex_lock(&heartbeat->lock);
	while (!heartbeat->stop) {
		uint64_t due = ticks_wall_ns() + HEARTBEAT_MS * MS;
		struct timespec until = when(due);

		pthread_cond_timedwait(&heartbeat->news, &heartbeat->lock, &until);
		beat(heartbeat);
		if (ticks_wall_ns() > due + HEARTBEAT_LATE_MS * MS)
			heartbeat->late(heartbeat->context);
	}
	pthread_mutex_unlock(&heartbeat->lock);
	return NULL;
}

static void destroy(struct heartbeat *heartbeat)
{
	pthread_cond_destroy(&heartbeat->news);
	pthread_mutex_destroy(&heartbeat->lock);
	free(heartbeat->rings.at);
	free(heartbeat);
}

struct heartbeat *heartbeat_start(const struct ticks *clock, void (*late)(void *context),
				  void *context)
{
	struct heartbeat *heartbeat = mem_zero(1, sizeof(*heartbeat));
	pthread_condattr_t attributes;

	heartbeat->clock = clock;
	heartbeat->late = late;
	heartbeat->context = context;
	heartbeat_sign(heartbeat);
	pthread_mutex_init(&heartbeat->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&heartbeat->news, &attributes);
	pthread_condattr_destroy(&attributes);
	if (thread_start(&heartbeat->thread, beat_always, heartbeat))
		return heartbeat;
	destroy(heartbeat);
	return NULL;
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	if (!heartbeat)
		return;
	pthread_mutex_lock(&heartbeat->lock);
	heartbeat->stop = true;
	pthread_cond_signal(&heartbeat->news);
	pthread_mutex_unlock(&heartbeat->lock);
	pthread_join(heartbeat->thread, NULL);
	destroy(heartbeat);
}

void heartbeat_add(struct heartbeat *heartbeat, struct ring_file *ring)
{
	if (!heartbeat)
		return;
	pthread_mutex_lock(&heartbeat->lock);
	*vec_push(&heartbeat->rings) = ring;
	pthread_mutex_unlock(&heartbeat->lock);
}

void heartbeat_remove(struct heartbeat *heartbeat, const struct ring_file *ring)
{
	if (!heartbeat)
		return;
	pthread_mutex_lock(&heartbeat->lock);
	for (size_t i = heartbeat->rings.count; i-- > 0;)
		if (heartbeat->rings.at[i] == ring)
			heartbeat->rings.at[i] = heartbeat->rings.at[--heartbeat->rings.count];
	pthread_mutex_unlock(&heartbeat->lock);
}

void heartbeat_sign(struct heartbeat *heartbeat)
{
	if (heartbeat)
		__atomic_store_n(&heartbeat->beats_without_sign, 0, __ATOMIC_RELAXED);
}
