/* SPDX-License-Identifier: Apache-2.0 */
/* test_breakpoints.c: a word of another process is watched: what touches it first is told, also by
 * a thread that starts later, beside threads that end; a debugger gets all registers at once, and
 * nothing is left when the watching ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sidecar/access/breakpoint_event.h"
#include "../../src/sidecar/access/breakpoints.h"
#include "check.h"

enum { REGISTERS = 4, DR7 = 7, PATIENCE = 400000 /* naps */ };
enum debugger { WAITS, STARTS, REFUSED, ATTACHED, TRIES, DONE };
enum command { WAIT, READ, WRITE_IN_THREAD, END_THREADS };
#define FOREVER (UINT64_C(3600) * 1000000000)

static struct shared {
	volatile enum command command; /* the target does it, and says WAIT */
	volatile long *volatile word; /* the target's own */
	volatile long read;
	volatile enum debugger debugger; /* another process: the sidecar's own stops do not count */
	volatile long dr7;               /* what it finds */
	volatile unsigned taken;
} *shared;

static void nap(void)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	nanosleep(&pause, NULL);
}

static void *write_word(void *word)
{
	*(volatile long *)word = 1;
	return NULL;
}

static void *end_at_once(void *unused)
{
	nap();
	return unused;
}

static void start_and_join(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) == 0)
		pthread_join(thread, NULL);
}

static void run_target(void)
{
	volatile long *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	shared->word = word;
	for (;; nap()) {
		if (shared->command == READ)
			shared->read = *word;
		else if (shared->command == WRITE_IN_THREAD)
			start_and_join(write_word, (void *)word);
		else if (shared->command == END_THREADS)
			for (int i = 0; i < 20; i++)
				start_and_join(end_at_once, NULL);
		shared->command = WAIT;
	}
}

static pid_t start_target(void)
{
	pid_t pid;

	shared->word = NULL;
	pid = fork();
	if (!pid)
		run_target();
	while (!shared->word)
		nap();
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void tell(enum command command)
{
	shared->command = command;
	while (shared->command != WAIT)
		nap();
}

static struct breakpoint_order order_of(pid_t pid, uint32_t number)
{
	return (struct breakpoint_order){ .number = number, .pid = (uint32_t)pid,
					  .address = (uint64_t)(uintptr_t)shared->word,
					  .bytes = 8, .window = FOREVER };
}

/* Of the target's first thread, beside what is watched. */
static unsigned free_registers(pid_t pid)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_BREAKPOINT,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.bp_type = HW_BREAKPOINT_RW,
					.bp_len = 8 };
	int fds[REGISTERS];
	unsigned count = 0, opened;

	for (; count < REGISTERS; count++) {
		attr.bp_addr = (uint64_t)(uintptr_t)shared->word + 8 * (count + 1);
		fds[count] = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
		if (fds[count] < 0)
			break;
	}
	opened = count;
	while (count)
		close(fds[--count]);
	return opened;
}

/* Descriptors of this process. */
static unsigned open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

/*
 * Orders a watch of the target's one thread, and waits until it has its two events a processor. It
 * is not asked which registers are free meanwhile: to try them takes those that are wanted here.
 */
static void arm(struct breakpoints *b, const struct breakpoint_order *order)
{
	unsigned armed = open_descriptors() + 2 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	breakpoints_order(b, order);
	for (int i = 0; i < PATIENCE && open_descriptors() < armed; i++)
		nap();
}

/* In the target, which stands still: dr7, and how many breakpoints there is room for. */
static long read_dr7(pid_t pid)
{
	size_t at = offsetof(struct user, u_debugreg) + DR7 * sizeof(long);

	return ptrace(PTRACE_PEEKUSER, pid, (void *)at, NULL);
}

static bool set_register(pid_t pid, size_t number, unsigned long value)
{
	size_t at = offsetof(struct user, u_debugreg) + number * sizeof(long);

	return ptrace(PTRACE_POKEUSER, pid, (void *)at, (void *)value) == 0;
}

static unsigned take_registers(pid_t pid)
{
	unsigned taken = 0;
	unsigned long enabled = 0;

	for (size_t i = 0; i < REGISTERS; i++) {
		enabled |= 1UL << (2 * i) | 1UL << (16 + 4 * i); /* written, one byte */
		taken += set_register(pid, i, (uintptr_t)shared->word) &&
			 set_register(pid, DR7, enabled);
	}
	set_register(pid, DR7, 0);
	return taken;
}

