/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts itself in every way that libc has; each child belongs to the same session. Before that it
 * looks at the strings of its arguments and environment as a program does that wants to change its
 * title: they lie in one piece, as the kernel put them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

extern char **environ;

static int in_one_piece(char **argv)
{
	const char *at = argv[0];

	for (char **list = argv; *list; at += strlen(at) + 1)
		if (*list++ != at)
			return 0;
	for (char **list = environ; *list; at += strlen(at) + 1)
		if (*list++ != at)
			return 0;
	return 1;
}

enum {
	EXECVE,
	EXECV,
	EXECVP,
	EXECVPE,
	EXECL,
	EXECLP,
	EXECLE,
	FEXECVE,
	SPAWN,
	SPAWNP,
	SYSTEM,
	POPEN,
	OWN_ENVIRONMENT,
	WAYS
};

static void start(char *self, int way)
{
	char number[12], command[4200], preload[4200];
	char *argv[] = { self, number, NULL };
	char *own[] = { preload, NULL };
	int status = 0;
	pid_t pid = 0;

	snprintf(number, sizeof(number), "%d", 100 + way);
	snprintf(command, sizeof(command), "exec '%s' %s", self, number);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s",
		 getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
	if (way == SYSTEM) {
		status = system(command);
	} else if (way == POPEN) {
		FILE *pipe = popen(command, "r");
		char line[256];

		while (pipe && fgets(line, sizeof(line), pipe))
			if (write(1, line, strlen(line)) < 0)
				break;
		status = pipe ? pclose(pipe) : 1;
	} else if (way == SPAWN || way == SPAWNP) {
		status = (way == SPAWN ? posix_spawn : posix_spawnp)(&pid, self, NULL, NULL, argv,
								     environ);
	} else if ((pid = fork()) == 0) {
		switch (way) {
		case EXECVE: execve(self, argv, environ); break;
		case EXECV: execv(self, argv); break;
		case EXECVP: execvp(self, argv); break;
		case EXECVPE: execvpe(self, argv, environ); break;
		case EXECL: execl(self, self, number, (char *)NULL); break;
		case EXECLP: execlp(self, self, number, (char *)NULL); break;
		case EXECLE: execle(self, self, number, (char *)NULL, environ); break;
		case FEXECVE: fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ); break;
		case OWN_ENVIRONMENT: execve(self, argv, own); break;
		}
		_exit(90);
	}
	if (status || (pid > 0 && waitpid(pid, &status, 0) != pid) || status) {
		printf("way %d: status %x\n", way, (unsigned)status);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char name[24] = "parent";

	if (argc > 1)
		snprintf(name, sizeof(name), "child%s", argv[1]);
	else
		printf("arguments and environment in one piece: %d\n", in_one_piece(argv));
	fflush(stdout);
	zoo_free(shiny_zoo_alloc(50));
	shiny_zoo_alloc(argc > 1 ? (size_t)atoi(argv[1]) : 64);
	for (int way = 0; argc == 1 && way < WAYS; way++)
		start(argv[0], way);
	truth(name);
	return 0;
}
