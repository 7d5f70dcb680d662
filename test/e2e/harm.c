/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that forbids itself things, and says how each of its children ended: a filter that
 * allows what it does itself and ends it at anything else, strict seccomp, no time-stamp counter.
 * `harm CASE...` runs these, `harm` all of them; one line each.
 *
 * A case is INSTALL-ACTION-END, or one of the names in `others`. What happens behind the filter
 * stands between two writes to descriptor -1, so that strace can tell it from the rest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long raw(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static void mark(void)
{
	raw(SYS_write, -1, (long)"mark", 4, 0, 0);
}

/* ---- the filter ---- */

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(write),
	ALLOW(openat),
	ALLOW(close),
	ALLOW(exit),
	ALLOW(exit_group),
	ALLOW(brk),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(rt_sigreturn),
	/* what a thread and its end need, and a child */
	ALLOW(futex),
	ALLOW(mprotect),
	ALLOW(madvise),
	ALLOW(clone),
	ALLOW(clone3),
	ALLOW(set_robust_list),
	ALLOW(rseq),
	ALLOW(rt_sigprocmask),
	ALLOW(wait4),
	ALLOW(vfork),
	ALLOW(read),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
enum { STATEMENTS = sizeof code / sizeof *code };

enum action { KILL, TRAP, REFUSE, TELL };
enum install { BY_PRCTL, BY_SYSCALL, BY_INSTRUCTION, BY_TSYNC };

static void install(enum install how, enum action action)
{
	static const unsigned actions[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP,
					    SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_LOG };
	struct sock_fprog filter = { STATEMENTS, code };
	long failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	code[STATEMENTS - 1].k = actions[action];
	switch (how) {
	case BY_PRCTL:
		failed |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
		break;
	case BY_SYSCALL:
		failed |= syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
		break;
	case BY_INSTRUCTION:
		failed |= raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter, 0, 0);
		break;
	case BY_TSYNC:
		failed |= syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				  &filter);
		break;
	}
	if (failed)
		_exit(97);
	mark();
}

static void say(const char *what, long number)
{
	char line[100];
	int n = snprintf(line, sizeof line, "  %s %ld\n", what, number);

	if (write(1, line, (size_t)n) != n)
		_exit(96);
}

static void trapped(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	say("forbidden call", info->si_syscall);
}

/* ---- what is done behind it ---- */

static void churn(void)
{
	static void *volatile block[512];

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 512; i++)
			block[i] = malloc((size_t)(16 + i * (round % 9)));
		for (int i = 0; i < 512; i++)
			if (i % 4 || round % 8)
				free(block[i]);
	}
	block[0] = realloc(malloc(100), 300000);
	free(block[0]);
}

static void *thread(void *argument)
{
	churn();
	return argument;
}

static void *thread_that_ends_it(void *unused)
{
	churn();
	mark();
	_exit(6);
	return unused;
}

/* A thread that ends, and the process after it. */
static void threads(void)
{
	pthread_t one;

	if (pthread_create(&one, NULL, thread, NULL) || pthread_join(one, NULL))
		_exit(95);
}

static int end(const char *how)
{
	pthread_t one;
	int status;

	if (!strcmp(how, "_exit")) {
		mark();
		_exit(3);
	} else if (!strcmp(how, "quick_exit")) {
		mark();
		quick_exit(4);
	} else if (!strcmp(how, "exit")) {
		mark();
		exit(5);
	} else if (!strcmp(how, "thread")) {
		threads();
		if (pthread_create(&one, NULL, thread_that_ends_it, NULL))
			return 94;
		pthread_join(one, NULL);
	} else if (!strcmp(how, "fork")) { /* a child's first event behind an inherited filter */
		pid_t pid = fork();

		if (pid == 0) {
			churn();
			_exit(7);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 93;
		mark();
		return WEXITSTATUS(status);
	} else if (!strcmp(how, "clone")) { /* one that libc hears nothing of */
		pid_t pid = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (pid == 0) {
			churn();
			_exit(8);
		}
		if (raw(SYS_wait4, pid, (long)&status, 0, 0, 0) != pid || !WIFEXITED(status))
			return 92;
		mark();
		return WEXITSTATUS(status);
	} else if (!strcmp(how, "vfork")) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(9);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 91;
		mark();
		return WEXITSTATUS(status);
	} else if (!strcmp(how, "pthread_exit")) { /* the main thread's end is not the process's */
		if (pthread_create(&one, NULL, thread_that_ends_it, NULL))
			return 90;
		pthread_exit(NULL);
	}
	mark();
	return 10;
}

