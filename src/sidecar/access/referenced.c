/* SPDX-License-Identifier: Apache-2.0 */
/*
 * referenced.c: see referenced.h.
 *
 * The file smaps is opened before the marks are cleared. The descriptor stays bound to that address
 * space, so a program that calls exec in between has no reading, and neither has another process
 * with the same pid.
 */
#define _GNU_SOURCE
#include "referenced.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"
#include "../vm/smaps.h"

enum { PAGE = 4096, PROBE_PAGES = 8, PROBE_TOUCHED = 3, PATIENCE_MS = 1000 };

struct ref_round {
	struct referenced_order order;
	bool taken; /* this entry is in use */
	int smaps;  /* descriptor of the file smaps */
	unsigned next; /* index of the next reading */
	uint64_t from, last_cost, unpaid, reclaim;
};

struct referenced {
	pthread_t thread;
	int wake; /* eventfd: something below has changed */
	struct smaps smaps;
	struct ref_round rounds[REFERENCED_ORDERS]; /* used by the thread only */

	pthread_mutex_t lock; /* guards the members below */
	bool stop;
	size_t under_way;
	VEC(struct referenced_order) orders;
	VEC(struct referenced_reading) readings;
};

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- marks ---- */

static int open_of(uint32_t pid, const char *name, int flags)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
}

/* Returns 0 or an errno. */
static int clear_marks(uint32_t pid)
{
	int fd = open_of(pid, "clear_refs", O_WRONLY), why = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "1", 1) != 1 || write(fd, "4", 1) != 1)
		why = errno;
	close(fd);
	return why;
}

