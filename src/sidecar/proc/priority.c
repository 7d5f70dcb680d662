/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c: see priority.h. */
#define _GNU_SOURCE
#include "priority.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOWEST = 19 };
static const char autogroup_file[] = "/proc/self/autogroup";

static bool write_autogroup(int nice)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nice);
	int fd = open(autogroup_file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, (size_t)length) == length;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Its line is "/autogroup-NUMBER nice N"; false: this kernel has none. */
static bool read_autogroup(int *nice)
{
	FILE *file = fopen(autogroup_file, "re");
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

	priority->thread = set_nice(LOWEST) && set_nice(priority->thread_nice);
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
			set_nice(low ? LOWEST : priority->thread_nice);
		priority->low = low;
		priority->due = priority->autogroup;
	}
	if (priority->due)
		priority->due = !write_autogroup(low ? LOWEST : priority->autogroup_nice);
}
