/* SPDX-License-Identifier: Apache-2.0 */
/* test_tracee.c: a process that is made to stand still: it does, with all its threads, goes on
 * afterwards, also when the tracer is killed, and ends for its parent as it would have. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sidecar/snapshot/tracee.h"
#include "check.h"

enum { THREADS = 4 };
static volatile uint64_t *counters; /* shared: of the target's threads; [THREADS]: signals taken */

static void nap(void)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	nanosleep(&pause, NULL);
}

static void *count(void *counter)
{
	for (;;) {
		++*(volatile uint64_t *)counter;
		nap();
	}
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	counters[THREADS]++;
}

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGUSR1, on_signal);
		for (int i = 1; i < THREADS; i++) {
			pthread_t thread;

			pthread_create(&thread, NULL, count, (void *)&counters[i]);
		}
		count((void *)&counters[0]);
	}
	return pid;
}

/* Each thread counts on. */
static void wait_for_progress(void)
{
	for (int i = 0; i < THREADS; i++)
		for (uint64_t was = counters[i]; counters[i] == was;)
			nap();
}

static uint64_t sum(void)
{
	uint64_t all = 0;

	for (int i = 0; i < THREADS; i++)
		all += counters[i];
	return all;
}

static void holds(pid_t pid)
{
	struct tracee tracee = { 0 };
	struct shiny_err *err = tracee_stop((uint32_t)pid, &tracee);
	uint64_t was;

	counters[THREADS] = 0;
	checkf("stop", !err, "%s", err ? err->message : "");
	checkf("stop/all threads", tracee.threads.count == THREADS, "%zu", tracee.threads.count);
	was = sum();
	kill(pid, SIGUSR1);
	for (int i = 0; i < 20; i++)
		nap();
	checkf("stop/stands still", sum() == was, "it has counted on");
	checkf("stop/a signal waits", !counters[THREADS], "its handler ran");
	for (size_t i = 0; i < tracee.threads.count; i++)
		checkf("stop/registers", tracee.threads.at[i].registers.rsp, "of thread %zu", i);
	tracee_release(&tracee);
	wait_for_progress();
	while (!counters[THREADS])
		nap();
	checkf("release/goes on", !tracee.threads.count, "something is held");
}

/* As when the sidecar is killed while it holds the process. */
static void survives(pid_t pid)
{
	int status, pipe_of[2] = { -1, -1 };
	uint64_t was;
	char byte = 0;
	pid_t tracer;

	checkf("killed/pipe", pipe(pipe_of) == 0, "none");
	tracer = fork();
	if (!tracer) {
		struct tracee tracee = { 0 };
		struct shiny_err *err = tracee_stop((uint32_t)pid, &tracee);

		byte = err ? 'e' : 'h';
		if (write(pipe_of[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	checkf("killed/held", read(pipe_of[0], &byte, 1) == 1 && byte == 'h', "it was not");
	kill(tracer, SIGKILL);
	waitpid(tracer, &status, 0);
	was = sum();
	wait_for_progress();
	checkf("killed/goes on", sum() > was, "it has not counted on");
	close(pipe_of[0]);
	close(pipe_of[1]);
}

/* It is killed while it is held: its parent, here the tracer too, sees that. */
static void ends(pid_t pid)
{
	struct tracee tracee = { 0 };
	struct shiny_err *err = tracee_stop((uint32_t)pid, &tracee);

	checkf("end/stop", !err, "%s", err ? err->message : "");
	kill(pid, SIGKILL);
	tracee_release(&tracee);
	err = tracee_stop((uint32_t)pid, &tracee);
	checkf("end/refused", err && strstr(err->message, "has ended"), "%s",
	       err ? err->message : "it was stopped");
	shiny_err_free(err);
}

int main(void)
{
	pid_t pid;

	counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start_target();
	wait_for_progress();
	holds(pid);
	survives(pid);
	holds(pid);
	ends(pid);
	return failures != 0;
}
