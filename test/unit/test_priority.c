/* SPDX-License-Identifier: Apache-2.0 */
/* test_priority.c: the sidecar yields while its rings have room, and only with a group of its own.
 * What it has set is asked of the kernel. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sidecar/proc/priority.h"
#include "../../src/sidecar/ring/ring_chunks.h"
#include "check.h"

enum { NONE = 100, TRIES = 500 };

/* The nice value of this process's autogroup; NONE: the kernel has no autogroups. */
static int group_nice(void)
{
	int nice = NONE;
	FILE *file = fopen("/proc/self/autogroup", "re");

	if (file && fscanf(file, "/autogroup-%*u nice %d", &nice) != 1)
		nice = NONE;
	if (file)
		fclose(file);
	return nice;
}

/* The kernel takes ten changes a second of everybody together: asks until it has taken ours. */
static void follow(struct priority *priority, uint64_t left)
{
	static const struct timespec pause = { .tv_nsec = 10000000 };

	priority_follow(priority, left);
	for (int i = 0; priority->due && i < TRIES; i++) {
		nanosleep(&pause, NULL);
		priority_follow(priority, left);
	}
}

static void group_is(const char *name, int want)
{
	number(name, (uint64_t)group_nice(), (uint64_t)want);
}

static void *say_late(void *priority)
{
	priority_late(priority);
	return NULL;
}

/* In another thread, and until the kernel has taken it. */
static void late(struct priority *priority)
{
	static const struct timespec pause = { .tv_nsec = 110000000 };
	pthread_t thread;

	for (int i = 0; i < TRIES && (!i || group_nice() == PRIORITY_LOW); i++) {
		if (pthread_create(&thread, NULL, say_late, priority))
			exit(1);
		pthread_join(thread, NULL);
		if (group_nice() == PRIORITY_LOW)
			nanosleep(&pause, NULL);
	}
}

static int leader(void)
{
	int group = group_nice(), nice = getpriority(PRIO_PROCESS, 0);
	int low = group == NONE ? NONE : PRIORITY_LOW;
	struct priority priority;

	priority_init(&priority);
	number("trying leaves the thread as it was", (uint64_t)getpriority(PRIO_PROCESS, 0),
	       (uint64_t)nice);
	group_is("it begins with an ordinary priority", group);
	follow(&priority, PRIORITY_LOWER_MS - 1);
	group_is("too little time", group);
	follow(&priority, PRIORITY_LOWER_MS);
	group_is("time enough", low);
	number("the thread yields where it may come back",
	       (uint64_t)getpriority(PRIO_PROCESS, 0),
	       (uint64_t)(priority.thread ? PRIORITY_LOW : nice));
	follow(&priority, PRIORITY_RAISE_MS);
	group_is("less time", low);
	priority.until = UINT64_MAX;
	follow(&priority, UINT64_MAX);
	group_is("time enough, but starved", group);
	priority.until = 0;
	follow(&priority, UINT64_MAX);
	group_is("starved no more", low);
	late(&priority);
	group_is("another thread was late", group);
	number("its thread, too", (uint64_t)getpriority(PRIO_PROCESS, 0), (uint64_t)nice);
	follow(&priority, UINT64_MAX);
	group_is("it stays so for a while", group);
	priority.until = 0;
	follow(&priority, UINT64_MAX);
	group_is("late no more", low);
	follow(&priority, PRIORITY_RAISE_MS - 1);
	group_is("hardly any time left", group);
	number("the thread comes back", (uint64_t)getpriority(PRIO_PROCESS, 0), (uint64_t)nice);
	return failures;
}

static int member(void)
{
	int group = group_nice();
	struct priority priority;

	priority_init(&priority);
	follow(&priority, UINT64_MAX);
	group_is("somebody else's group is left alone", group);
	return failures;
}

/* Low, until the launcher says that it shall not be. */
static int left_behind(const int *to, const int *from)
{
	int nice = getpriority(PRIO_PROCESS, 0);
	struct priority priority;
	int group, low;
	char go;

	/* A process that began in no session is shown no autogroup: asked afterwards. */
	setsid();
	group = group_nice();
	low = group == NONE ? NONE : PRIORITY_LOW;
	priority_init(&priority);
	follow(&priority, UINT64_MAX);
	group_is("low", low);
	if (write(to[1], "", 1) != 1 || read(from[0], &go, 1) != 1)
		return 1;
	group_is("raised from outside", group);
	number("its thread, too", (uint64_t)getpriority(PRIO_PROCESS, 0), (uint64_t)nice);
	return failures;
}

static void raised(void)
{
	int to[2], from[2], status = -1;
	char ready;
	pid_t child;

	if (pipe(to) || pipe(from))
		exit(1);
	child = fork();
	if (child == 0) {
		failures = 0;
		exit(left_behind(to, from));
	}
	check_that("it is low", read(to[0], &ready, 1) == 1);
	priority_raise(child);
	check_that("it goes on", write(from[1], "", 1) == 1);
	waitpid(child, &status, 0);
	number("raised by its launcher", (uint64_t)status, 0);
}

static void in_child(int (*run)(void), bool leads)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		failures = 0;
		exit((leads && setsid() < 0) || run());
	}
	waitpid(child, &status, 0);
	number(leads ? "in a session of its own" : "in the session of others", (uint64_t)status, 0);
}

static void time_is(const char *name, const struct ring_file *ring, uint64_t want)
{
	number(name, ring_time_left(ring), want);
}

int main(void)
{
	struct ring_file ring = { .present = { 256, 48 }, .busy = { 128, 16 }, .speed = 1023 };
	uint64_t second = 1000000000;

	ring.first_look = second;
	ring.measured = second + second / 4;
	time_is("a new ring may be full at any time", &ring, 0);
	ring.measured = 2 * second;
	ring.first_look = 0;
	time_is("a process has started since the last look", &ring, 0);
	ring.first_look = second;
	time_is("2.5 MiB at a KiB a millisecond", &ring, 2560);
	ring.busy[0] = 256, ring.busy[1] = 48;
	time_is("a full ring", &ring, 0);
	number("a twentieth of a processor", priority_starves(50, 950), false);
	number("less than that", priority_starves(50, 951), true);
	in_child(leader, true);
	in_child(member, false);
	raised();
	return failures != 0;
}