static bool has_generations(void)
{
	char text[16] = "";
	int fd = open("/sys/kernel/mm/lru_gen/enabled", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return got > 0 && strtoul(text, NULL, 16) != 0;
}

static bool has_swap(void)
{
	char text[512];
	int fd = open("/proc/swaps", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return strchr(text, '\n') && strchr(text, '\n')[1];
}

/*
 * Returns a count that grows when the kernel scans anonymous memory for reclaim, which clears
 * marks. Without swap the kernel does not, unless it sorts pages into generations (MGLRU), for
 * which it uses the marks of all pages. Always 0 if /proc/vmstat cannot be read.
 */
static uint64_t reclaim_count(void)
{
	const char *prefix = has_generations() || has_swap() ? "pgscan_" : "pgscan_anon ";
	char line[128];
	uint64_t sum = 0;
	FILE *file = fopen("/proc/vmstat", "re");

	while (file && fgets(line, sizeof(line), file)) {
		const char *value = strchr(line, ' ');

		if (value && (!strncmp(line, prefix, strlen(prefix)) ||
			      (prefix[7] == '\0' && !strncmp(line, "pgrefill", 8))))
			sum += strtoull(value, NULL, 10);
	}
	if (file)
		fclose(file);
	return sum;
}

/* ---- rounds ---- */

static void put_reading(struct referenced *r, const struct referenced_reading *reading)
{
	pthread_mutex_lock(&r->lock);
	*vec_push(&r->readings) = *reading;
	pthread_mutex_unlock(&r->lock);
}

static void end_round(struct referenced *r, struct ref_round *round, int error)
{
	struct referenced_reading last = { .process = round->order.process, .error = error,
					   .last = true, .cost = round->unpaid };

	if (round->smaps >= 0)
		close(round->smaps);
	round->taken = false;
	put_reading(r, &last);
}

static void begin_round(struct referenced *r, const struct referenced_order *order)
{
	struct ref_round *round = r->rounds;
	uint64_t begun = clock_now(CLOCK_MONOTONIC);
	int why;

	while (round->taken)
		round++; /* one is free: referenced_order counts */
	*round = (struct ref_round){ .order = *order, .taken = true };
	round->reclaim = reclaim_count();
	round->smaps = open_of(order->pid, "smaps", O_RDONLY);
	why = round->smaps < 0 ? errno : clear_marks(order->pid);
	round->from = clock_now(CLOCK_MONOTONIC);
	round->last_cost = round->unpaid = round->from - begun;
	if (why)
		end_round(r, round, why);
}

static void take_areas(const struct smaps *smaps, struct referenced_reading *out)
{
	out->areas = mem_zero(smaps->areas.count + 1, sizeof(*out->areas));
	for (size_t i = 0; i < smaps->areas.count; i++) {
		const struct smaps_area *a = &smaps->areas.at[i];

		if (a->inode || a->shared || !(a->prot & PROT_WRITE) || !a->rss)
			continue;
		out->areas[out->count++] = (struct referenced_area){
			a->start, a->end, (uint32_t)(a->rss / PAGE),
			(uint32_t)(a->referenced / PAGE)
		};
		out->cost += a->referenced / PAGE * REFERENCED_TOUCH;
	}
}

static void read_round(struct referenced *r, struct ref_round *round)
{
	struct referenced_reading out = { .process = round->order.process, .from = round->from,
					  .until = clock_now(CLOCK_MONOTONIC) };
	uint64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);

	out.error = smaps_read_file(&r->smaps, round->smaps);
	if (!out.error && reclaim_count() != round->reclaim)
		out.error = EAGAIN;
	if (out.error) {
		end_round(r, round, out.error);
		return;
	}
	take_areas(&r->smaps, &out);
	round->last_cost = clock_now(CLOCK_THREAD_CPUTIME_ID) - begun;
	out.cost += round->last_cost + round->unpaid;
	round->unpaid = 0;
	put_reading(r, &out);
}

/* Returns when the round's next reading is due; skips readings that would cost too much by then. */
static uint64_t due_of(struct ref_round *round)
{
	const uint64_t *readings = round->order.readings;

	while (round->next + 1 < REFERENCED_READINGS && readings[round->next + 1] &&
	       round->last_cost * REFERENCED_SHARE > readings[round->next])
		round->next++;
	return round->from + readings[round->next];
}

static void serve_round(struct referenced *r, struct ref_round *round)
{
	if (clock_now(CLOCK_MONOTONIC) < due_of(round))
		return;
	read_round(r, round);
	if (!round->taken)
		return; /* the reading failed */
	round->next++;
	if (round->next == REFERENCED_READINGS || !round->order.readings[round->next])
		end_round(r, round, 0);
}

static bool take_round_orders(struct referenced *r)
{
	struct referenced_order orders[REFERENCED_ORDERS];
	size_t count = 0;
	bool stop;

	pthread_mutex_lock(&r->lock);
	while (r->orders.count)
		orders[count++] = r->orders.at[--r->orders.count];
	stop = r->stop;
	pthread_mutex_unlock(&r->lock);
	while (count)
		begin_round(r, &orders[--count]);
	return !stop;
}

/* Returns the ms until the next reading is due, at most PATIENCE_MS. */
static int wait_of(struct referenced *r)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC), due = now + PATIENCE_MS * UINT64_C(1000000);

	for (int i = 0; i < REFERENCED_ORDERS; i++)
		if (r->rounds[i].taken && due_of(&r->rounds[i]) < due)
			due = due_of(&r->rounds[i]);
	return due > now ? (int)((due - now + 999999) / 1000000) : 0;
}

static void *serve_rounds(void *context)
{
	struct referenced *r = context;
	struct pollfd fd = { .fd = r->wake, .events = POLLIN };
	uint64_t drop;

	while (take_round_orders(r)) {
		poll(&fd, 1, wait_of(r));
		if (fd.revents && read(r->wake, &drop, sizeof(drop)) < 0)
			continue; /* nothing to read: poll again */
		for (int i = 0; i < REFERENCED_ORDERS; i++)
			if (r->rounds[i].taken)
				serve_round(r, &r->rounds[i]);
	}
	/* a last reading of the rounds under way */
	for (int i = 0; i < REFERENCED_ORDERS; i++) {
		struct ref_round *round = &r->rounds[i];

		if (round->taken)
			read_round(r, round);
		if (round->taken)
			end_round(r, round, 0);
	}
	return NULL;
}