/* `work`: what the target does meanwhile, again and again. */
static bool take(struct breakpoints *b, enum command work, struct breakpoint_result *out)
{
	for (int i = 0; i < PATIENCE; i++) {
		if (breakpoints_take(b, out))
			return true;
		tell(work);
		nap();
	}
	return false;
}

static void tells_uses(struct breakpoints *b, pid_t pid)
{
	static const struct {
		const char *name;
		enum command work;
		bool written;
	} uses[] = { { "read", READ, false }, { "write in a thread", WRITE_IN_THREAD, true } };

	for (uint32_t i = 0; i < 2; i++) {
		struct breakpoint_order order = order_of(pid, i + 1);
		struct breakpoint_result r = { 0 };
		bool any = breakpoints_order(b, &order) && take(b, uses[i].work, &r);

		checkf(uses[i].name,
		       any && r.number == i + 1 && !r.error && r.used &&
			       r.written == uses[i].written && r.armed < r.time,
		       "error %d, used %d, written %d", r.error, r.used, r.written);
		number("registers after it", free_registers(pid), REGISTERS);
	}
}

static void outlasts_threads(struct breakpoints *b, pid_t pid)
{
	struct breakpoint_order order = order_of(pid, 3);
	struct breakpoint_result r = { 0 };

	arm(b, &order);
	tell(END_THREADS);
	check_that("threads end while armed", !breakpoints_take(b, &r));
	check_that("a use after that", take(b, READ, &r) && !r.error && r.used);
}

static void run_debugger(pid_t pid)
{
	int status;

	while (shared->debugger == WAITS)
		nap();
	shared->debugger = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? ATTACHED : REFUSED;
	if (shared->debugger == REFUSED)
		_exit(0);
	while (shared->debugger == ATTACHED)
		nap();
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	shared->dr7 = read_dr7(pid);
	shared->taken = take_registers(pid);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	shared->debugger = DONE;
	_exit(0);
}

static void gives_way_to_debuggers(struct breakpoints *b, pid_t pid)
{
	struct breakpoint_order order = order_of(pid, 4);
	struct breakpoint_result r = { 0 };
	pid_t debugger = fork(); /* now: later it would share the events */

	if (!debugger)
		run_debugger(pid);
	arm(b, &order);
	number("armed", free_registers(pid), REGISTERS / 2);
	shared->debugger = STARTS;
	while (shared->debugger == STARTS)
		nap();
	if (shared->debugger == REFUSED) {
		printf("skip debugger: ptrace is refused here\n");
		breakpoints_cancel(b, 4);
		take(b, WAIT, &r);
	} else {
		check_that("a debugger ends it", take(b, WAIT, &r) && !r.error && !r.used);
		breakpoints_order(b, &order);
		checkf("none beside a debugger", take(b, WAIT, &r) && r.error == EBUSY, "error %d",
		       r.error);
		shared->debugger = TRIES;
		while (shared->debugger != DONE)
			nap();
		number("dr7", (uint64_t)shared->dr7, 0);
		number("the debugger's registers", shared->taken, REGISTERS);
	}
	end_child(debugger);
}

static void leaves_nothing(struct breakpoints *b, pid_t pid)
{
	struct breakpoint_order order = order_of(pid, 5);

	arm(b, &order);
	number("armed again", free_registers(pid), REGISTERS / 2);
	breakpoints_stop(b);
	number("registers at the end", free_registers(pid), REGISTERS);
}

int main(void)
{
	struct breakpoints *b;
	pid_t pid;
	int why = breakpoint_event_probe();

	if (why) {
		printf("accesses are not known: %s\n", breakpoint_event_reason(why));
		return 77;
	}
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start_target();
	b = breakpoints_start();
	check_that("started", b);
	if (b) {
		tells_uses(b, pid);
		outlasts_threads(b, pid);
		gives_way_to_debuggers(b, pid);
		end_child(pid);
		pid = start_target(); /* the kernel keeps what a debugger had until the end */
		leaves_nothing(b, pid);
		breakpoints_destroy(b);
	}
	end_child(pid);
	return failures ? 1 : 0;
}
