/* SPDX-License-Identifier: Apache-2.0 */
/* tracee.c: see tracee.h. */
#define _GNU_SOURCE
#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "../proc/proc.h"
#include "trace_refusal.h"

static const struct timespec pause_between = { .tv_nsec = 20000 };

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct shiny_err *refused(uint32_t pid, int error)
{
	struct trace_facts facts;

	trace_facts_read(pid, error, &facts);
	return trace_refusal(&facts);
}

static bool is_held(const struct tracee *t, pid_t tid)
{
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.at[i].tid == tid)
			return true;
	return false;
}

static bool thread_is_zombie(uint32_t pid, pid_t tid)
{
	char name[64], text[512];
	const char *at;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	return proc_read(pid, name, text, sizeof(text)) <= 0 ||
	       ((at = strrchr(text, ')')) && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)));
}

/* Seizes threads that are not held yet. *any: there were some. */
static struct shiny_err *seize_new(struct tracee *t, bool *any)
{
	char path[64];
	struct dirent *entry;
	int error = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	tasks = opendir(path);
	if (!tasks)
		return refused((uint32_t)t->pid, ESRCH);
	while (!error && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || is_held(t, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0) {
			*vec_push(&t->threads) = (struct tracee_thread){ .tid = tid };
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
			*any = true;
		} else if (errno != ESRCH && !thread_is_zombie((uint32_t)t->pid, tid)) {
			error = errno;
		}
	}
	closedir(tasks);
	return error ? refused((uint32_t)t->pid, error) : NULL;
}

static void take_status(struct tracee_thread *thread, int status)
{
	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		thread->ended = true;
	} else if (WIFSTOPPED(status)) {
		/* else the requested stop, or one of job control */
		if (status >> 16 == 0)
			thread->signal = WSTOPSIG(status);
		thread->stopped =
			ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers) == 0;
	}
}

static struct shiny_err *wait_for_stops(struct tracee *t, uint64_t deadline)
{
	for (size_t i = 0; i < t->threads.count; i++) {
		struct tracee_thread *thread = &t->threads.at[i];

		while (!thread->stopped && !thread->ended) {
			int status;
			pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

			if (got == thread->tid)
				take_status(thread, status);
			else if (got < 0 && errno == ECHILD)
				thread->ended = true;
			else if (monotonic_ns() > deadline)
				return shiny_err(SHINY_ERR_OTHER,
						 "process %d: thread %d does not come to a stop: "
						 "the kernel holds it",
						 (int)t->pid, (int)thread->tid);
			else
				nanosleep(&pause_between, NULL);
		}
	}
	return NULL;
}

/* Detaches from a thread. One that was killed meanwhile must be reaped here before its parent sees
 * it end. */
static void let_go(struct tracee_thread *thread)
{
	int status;

	if (thread->ended || ptrace(PTRACE_DETACH, thread->tid, NULL,
				    (void *)(intptr_t)thread->signal) == 0)
		return;
	/* not stopped, or dying: its next stop or end follows soon after the INTERRUPT */
	while (waitpid(thread->tid, &status, __WALL) == thread->tid && WIFSTOPPED(status))
		if (ptrace(PTRACE_DETACH, thread->tid, NULL,
			   (void *)(intptr_t)(status >> 16 ? 0 : WSTOPSIG(status))) == 0)
			return;
}

void tracee_keep(struct tracee *t, pid_t tid)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->threads.count; i++) {
		if (t->threads.at[i].tid == tid)
			kept = i;
		else
			let_go(&t->threads.at[i]);
	}
	t->threads.at[0] = t->threads.at[kept];
	t->threads.count = 1;
}

void tracee_release(struct tracee *t)
{
	/* last the leader, whose end is reported only when all other threads have ended */
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.at[i].tid != t->pid)
			let_go(&t->threads.at[i]);
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.at[i].tid == t->pid)
			let_go(&t->threads.at[i]);
	free(t->threads.at);
	*t = (struct tracee){ 0 };
}

struct shiny_err *tracee_stop(uint32_t pid, struct tracee *out)
{
	struct tracee t = { .pid = (pid_t)pid };
	uint64_t deadline = monotonic_ns() + TRACEE_PATIENCE;
	struct shiny_err *err = NULL;
	size_t alive = 0;
	bool any;

	if (proc_tracer(pid))
		return refused(pid, EPERM);
	do { /* a thread that is not stopped yet may start another */
		any = false;
		err = seize_new(&t, &any);
		if (!err)
			err = wait_for_stops(&t, deadline);
	} while (!err && any);
	for (size_t i = 0; i < t.threads.count; i++)
		alive += t.threads.at[i].stopped;
	if (!err && !alive)
		err = refused(pid, ESRCH);
	if (err)
		tracee_release(&t);
	else
		*out = t;
	return err;
}
