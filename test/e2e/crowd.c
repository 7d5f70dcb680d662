/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd.c: more threads and processes than a tool would like, each with a few allocations; every
 * process says how many on standard output: `process PID PARENT ALLOCS`, and how it ends: `ends PID
 * STATUS`, where its library can know that.
 *
 *   crowd threads N EVENTS   N threads at one time, each with so many allocations and frees
 *   crowd row N              N children one after the other, by fork and raw clone in turn, that
 *                            end by _exit, exit and exit_group in turn
 *   crowd idle N             N children one after the other that allocate nothing
 *   crowd parents P N        P children, each of which forks N more, one after the other; all P at
 *                            a time
 *   crowd daemons N          N daemons that fork twice; the process in the middle allocates
 *                            nothing, by fork or by raw clone in turn
 *   crowd tree DEPTH         each process has two children, that deep, and ends before its children
 *                            do
 *   crowd many N             N children that are alive at one time
 * libs: -pthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long allocs;

static __attribute__((noinline, noclone)) void *crowd_alloc(size_t bytes)
{
	void *block = malloc(bytes);

	*(volatile char *)block = 1;
	__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
	return block;
}

static void churn(unsigned events)
{
	void *kept[8] = { 0 };

	for (unsigned i = 0; i < events; i++) {
		free(kept[i % 8]);
		kept[i % 8] = crowd_alloc(16 + i % 200);
	}
	for (unsigned i = 0; i < 8; i++)
		free(kept[i]);
}

static void line(const char *text, int length)
{
	if (write(1, text, (size_t)length) != length)
		abort();
}

static void report(void)
{
	char text[100];

	line(text, snprintf(text, sizeof(text), "process %d %d %lu\n", (int)getpid(),
			    (int)getppid(), allocs));
}

static void ends(int status)
{
	char text[100];

	line(text, snprintf(text, sizeof(text), "ends %d %d\n", (int)getpid(), status));
}

static pid_t child_of(int raw)
{
	pid_t pid = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

	if (pid < 0)
		abort();
	if (pid == 0)
		allocs = 0;
	return pid;
}

/* Ten allocations, and an end. */
static __attribute__((noreturn)) void child(unsigned way)
{
	churn(10);
	report();
	switch (way % 3) {
	case 0:
		ends((int)(way % 100));
		_exit((int)(way % 100));
	case 1:
		ends((int)(way % 100));
		exit((int)(way % 100));
	default:
		syscall(SYS_exit_group, (int)(way % 100));
	}
	abort();
}

static void row(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = child_of(i % 2);

		if (pid == 0)
			child(i);
		waitpid(pid, NULL, 0);
	}
}

static void idle(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = child_of(0);

		if (pid == 0) {
			ends(5);
			_exit(5);
		}
		waitpid(pid, NULL, 0);
	}
}

static void parents(unsigned count, unsigned each)
{
	for (unsigned i = 0; i < count; i++)
		if (child_of(0) == 0) {
			row(each);
			allocs = 0;
			churn(10);
			report();
			ends(7);
			_exit(7);
		}
	while (wait(NULL) > 0)
		;
}

/* Waits until all that were handed the writing end have ended. */
static void until_all_ended(const int pipe_ends[2])
{
	char byte;

	close(pipe_ends[1]);
	if (read(pipe_ends[0], &byte, 1) != 0)
		abort();
}

static void daemons(unsigned count)
{
	int ended[2];

	if (pipe(ended))
		abort();
	for (unsigned i = 0; i < count; i++) {
		pid_t middle = child_of(i % 2);

		if (middle == 0) {
			setsid();
			if (child_of(i / 2 % 2) == 0) {
				churn(20);
				churn(980);
				report();
				_exit(0);
			}
			syscall(SYS_exit_group, 0);
		}
		waitpid(middle, NULL, 0);
	}
	until_all_ended(ended);
}

static void tree(unsigned depth)
{
	for (unsigned i = 0; depth && i < 2; i++)
		if (child_of((int)i) == 0) {
			churn(10);
			tree(depth - 1);
			report();
			_exit(0);
		}
}

static void many(unsigned count)
{
	int ended[2], go[2];
	char byte;

	if (pipe(ended) || pipe(go))
		abort();
	for (unsigned i = 0; i < count; i++)
		if (child_of(0) == 0) {
			churn(10);
			close(go[1]);
			if (read(go[0], &byte, 1) != 0)
				abort();
			churn(10);
			report();
			_exit(0);
		}
	close(go[0]);
	close(go[1]);
	until_all_ended(ended);
	while (wait(NULL) > 0)
		;
}

static pthread_barrier_t together;
static unsigned thread_events;

static void *thread(void *unused)
{
	pthread_barrier_wait(&together);
	churn(thread_events);
	pthread_barrier_wait(&together); /* all have written before the first one ends */
	return unused;
}

static void threads(unsigned count, unsigned events)
{
	pthread_t *all = calloc(count, sizeof(*all));
	pthread_attr_t attributes;

	thread_events = events;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	pthread_barrier_init(&together, NULL, count);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&all[i], &attributes, thread, NULL))
			abort();
	for (unsigned i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	free(all);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0,
		 m = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

	churn(10);
	if (!strcmp(what, "threads"))
		threads(n, m);
	else if (!strcmp(what, "row"))
		row(n);
	else if (!strcmp(what, "idle"))
		idle(n);
	else if (!strcmp(what, "parents"))
		parents(n, m);
	else if (!strcmp(what, "daemons"))
		daemons(n);
	else if (!strcmp(what, "tree")) {
		int ended[2];

		if (pipe(ended))
			abort();
		tree(n);
		until_all_ended(ended);
	} else if (!strcmp(what, "many"))
		many(n);
	else
		return 2;
	report();
	ends(0);
	return 0;
}
