/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings.c: children that end in every way there is, one after the other; prints each one's pid
 * and how the kernel says it ended.
 *
 * `endings child N`: allocates and returns N from main.
 * libs: -pthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

static void allocate(void)
{
	sink = malloc(100);
}

static void allocate_too(int status, void *unused)
{
	(void)status;
	(void)unused;
	allocate();
}

static void changes_its_mind(int status, void *unused)
{
	(void)unused;
	_exit(status + 1);
}

static void by_exit(const char *self)
{
	(void)self;
	atexit(allocate);
	on_exit(allocate_too, NULL);
	exit(3);
}

static void by_large_status(const char *self)
{
	(void)self;
	exit(300); /* 44 */
}

static void by_exit_now(const char *self)
{
	(void)self;
	_exit(4);
}

static void by_exit_now_of_c(const char *self)
{
	(void)self;
	_Exit(5);
}

static void by_quick_exit(const char *self)
{
	(void)self;
	at_quick_exit(allocate);
	quick_exit(6);
}

static void by_changed_mind(const char *self)
{
	(void)self;
	on_exit(changes_its_mind, NULL);
	exit(7); /* 8 */
}

static void *leave(void *unused)
{
	exit(9);
	return unused;
}

static void by_thread(const char *self)
{
	pthread_t thread;

	(void)self;
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
}

/* Whose memory a vfork child shares goes on. */
static void behind_vfork(const char *self)
{
	pid_t child = vfork();

	(void)self;
	if (child == 0)
		_exit(10);
	waitpid(child, NULL, 0);
	allocate();
	raise(SIGKILL);
}

static void by_another_program(const char *self)
{
	allocate();
	execl(self, self, "child", "12", NULL);
	_exit(1);
}

static void by_system_call(const char *self)
{
	(void)self;
	syscall(SYS_exit_group, 13);
}

static void by_kill(const char *self)
{
	(void)self;
	raise(SIGKILL);
}

static void by_abort(const char *self)
{
	(void)self;
	abort();
}

/* No image of its own before: only its number tells whose child it is. */
static pid_t spawn(char *self)
{
	char *arguments[] = { self, "child", "11", NULL };
	pid_t child = -1;

	posix_spawn(&child, self, NULL, NULL, arguments, environ);
	return child;
}

static const struct { const char *name; void (*end)(const char *self);
} ways[] = {
	{ "exit", by_exit },
	{ "large", by_large_status },
	{ "_exit", by_exit_now },
	{ "_Exit", by_exit_now_of_c },
	{ "quick_exit", by_quick_exit },
	{ "changed", by_changed_mind },
	{ "thread", by_thread },
	{ "vfork", behind_vfork },
	{ "exec", by_another_program },
	{ "syscall", by_system_call },
	{ "kill", by_kill },
	{ "abort", by_abort },
	{ "spawn", NULL },
};

int main(int argc, char **argv)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	allocate();
	if (argc > 2 && strcmp(argv[1], "child") == 0)
		return atoi(argv[2]);
	printf("main %d\n", (int)getpid());
	fflush(stdout);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		pid_t child = ways[i].end ? fork() : spawn(argv[0]);
		int status;

		if (child == 0) {
			allocate();
			ways[i].end(argv[0]);
		}
		waitpid(child, &status, 0);
		printf("%s %d %s %d\n", ways[i].name, (int)child,
		       WIFSIGNALED(status) ? "killed" : "exited",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		fflush(stdout);
	}
	return 14;
}