/* ---- the loop's side ---- */

static void wake_rounds(struct referenced *r)
{
	uint64_t one = 1;

	if (write(r->wake, &one, sizeof(one)) < 0)
		return; /* the count is full: the thread will wake up */
}

struct referenced *referenced_start(void)
{
	struct referenced *r = mem_zero(1, sizeof(*r));
	int why;

	pthread_mutex_init(&r->lock, NULL);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	why = r->wake < 0 ? errno : 0;
	if (!why && !thread_start(&r->thread, serve_rounds, r))
		why = EAGAIN;
	if (!why)
		return r;
	referenced_destroy(r);
	errno = why;
	return NULL;
}

void referenced_stop(struct referenced *r)
{
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	wake_rounds(r);
	pthread_join(r->thread, NULL);
}

void referenced_destroy(struct referenced *r)
{
	for (size_t i = 0; i < r->readings.count; i++)
		referenced_drop(&r->readings.at[i]);
	if (r->wake >= 0)
		close(r->wake);
	pthread_mutex_destroy(&r->lock);
	smaps_deinit(&r->smaps);
	free(r->orders.at);
	free(r->readings.at);
	free(r);
}

bool referenced_order(struct referenced *r, const struct referenced_order *order)
{
	bool room;

	pthread_mutex_lock(&r->lock);
	room = r->under_way < REFERENCED_ORDERS;
	if (room) {
		r->under_way++;
		*vec_push(&r->orders) = *order;
	}
	pthread_mutex_unlock(&r->lock);
	if (room)
		wake_rounds(r);
	return room;
}

bool referenced_take(struct referenced *r, struct referenced_reading *out)
{
	bool any;

	pthread_mutex_lock(&r->lock);
	any = r->readings.count > 0;
	if (any) {
		*out = r->readings.at[0];
		r->readings.count--;
		memmove(r->readings.at, r->readings.at + 1,
			r->readings.count * sizeof(*r->readings.at));
		r->under_way -= out->last;
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

void referenced_drop(struct referenced_reading *reading)
{
	free(reading->areas);
	reading->areas = NULL;
}

/* ---- the probe ---- */

/* Returns the referenced pages of the area that begins at `start`; -1: there is no such area. */
static long marked_pages(struct smaps *smaps, const void *start)
{
	if (smaps_read(smaps, (uint32_t)getpid()))
		return -1;
	for (size_t i = 0; i < smaps->areas.count; i++)
		if (smaps->areas.at[i].start == (uintptr_t)start)
			return (long)(smaps->areas.at[i].referenced / PAGE);
	return -1;
}

/* A guard page on either side prevents the kernel from merging the mapping with others. */
int referenced_probe(void)
{
	size_t bytes = (PROBE_PAGES + 2) * (size_t)PAGE;
	char *guard = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *pages = guard + PAGE;
	struct smaps smaps = { 0 };
	long before = 0, after = 0;
	int why = 0;

	if (guard == MAP_FAILED)
		return errno;
	if (mprotect(guard + PAGE, PROBE_PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE) != 0)
		why = errno;
	for (size_t i = 0; !why && i < PROBE_PAGES; i++)
		pages[i * PAGE] = 1;
	if (!why)
		why = clear_marks((uint32_t)getpid());
	if (!why) {
		before = marked_pages(&smaps, guard + PAGE);
		for (size_t i = 0; i < PROBE_TOUCHED; i++)
			(void)pages[i * PAGE];
		after = marked_pages(&smaps, guard + PAGE);
		if (before != 0 || after < PROBE_TOUCHED || after > PROBE_PAGES)
			why = ENOTSUP;
	}
	smaps_deinit(&smaps);
	munmap(guard, bytes);
	return why;
}
