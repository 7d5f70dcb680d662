/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c: see priority.h. */
#define _GNU_SOURCE
#include "priority.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { RAISE_TRIES = 3, ASK_NS = 100 * 1000 * 1000, WAITED_NS = 50 * 1000 * 1000 };
static const uint64_t ordinary_ns = UINT64_C(10000000000);
/* The kernel accepts a change of an autogroup every tenth of a second. */
static const struct timespec try_again = { .tv_nsec = 110 * 1000 * 1000 };

static bool write_autogroup(pid_t pid, int nice)
{
	char text[16], path[32];
	int length = snprintf(text, sizeof(text), "%d", nice), fd;
	bool done;

	snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, (size_t)length) == length;

	if (fd >= 0) {
		int why = errno;

		close(fd);
		errno = why;
	}
	return done;
}

/* Reads "/autogroup-NUMBER nice N"; false: this kernel has no autogroups. */
static bool read_autogroup(int *nice)
{
	FILE *file = fopen("/proc/self/autogroup", "re");
	bool found = file && fscanf(file, "/autogroup-%*u nice %d", nice) == 1;

	if (file)
		fclose(file);
	return found;
}

/* Sets the nice value of the calling thread. */
static bool set_nice(int nice)
{
	return setpriority(PRIO_PROCESS, 0, nice) == 0;
}

/* Tries whether a lowered nice value can be raised again, in a thread that ends at once: each
 * thread has its own value. */
static void *try_both_ways(void *argument)
{
	struct priority *priority = argument;

	priority->thread = priority->thread_nice < PRIORITY_LOW && set_nice(PRIORITY_LOW) &&
			   set_nice(priority->thread_nice);
	return NULL;
}

void priority_init(struct priority *priority)
{
	pthread_t thread;

	*priority = (struct priority){ .thread_nice = getpriority(PRIO_PROCESS, 0),
				       .tid = gettid() };
	priority->autogroup = getsid(0) == getpid() && read_autogroup(&priority->autogroup_nice);
	if (pthread_create(&thread, NULL, try_both_ways, priority) == 0)
		pthread_join(thread, NULL);
}

bool priority_starves(uint64_t ran, uint64_t waited)
{
	return waited > ran * (PRIORITY_STARVED - 1);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void stay_ordinary(struct priority *priority, uint64_t now)
{
	__atomic_store_n(&priority->until, now + ordinary_ns, __ATOMIC_RELAXED);
}

void priority_late(struct priority *priority)
{
	stay_ordinary(priority, wall_ns());
	if (priority->thread)
		setpriority(PRIO_PROCESS, (id_t)priority->tid, priority->thread_nice);
	/* if the kernel refuses, the next look at the loop asks again, or the next late beat */
	if (priority->autogroup)
		write_autogroup(getpid(), priority->autogroup_nice);
}

/* Checks the processor share of this thread, by the kernel's statistics; sets priority->until if it
 * starves while low. */
static void look_at_share(struct priority *priority, uint64_t now)
{
	uint64_t ran = 0, waited = 0;
	FILE *file;
	bool told;

	if (now - priority->asked < ASK_NS)
		return;
	file = fopen("/proc/thread-self/schedstat", "re");
	told = file && fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2;
	if (file)
		fclose(file);
	/* the first check has nothing to compare with */
	if (told && priority->asked && priority->low && waited - priority->waited > WAITED_NS &&
	    priority_starves(ran - priority->ran, waited - priority->waited))
		stay_ordinary(priority, now);
	priority->asked = now;
	priority->ran = ran;
	priority->waited = waited;
}

bool priority_may_lower(const struct priority *priority, uint64_t left)
{
	return left >= (priority->low ? PRIORITY_RAISE_MS : PRIORITY_LOWER_MS) &&
	       wall_ns() >= __atomic_load_n(&priority->until, __ATOMIC_RELAXED);
}

void priority_follow(struct priority *priority, uint64_t left)
{
	bool low;

	look_at_share(priority, wall_ns());
	low = priority_may_lower(priority, left);
	if (low != priority->low) {
		if (priority->thread)
			set_nice(low ? PRIORITY_LOW : priority->thread_nice);
		priority->low = low;
		priority->due = priority->autogroup;
	}
	if (priority->due)
		priority->due = !write_autogroup(getpid(),
						 low ? PRIORITY_LOW : priority->autogroup_nice);
}

void priority_raise(pid_t sidecar)
{
	setpriority(PRIO_PROCESS, (id_t)sidecar, getpriority(PRIO_PROCESS, 0));
	for (int i = 0; !write_autogroup(sidecar, 0) && errno == EAGAIN && i < RAISE_TRIES; i++)
		nanosleep(&try_again, NULL);
}
