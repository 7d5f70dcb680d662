/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes to exec and posix_spawn what the kernel refuses with EFAULT, and prints what it answers:
 * paths, arguments and environments that are NULL, that lie in no memory or on a page that cannot
 * be read, and strings that run into one. Then what is unusual and works.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

extern char **environ;

enum { PAGE = 4096 };
static char *edge, *array_edge; /* ends of pages; what follows them can't be read */

/* A string that has no end. */
static char *endless(void)
{
	return memset(edge - 8, 'x', 8);
}

/* An array whose pointers run into the page that can't be read. */
static char **endless_array(void)
{
	static char word[] = "A=1";
	char **array = (char **)(void *)(array_edge - sizeof(char *));

	*array = word;
	return array;
}

static void *bad(int which)
{
	void *const all[] = { NULL,	 (void *)8,	 edge, (void *)-8, (void *)(1ul << 60),
			      endless(), endless_array() };

	return all[which];
}
enum { BAD = 7, ENDLESS_STRING = 5, ENDLESS_ARRAY = 6 };

static void answer(const char *call, int which, int result)
{
	printf("%s %d: %d %s\n", call, which, result, strerrorname_np(errno));
	fflush(stdout);
	errno = 0;
}

static void all_bad(void)
{
	char *argv[] = { "program", NULL };
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	for (int i = 0; i < BAD; i++) {
		char *strings[] = { bad(i), NULL };

		if (i != ENDLESS_ARRAY) {
			answer("execve path", i, execve(bad(i), argv, environ));
			answer("execveat path", i, execveat(AT_FDCWD, bad(i), argv, environ, 0));
			answer("posix_spawn path", i,
			       posix_spawn(&pid, bad(i), NULL, NULL, argv, environ));
		}
		if (i != 0 && i != ENDLESS_ARRAY) {
			answer("execve argument", i, execve("/bin/true", strings, environ));
			answer("execve variable", i, execve("/bin/true", argv, strings));
			answer("posix_spawn variable", i,
			       posix_spawn(&pid, "/bin/true", NULL, NULL, argv, strings));
		}
		if (i != 0 && i != ENDLESS_STRING) {
			answer("execve arguments", i, execve("/bin/true", bad(i), environ));
			answer("execve environment", i, execve("/bin/true", argv, bad(i)));
			answer("execvpe environment", i, execvpe("true", argv, bad(i)));
			answer("fexecve environment", i, fexecve(fd, argv, bad(i)));
			answer("fexecve arguments", i, fexecve(fd, bad(i), environ));
			answer("execveat arguments", i,
			       execveat(fd, "", bad(i), environ, AT_EMPTY_PATH));
		}
	}
}

/* A page of the heap that cannot be read, which is said in each way that a program has. */
static void hidden(int way)
{
	char *page = aligned_alloc(PAGE, PAGE), *argv[] = { page, NULL };

	strcpy(page, "/nonexistent/program");
	answer("execve of the heap", way, execve(page, argv, environ));
	if (way == 0)
		syscall(SYS_mprotect, page, PAGE, PROT_NONE);
	else
		mprotect(page, PAGE, PROT_NONE);
	answer("execve of a hidden page", way, execve(page, argv, environ));
	answer("execve of a hidden variable", way, execve("/bin/true", argv, argv));
}

/* In heap memory, in a child of its own. */
static void all_good(int way)
{
	char *path = strcpy(shiny_zoo_alloc(64), "/bin/echo"),
	     *argv[] = { path, strcpy(shiny_zoo_alloc(64), "echoed"), NULL };
	char **environment = shiny_zoo_alloc(4 * sizeof(char *));
	int status;
	pid_t pid = fork();

	environment[0] = strcpy(shiny_zoo_alloc(64), "SOME=thing");
	environment[1] = NULL;
	if (pid == 0) {
		if (way == 0)
			execve(path, argv, environment);
		else if (way == 1)
			execve(path, argv, NULL);
		else
			execvp(path, argv);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("good %d: %d\n", way, status);
	fflush(stdout);
}

int main(void)
{
	char *pages =
		mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	edge = pages + PAGE;
	array_edge = edge + 2 * PAGE;
	if (pages == MAP_FAILED || mprotect(edge, PAGE, PROT_NONE) ||
	    mprotect(array_edge, PAGE, PROT_NONE))
		return 1;
	all_bad();
	for (int way = 0; way < 2; way++) {
		pid_t pid = fork();

		if (pid == 0) {
			hidden(way);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (int way = 0; way < 3; way++)
		all_good(way);
	truth("end");
	return 0;
}
