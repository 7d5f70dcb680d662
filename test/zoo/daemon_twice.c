/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon that forks twice, or five times, or by daemon(3): those in the middle allocate nothing, some of them end at once and some
 * later. What comes out has all of the first one's blocks and modules; it frees some, and makes its own.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

static void *block[100];

static void serve(const char *name, int freed, int made)
{
	zoo_forked();
	for (int i = 0; i < freed; i++)
		zoo_free(block[i]);
	for (int i = 0; i < made; i++)
		shiny_zoo_alloc(300);
	truth(name);
}

/* The last of `generations` serves. */
static void generations(const char *name, int count, int raw)
{
	pid_t pid = raw ? (pid_t)syscall(SYS_fork) : fork();

	if (pid == 0 && count > 1) {
		generations(name, count - 1, raw);
		syscall(SYS_exit_group, 0);
	} else if (pid == 0) {
		serve(name, 10 * count, 20);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, NULL, 0);
}

int main(void)
{
	int pipes[2];
	char end;

	if (pipe(pipes))
		return 1;
	for (int i = 0; i < 100; i++)
		block[i] = shiny_zoo_alloc(100 + (size_t)i);
	truth("launcher");
	generations("two", 2, 0);
	generations("five", 5, 0);
	generations("raw", 3, 1);
	if (fork() == 0) {
		if (daemon(1, 1))
			_exit(1);
		close(pipes[0]);
		serve("daemon", 30, 40);
		if (fork() == 0) { /* of one that has written, by one that has not */
			if (fork() == 0) {
				serve("grandchild", 0, 7);
				_exit(0);
			}
			wait(NULL);
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	close(pipes[1]);
	wait(NULL);
	return read(pipes[0], &end, 1) != 0; /* the daemon has ended */
}
