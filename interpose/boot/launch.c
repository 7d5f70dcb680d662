/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c: starts a process that is no child of the program.
 *
 * The target must not notice the sidecar: its wait() may reap nothing of ours, its SIGCHLD handler
 * must not run, its terminal must not signal us, and its pipes must not be held open by us (a shell
 * waits for the writer's end to close). So: clone twice with no exit signal, the first child being
 * reaped here with __WCLONE (which no ordinary wait() does), the second one, an orphan, in a
 * session of its own, with standard streams on /dev/null and every other descriptor closed.
 *
 * A probe is such a process too, although the program waits for it: exec turns any child into an
 * ordinary one, for which the program would get SIGCHLD. Its end closes a pipe. A large executable
 * takes a second or two of processor time, and on a busy machine much more of the clock's.
 * PROBE_WAIT is far beyond that; after it, the session has less information about the program and
 * says so.
 *
 * A sidecar is detected by trying its lock, not by looking for a process: that answer is right in
 * every pid namespace. Two images that start together may both find it free; the second sidecar
 * finds it taken and ends.
 */
#define _GNU_SOURCE
#include "launch.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../core/clock.h"
#include "../core/env.h"
#include "../core/settings.h"
#include "../core/sys.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
	ENVIRONMENT_MAX = 4096, SIGNALS = 64, KERNEL_SIGSET = 8,
	PROBE_WAIT = 120, /* seconds */
};

enum si_service si_service(const char *directory)
{
	char path[SHINY_PATH_MAX];
	struct stat st = { 0 };
	struct si_text t;
	long got;
	int fd;

	si_text_init(&t, path, sizeof(path));
	si_text_add(&t, directory);
	si_text_add(&t, "/" SHINY_SIDECAR_LOCK);
	fd = si_sys_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return SI_UNSERVED;
	got = si_sys(SYS_flock, fd, LOCK_EX | LOCK_NB, 0);
	si_sys(SYS_fstat, fd, &st, 0);
	si_sys_close(fd); /* this releases the lock again */
	return got != -EWOULDBLOCK ? SI_UNSERVED : st.st_size ? SI_FINISHING : SI_SERVED;
}

static bool runnable(const char *path)
{
	return si_sys6(SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0, 0) == 0;
}

static bool try_beside(struct si_text *t, char *path, size_t room, const char *library,
		       size_t directory_bytes, const char *tail)
{
	si_text_init(t, path, room);
	si_text_bytes(t, library, directory_bytes);
	si_text_add(t, tail);
	return runnable(path);
}

/* Finds shinyctl: SHINY_CTL, or beside the library, or where `make install` puts it, or on PATH. */
static bool find_ctl(char *const *environment, char *path, size_t room)
{
	struct si_text t;
	Dl_info info;

	si_text_init(&t, path, room);
	if (si_env.ctl[0]) {
		si_text_add(&t, si_env.ctl);
		return runnable(path);
	}
	if (dladdr(si_executable, &info) && info.dli_fname) {
		size_t n = 0;

		for (size_t i = 0; info.dli_fname[i]; i++)
			if (info.dli_fname[i] == '/')
				n = i + 1;
		if (try_beside(&t, path, room, info.dli_fname, n, "shinyctl") ||
		    try_beside(&t, path, room, info.dli_fname, n, "../bin/shinyctl"))
			return true;
	}
	for (; environment && *environment; environment++) {
		const char *at = *environment + 5;

		if (!si_same(*environment, "PATH=", 5))
			continue;
		for (;; at++) {
			size_t n = 0;

			while (at[n] && at[n] != ':')
				n++;
			if (n && try_beside(&t, path, room, at, n, "/shinyctl"))
				return true;
			at += n;
			if (!*at)
				return false;
		}
	}
	return false;
}

static __attribute__((noreturn)) void leave(int status)
{
	for (;;)
		si_sys(SYS_exit_group, status, 0, 0);
}

/* Forks a child that sends no signal when it ends. */
static long twin(void)
{
	return si_sys6(SYS_clone, 0, 0, 0, 0, 0, 0);
}

