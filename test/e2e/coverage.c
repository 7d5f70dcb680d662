/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program in every way that libc has, waits for it each time, and ends with 0 if all of
 * them ended with the status that was given: coverage STATUS PROGRAM [ARGUMENT...]. Nothing is
 * allocated on the way: the children hold no block of their own. COVERAGE_ROOT is the root
 * directory from then on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	EXECVE,
	EXECVP,
	EXECVPE,
	VFORK,
	FEXECVE,
	EXECVEAT,
	SPAWN,
	SPAWNP,
	SYSTEM,
	POPEN,
	FAILS_FIRST,
	WAYS
};

static void become(int way, char **argv)
{
	switch (way) {
	case EXECVE:
	case VFORK: execve(argv[0], argv, environ); break;
	case EXECVP: execvp(argv[0], argv); break;
	case EXECVPE: execvpe(argv[0], argv, environ); break;
	case FEXECVE: fexecve(open(argv[0], O_RDONLY), argv, environ); break;
	case EXECVEAT: execveat(AT_FDCWD, argv[0], argv, environ, 0); break;
	case FAILS_FIRST:
		execve("/nonexistent/program", argv, environ);
		execv(argv[0], argv);
		break;
	}
	_exit(90);
}

int main(int argc, char **argv)
{
	int expected = atoi(argv[1]), status = 0, wrong = 0;
	char command[4096] = "exec";
	pid_t pid;

	for (int i = 2; i < argc; i++) {
		strcat(command, " ");
		strcat(command, argv[i]);
	}
	argv += 2;
	if (getenv("COVERAGE_ROOT") && (chroot(getenv("COVERAGE_ROOT")) || chdir("/")))
		return 91;
	for (int way = 0; way < WAYS; way++) {
		if (way == SYSTEM) {
			status = system(command);
		} else if (way == POPEN) {
			FILE *pipe = popen(command, "r");

			/* without a reader, SIGPIPE would end it before it has said anything */
			while (fgetc(pipe) != EOF)
				;
			status = pclose(pipe);
		} else if (way == SPAWN || way == SPAWNP) {
			if ((way == SPAWN ? posix_spawn : posix_spawnp)(&pid, argv[0], NULL, NULL,
									argv, environ) == 0)
				waitpid(pid, &status, 0);
		} else {
			pid = way == VFORK ? vfork() : fork();
			if (pid == 0)
				become(way, argv);
			waitpid(pid, &status, 0);
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) {
			printf("way %d: status %x\n", way, (unsigned)status);
			wrong++;
		}
	}
	return wrong != 0;
}
