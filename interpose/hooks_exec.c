/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_exec.c: the session is handed down to the programs that this one starts.
 *
 * Runs:      inside, in place of exec*, posix_spawn, system and popen.
 * Signals:   exec* are async-signal-safe, may run in a vfork child, and stay so: nothing but the caller's stack is written there.
 * Allocates: nothing.
 * Threads:   any.
 *
 * The problem. A child finds its session by SHINY_SESSION, and a plain LD_PRELOAD=libshiny.so does not set it. Putting it into `environ`
 * when we start is too early: programs that change their title (Chromium, nginx, PostgreSQL) first check that the strings of
 * argv and environ lie in one piece as the kernel put them, and give up if they don't. In Chromium that cost the roles: what a zygote
 * forks kept the zygote's command line.
 * The approach. `environ` is left alone; the variable is added to the array that goes to the kernel, in the call that sends it. system and
 * popen send `environ` itself, so these two replace it, once; no title check comes that late.
 * An environment is added to when it loads a library (LD_PRELOAD). Without, the child is not recorded, and `env -i` shows what it would.
 * Rejected: appending to `environ` in order (the check wants every string in the block), room in the block (there is none), asking the
 * parent's pid for its session (orphans and pid namespaces have no parent to ask).
 * What the new program is we don't know: it may be static, setuid, or not ours to follow, and then nothing else tells the sidecar
 * that the blocks of this process have gone with its memory. So a mark in our slot stands for as long as the call has not come back.
 * And a notice says which program it was: without an arena that answers it, it was not recorded (notice.h).
 * A path or environment that cannot be read is the kernel's to refuse (readable.h): no notice is made of it, nothing is added to it.
 * Not covered: execve by direct system call, and libc's own callers of exec (wordexp): their children record into a session of their own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "env.h"
#include "hooks.h"
#include "notice.h"
#include "process.h"
#include "readable.h"
#include "settings.h"
#include "tid.h"

enum { VARIABLES_MAX = 8192 };

static const char name[] = "SHINY_SESSION=";
enum { NAME_BYTES = sizeof name - 1 };