/* ---- the cases ---- */

static int filtered(enum install how, enum action action, const char *ending)
{
	struct sigaction trap = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	sigaction(SIGSYS, &trap, NULL);
	if (action == KILL)
		signal(SIGSYS, SIG_DFL);
	fflush(stdout);
	install(how, action);
	churn();
	return end(ending);
}

static int strict(enum install how)
{
	void *volatile block;

	block = malloc(5000);
	if (how == BY_PRCTL ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
			    : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL))
		_exit(97);
	for (int i = 0; i < 20000; i++) { /* from the heap that is there */
		free(block);
		block = malloc(100 + (size_t)i % 400);
	}
	raw(SYS_exit, 11, 0, 0, 0, 0);
	return 0;
}

static void *no_counter(void *way)
{
	if (!strcmp(way, "call") ? syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)
				 : prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		_exit(97);
	churn();
	return NULL;
}

static int without_counter(const char *way)
{
	pthread_t one;
	int status;
	pid_t pid;

	churn();
	if (!strcmp(way, "thread")) {
		if (pthread_create(&one, NULL, no_counter, (void *)(uintptr_t) "") ||
		    pthread_join(one, NULL))
			return 89;
		churn();
		return 12;
	}
	no_counter((void *)(uintptr_t)way);
	threads(); /* inherits it */
	pid = fork();
	if (pid == 0) {
		churn();
		_exit(13);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 88;
	return WEXITSTATUS(status);
}

/* Another program, behind a filter that allows what it and the loader do (prlimit64 among it: what
 * we do to call exec is forbid.c's matter). */
static int filtered_exec(void)
{
	static const short calls[] = {
		SYS_execve, SYS_brk,	   SYS_mmap,	   SYS_munmap,		SYS_mprotect,
		SYS_openat, SYS_close,	   SYS_read,	   SYS_pread64,		SYS_newfstatat,
		SYS_fstat,  SYS_access,	   SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list,
		SYS_rseq,   SYS_prlimit64, SYS_getrandom,  SYS_write,		SYS_exit_group,
		SYS_lseek,  SYS_ioctl,	   SYS_futex,
	};
	enum { CALLS = sizeof calls / sizeof *calls };
	struct sock_filter own[CALLS + 3];
	struct sock_fprog filter = { CALLS + 3, own };

	own[0] = code[0];
	for (unsigned i = 0; i < CALLS; i++)
		own[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
							  (uint8_t)(CALLS - i), 0);
	own[1 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	own[2 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 97;
	execl("/bin/echo", "echo", "  behind an inherited filter", (char *)NULL);
	return 87;
}

static int run_case(const char *name)
{
	static const struct {
		const char *name;
		int value;
	} installs[] = { { "prctl", BY_PRCTL },
			 { "syscall", BY_SYSCALL },
			 { "instruction", BY_INSTRUCTION },
			 { "tsync", BY_TSYNC } },
	  actions[] = { { "kill", KILL }, { "trap", TRAP }, { "refuse", REFUSE }, { "log", TELL } };
	char how[32], action[32], ending[32];

	if (!strcmp(name, "strict-prctl") || !strcmp(name, "strict-syscall"))
		return strict(strstr(name, "prctl") ? BY_PRCTL : BY_SYSCALL);
	if (!strcmp(name, "exec"))
		return filtered_exec();
	if (!strncmp(name, "notsc-", 6))
		return without_counter(name + 6);
	if (sscanf(name, "%31[^-]-%31[^-]-%31s", how, action, ending) == 3)
		for (int i = 0; i < 4; i++)
			for (int a = 0; a < 4; a++)
				if (!strcmp(how, installs[i].name) &&
				    !strcmp(action, actions[a].name))
					return filtered((enum install)installs[i].value,
							(enum action)actions[a].value, ending);
	return 99;
}

/* What libc does once, behind no filter: it counts processors, loads what pthread_exit needs. */
static void *once(void *unused)
{
	free(malloc(100));
	pthread_exit(unused);
}

int main(int count, char **names)
{
	pthread_t one;

	free(malloc(100));
	if (pthread_create(&one, NULL, once, NULL) || pthread_join(one, NULL))
		return 1;
	for (int i = 1; i < count; i++) {
		pid_t pid;
		int status;

		fflush(stdout);
		pid = fork();
		if (pid == 0)
			return run_case(names[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		printf("%s %s %d\n", names[i], WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}