/* Execs `path`. `kept_fd` is the one descriptor that stays open, as number 3; -1: none. */
static __attribute__((noreturn)) void become(const char *path, const char *const *arguments,
					     char *const *environment, int kept_fd)
{
	static char *kept[ENVIRONMENT_MAX];
	uint64_t none = 0;
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} plain = { SIG_DFL, 0, NULL, 0 };
	size_t n = 0;
	int null, first;

	for (; environment && *environment && n + 1 < ENVIRONMENT_MAX; environment++)
		if (!si_same(*environment, "LD_PRELOAD=", 11) &&
		    !si_same(*environment, "LD_AUDIT=", 9))
			kept[n++] = *environment;
	kept[n] = NULL;
	si_sys(SYS_setsid, 0, 0, 0);
	for (int s = 1; s <= SIGNALS; s++)
		si_sys6(SYS_rt_sigaction, s, (long)&plain, 0, KERNEL_SIGSET, 0, 0);
	si_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, KERNEL_SIGSET, 0, 0);
	if (kept_fd >= 0) /* not as one of the standard streams, which the program may have
	                   * closed */
		kept_fd = (int)si_sys(SYS_fcntl, kept_fd, F_DUPFD, 3);
	null = si_sys_open(AT_FDCWD, "/dev/null", O_RDWR, 0);
	/* any file that opens, so that no file of the sidecar gets the standard streams' numbers */
	if (null < 0)
		null = si_sys_open(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
	for (int fd = 0; fd < (si_env.debug ? 2 : 3); fd++)
		if (null != fd)
			si_sys(SYS_dup2, null, fd, 0);
	if (kept_fd > 3)
		si_sys(SYS_dup2, kept_fd, 3, 0);
	first = kept_fd >= 0 ? 4 : 3;
	if (si_sys(SYS_close_range, first, ~0u, 0) < 0) /* before Linux 5.9 */
		for (int fd = first; fd < 4096; fd++)
			si_sys_close(fd);
	si_sys(SYS_execve, path, arguments, kept);
	leave(127);
}

/* Runs `path` as a process that is no child of ours. False: it could not be created. */
static bool orphan(const char *path, const char *const *arguments, char *const *environment,
		   int kept_fd)
{
	long child = twin();

	if (child == 0) {
		if (twin() == 0)
			become(path, arguments, environment, kept_fd);
		leave(0);
	}
	if (child > 0)
		while (si_sys6(SYS_wait4, child, 0, __WCLONE, 0, 0, 0) == -EINTR)
			;
	return child > 0;
}

enum si_service si_launch(const char *directory, char *const *environment, struct si_text *notes)
{
	const char *const arguments[] = { "shinyctl", "collect", "--live", directory, NULL };
	const char *const push[] = { "shinyctl", "push", directory, NULL };
	enum si_service service = si_service(directory);
	char path[SHINY_PATH_MAX];

	if (service != SI_UNSERVED)
		return service;
	if (!find_ctl(environment, path, sizeof(path))) {
		si_text_add(notes, "no sidecar: shinyctl is neither beside the library nor on PATH "
				   "(set SHINY_CTL); recorded into ");
		si_text_add(notes, directory);
		si_text_add(notes, "\n");
		return SI_UNSERVED;
	}
	if (orphan(path, arguments, environment, -1)) {
		if (si_env.push[0])
			orphan(path, push, environment, -1);
		return SI_SERVED;
	}
	si_text_add(notes, "no sidecar: this process may not make another one\n");
	return SI_UNSERVED;
}

/* Waits until no process holds the pipe's other end. False: that took longer than PROBE_WAIT. */
static bool await(int pipe)
{
	uint64_t end = si_clock_ns(CLOCK_MONOTONIC) + PROBE_WAIT * UINT64_C(1000000000), now;
	struct pollfd hung_up = { .fd = pipe };

	while ((now = si_clock_ns(CLOCK_MONOTONIC)) < end) {
		struct timespec left = { .tv_sec = (time_t)((end - now) / 1000000000) + 1 };

		if (si_sys6(SYS_ppoll, (long)&hung_up, 1, (long)&left, 0, 0, 0) == 1)
			return true;
	}
	return false;
}

bool si_prepare(const char *directory, const char *executable, char *const *environment,
		struct si_text *notes)
{
	const char *const arguments[] = { "shinyctl", "doctor",	  "--probe", "--prepare",
					  directory,  executable, NULL };
	char path[SHINY_PATH_MAX];
	int pipe[2];
	bool done;

	if (!find_ctl(environment, path, sizeof(path))) {
		si_text_add(notes, "not probed: shinyctl is neither beside the library nor on PATH "
				   "(set SHINY_CTL)\n");
		return false;
	}
	if (si_sys(SYS_pipe2, pipe, O_CLOEXEC, 0) < 0)
		return false;
	done = orphan(path, arguments, environment, pipe[1]);
	si_sys_close(pipe[1]);
	if (!done)
		si_text_add(notes, "not probed: this process may not make another one\n");
	else if (!(done = await(pipe[0])))
		si_text_add(notes, "not probed: it takes longer than two minutes; the next "
				   "recording will find it done\n");
	si_sys_close(pipe[0]);
	return done;
}