static bool equal(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

/* An inherited value that we could not use, so that our own session is another one. */
static bool is_stale(const char *variable)
{
	return si_env.session[0] && equal(variable + NAME_BYTES, si_env.session) && !equal(variable, si_session_variable);
}

/* Pointers in the array that hands the session down; 0: `environment` is right as it is. */
static size_t room_for(char *const *environment)
{
	bool passes = false;
	size_t n = 0;

	if (!si_session_variable[0] || !si_readable_strings(environment))
		return 0;
	for (; environment[n]; n++) {
		if (si_same(environment[n], name, NAME_BYTES) && !is_stale(environment[n]))
			return 0;
		passes = passes || si_same(environment[n], "LD_PRELOAD=", 11);
	}
	return passes && n < VARIABLES_MAX ? n + 2 : 0;
}

static char **fill(char **room, char *const *environment)
{
	size_t n = 0;

	for (; *environment; environment++)
		if (!si_same(*environment, name, NAME_BYTES))
			room[n++] = *environment;
	room[n++] = si_session_variable;
	room[n] = NULL;
	return room;
}

/* On the caller's stack: there until it returns. */
#define HANDED_DOWN(environment)                                                                                               \
	({                                                                                                                     \
		char *const *from_ = (environment);                                                                            \
		size_t room_ = room_for(from_);                                                                                \
		room_ ? (char *const *)fill(__builtin_alloca(room_ * sizeof(char *)), from_) : from_;                          \
	})

/* What a notice says of an environment. */
static uint32_t flags_of(char *const *environment)
{
	static const char library[] = "libshiny.so";

	if (!si_readable_strings(environment))
		return 0;
	for (; *environment; environment++)
		if (si_same(*environment, "LD_PRELOAD=", 11))
			for (const char *at = *environment + 11; *at; at++)
				if (si_same(at, library, sizeof library - 1))
					return SHINY_NOTICE_PRELOADS;
	return 0;
}

static struct si_notice notice_of(enum shiny_notice_kind kind, const char *path, uint32_t pid, char *const *environment, uint32_t flags)
{
	if (!si_readable_string(path, SHINY_PATH_MAX))
		return (struct si_notice){ 0 };
	return si_notice_start(kind, path, pid, flags | flags_of(environment));
}

/* A call of exec: it returns only when it failed. */
#define REPLACED_BY(told_flags, path, environment, call)                                                                                                      \
	({                                                                                                                     \
		struct si_notice notice_ = notice_of(SHINY_NOTICE_EXEC, (path), si_process_number(), (environment), (told_flags)); \
		if (si_tid_is_vforked())                                                                                       \
			si_vfork_notice = notice_.number;                                                                      \
		bool told_ = si_exec_begin();                                                                                  \
		int result_ = (call);                                                                                          \
		if (told_)                                                                                                     \
			si_exec_failed();                                                                                      \
		si_notice_failed(notice_);                                                                                     \
		if (si_tid_is_vforked())                                                                                       \
			si_vfork_notice = 0;                                                                                   \
		result_;                                                                                                       \
	})

static int absent(void)
{
	errno = ENOSYS;
	return -1;
}

int si_hook_execve(const char *path, char *const *argv, char *const *environment)
{
	return SI_NEXT(execve) ? REPLACED_BY(0, path, environment, si_next.execve(path, argv, HANDED_DOWN(environment))) : absent();
}

int si_hook_execvpe(const char *file, char *const *argv, char *const *environment)
{
	return SI_NEXT(execvpe) ? REPLACED_BY(0, file, environment, si_next.execvpe(file, argv, HANDED_DOWN(environment))) : absent();
}

int si_hook_execv(const char *path, char *const *argv)
{
	return si_hook_execve(path, argv, environ);
}

int si_hook_execvp(const char *file, char *const *argv)
{
	return si_hook_execvpe(file, argv, environ);
}

/* The name that a program is given when it is started by a descriptor. */
static const char *first_of(char *const *argv)
{
	return si_readable_strings(argv) && argv[0] ? argv[0] : "";
}

int si_hook_fexecve(int fd, char *const *argv, char *const *environment)
{
	const char *named = first_of(argv);

	return SI_NEXT(fexecve) ?
		REPLACED_BY(SHINY_NOTICE_BY_DESCRIPTOR, named, environment, si_next.fexecve(fd, argv, HANDED_DOWN(environment))) :
		absent();
}

int si_hook_execveat(int directory, const char *path, char *const *argv, char *const *environment,
		     int flags)
{
	bool read = si_readable_string(path, SHINY_PATH_MAX);
	uint32_t told = read && directory != AT_FDCWD && *path != '/' ? SHINY_NOTICE_BY_DESCRIPTOR : 0;
	const char *named = read && !*path ? first_of(argv) : path;

	return SI_NEXT(execveat) ?
		REPLACED_BY(told, named, environment, si_next.execveat(directory, path, argv, HANDED_DOWN(environment), flags)) :
		absent();
}

/* The arguments of an execl: `first`, then those of `list` to the NULL; both lists are walked, so a copy is counted. */
static size_t count_arguments(const char *first, va_list list)
{
	size_t n = 1;

	if (first)
		for (n++; va_arg(list, const char *); n++)
			;
	return n;
}

#define ARGUMENTS(argv, first, list)                                                                                           \
	do {                                                                                                                   \
		va_list counted_;                                                                                              \
		size_t n_ = 0, room_;                                                                                          \
		va_copy(counted_, list);                                                                                       \
		room_ = count_arguments(first, counted_);                                                                      \
		va_end(counted_);                                                                                              \
		argv = __builtin_alloca(room_ * sizeof(char *));                                                               \
		argv[n_++] = (char *)(uintptr_t)(first);                                                                       \
		while (n_ < room_)                                                                                             \
			argv[n_++] = va_arg(list, char *);                                                                     \
	} while (0)

int si_hook_execl(const char *path, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	ARGUMENTS(argv, first, list);
	va_end(list);
	return si_hook_execve(path, argv, environ);
}

int si_hook_execlp(const char *file, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	ARGUMENTS(argv, first, list);
	va_end(list);
	return si_hook_execvpe(file, argv, environ);
}

int si_hook_execle(const char *path, const char *first, ...)
{
	char *const *environment;
	va_list list;
	char **argv;

	va_start(list, first);
	ARGUMENTS(argv, first, list);
	environment = va_arg(list, char *const *); /* behind the NULL */
	va_end(list);
	return si_hook_execve(path, argv, environment);
}

/* The caller's own variable is filled by libc, before a signal that tells of the child can come in. */
#define SPAWNED(path, call)                                                                                                    \
	({                                                                                                                     \
		struct si_notice notice_ = notice_of(SHINY_NOTICE_SPAWN, (path), 0, environment, 0);                           \
		pid_t own_ = 0;                                                                                                \
		pid_t *at_ = pid ? pid : &own_;                                                                                \
		int error_ = (call);                                                                                           \
		if (error_)                                                                                                    \
			si_notice_failed(notice_);                                                                             \
		else                                                                                                           \
			si_notice_started(notice_, (uint32_t)*at_);                                                            \
		error_;                                                                                                        \
	})

int si_hook_posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attr, char *const *argv,
			char *const *environment)
{
	if (!SI_NEXT(posix_spawn))
		return ENOSYS;
	return SPAWNED(path, si_next.posix_spawn(at_, path, actions, attr, argv, HANDED_DOWN(environment)));
}

int si_hook_posix_spawnp(pid_t *pid, const char *file, const void *actions, const void *attr, char *const *argv,
			 char *const *environment)
{
	if (!SI_NEXT(posix_spawnp))
		return ENOSYS;
	return SPAWNED(file, si_next.posix_spawnp(at_, file, actions, attr, argv, HANDED_DOWN(environment)));
}

static void hand_down_environ(void)
{
	static char *environment[VARIABLES_MAX + 2];

	if (room_for(environ))
		environ = fill(environment, environ);
}

/* Both start it by a call of their own, and keep its number to themselves. */
static const char shell[] = "/bin/sh";

int si_hook_system(const char *command)
{
	struct si_notice notice = { 0 };
	int status;

	if (!SI_NEXT(system))
		return absent();
	hand_down_environ();
	if (command)
		notice = si_notice_start(SHINY_NOTICE_SPAWN, shell, 0, flags_of(environ));
	status = si_next.system(command);
	if (status == -1)
		si_notice_failed(notice);
	else
		si_notice_started(notice, 0);
	return status;
}

void *si_hook_popen(const char *command, const char *mode)
{
	struct si_notice notice;
	void *pipe;

	if (!SI_NEXT(popen))
		return absent(), NULL;
	hand_down_environ();
	notice = si_notice_start(SHINY_NOTICE_SPAWN, shell, 0, flags_of(environ));
	pipe = si_next.popen(command, mode);
	if (pipe)
		si_notice_started(notice, 0);
	else
		si_notice_failed(notice);
	return pipe;
}
