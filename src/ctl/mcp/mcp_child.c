/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "mcp_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"

/* Starts the child; returns an errno. */
static int start(char *const *words, int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int why = posix_spawn_file_actions_init(&actions);

	if (why)
		return why;
	why = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!why)
		why = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!why)
		why = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	if (!why)
		why = posix_spawn(pid, "/proc/self/exe", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return why;
}

/* Reads until the end of `fd`. False: it is to end early, or it printed too much. */
static bool take(int fd, bool (*poll)(void *context, int fd), void *context,
		 struct mcp_child *result)
{
	size_t bytes = 0;
	ssize_t n;

	result->out = mem_alloc(MCP_CHILD_MOST + 1);
	do {
		result->ended_early = !poll(context, fd);
		n = result->ended_early ? 0
					: read(fd, result->out + bytes, MCP_CHILD_MOST - bytes);
		if (n > 0)
			bytes += (size_t)n;
	} while ((n > 0 && bytes < MCP_CHILD_MOST) || (n < 0 && errno == EINTR));
	result->out[bytes] = 0;
	return n == 0 && !result->ended_early;
}

struct shiny_err *mcp_child_run(char *const *words, bool (*poll)(void *context, int fd),
				void *context, struct mcp_child *result)
{
	AUTO_CLOSE int err = memfd_create("what a verb says", MFD_CLOEXEC), read_end = -1;
	int ends[2], why, status = 0;
	bool whole;
	ssize_t said;
	pid_t pid;

	*result = (struct mcp_child){ 0 };
	if (err < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return shiny_err_os(errno, "cannot run a verb");
	read_end = ends[0];
	why = start(words, ends[1], err, &pid);
	close(ends[1]);
	if (why)
		return shiny_err_os(why, "cannot run a verb");
	whole = take(read_end, poll, context, result);
	if (!whole)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	said = pread(err, result->err, sizeof(result->err) - 1, 0);
	result->err[said > 0 ? said : 0] = 0;
	result->failed = !whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	if (!whole)
		strcpy(result->err, "the answer is too long: a smaller budget");
	else if (!*result->err && result->failed && WIFSIGNALED(status))
		strcpy(result->err, "the verb was ended by a signal");
	return NULL;
}
