/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c: see priority.h. */
#define _GNU_SOURCE
#include "priority.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { RAISE_TRIES = 3 };
/* The kernel takes a change of autogroups each tenth of a second. */
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

/* Its line is "/autogroup-NUMBER nice N"; false: this kernel has none. */
static bool read_autogroup(int *nice)
{
	FILE *file = fopen("/proc/self/autogroup", "re");
	bool found = file && fscanf(file, "/autogroup-%*u nice %d", nice) == 1;

	if (file)
		fclose(file);
	return found;
}

/* Of the thread that calls. */
static bool set_nice(int nice)
{
	return setpriority(PRIO_PROCESS, 0, nice) == 0;
}

/* A thread's nice value is its own, so one that ends at once can try what would bind the others. */
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

	*priority = (struct priority){ .thread_nice = getpriority(PRIO_PROCESS, 0) };
	priority->autogroup = getsid(0) == getpid() && read_autogroup(&priority->autogroup_nice);
	if (pthread_create(&thread, NULL, try_both_ways, priority) == 0)
		pthread_join(thread, NULL);
}

void priority_follow(struct priority *priority, uint64_t left)
{
	bool low = left >= (priority->low ? PRIORITY_RAISE_MS : PRIORITY_LOWER_MS);

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
