/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_exec.c: passes the session on to the programs that this one starts.
 *
 * Runs:      inside, in place of exec*, posix_spawn, system and popen.
 * Signals:   exec* are async-signal-safe, may run in a vfork child, and stay so: they write only to
 *            the caller's stack and to one array of ours.
 * Allocates: nothing.
 * Threads:   any.
 *
 * Problem. A child finds its session by SHINY_SESSION, and a plain LD_PRELOAD=libshiny.so does not
 * set it. Putting it into `environ` when we start is too early: programs that change their title
 * (Chromium, nginx, PostgreSQL) first check that the strings of argv and environ lie in one piece
 * as the kernel put them, and give up if they don't. In Chromium that lost the roles: processes
 * that a zygote forks kept the zygote's command line.
 *
 * Approach. We leave `environ` alone and add the variable to the array that the call passes to the
 * kernel. system and popen pass `environ` itself, so these two replace it during the call; no title
 * check comes that late. An environment is extended only if it loads a library (LD_PRELOAD):
 * without one the child would not be recorded, and `env -i` shows what it shows without us. The
 * kernel may have to refuse a path or environment that is not known to be readable (readable.h): it
 * is passed on unchanged, and the notice lacks it.
 *
 * Notices. We don't know the new program: it may be static, setuid, or not followed, and then
 * nothing else tells the sidecar that the blocks of this process have gone with its memory. So our
 * slot has a mark until the call returns. A notice names the program: if no ring answers it, the
 * program was not recorded (notice.h). Where the new program would not find the library, its loader
 * would say so on its standard error, and programs that it starts would not find it either: there
 * we remove the library from LD_PRELOAD, and the notice says why.
 *
 * Rejected: appending to `environ` in order (the check wants every string in the block), room in
 * the block (there is none), asking the parent's pid for its session (orphans and pid namespaces
 * have no parent to ask).
 *
 * Not covered. A user that keeps its capabilities until the exec and loses them there (setpriv): it
 * may reach files that its program may not. execve by direct system call, and libc's own callers of
 * exec (wordexp): their children record into a session of their own. The system calls of a loader
 * that finds us behind a filter that no hook has seen: under `shinyctl run`, whose LD_PRELOAD has a
 * word that the loader replaces, it looks up its program's place (readlink).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "../core/env.h"
#include "hooks.h"
#include "../record/notice.h"
#include "../record/process.h"
#include "readable.h"
#include "../core/settings.h"
#include "../core/sys.h"
#include "../record/tid.h"
#include "../record/wait.h"
#include "../unwind/stack.h"

enum { VARIABLES_MAX = 8192 };

static const char name[] = "SHINY_SESSION=";
enum { NAME_BYTES = sizeof(name) - 1 };

/* True if the variable names an inherited session that we could not use, so that our own is another
 * one. */
static bool is_stale(const char *variable)
{
	return si_env.session[0] && si_equal(variable + NAME_BYTES, si_env.session) &&
	       !si_equal(variable, si_session_variable);
}

static const char preload[] = "LD_PRELOAD=", library[] = "libshiny.so";
enum { PRELOAD_BYTES = sizeof(preload) - 1, LIBRARY_BYTES = sizeof(library) - 1 };
enum { OUT_OF_REACH = SHINY_NOTICE_NO_LIBRARY | SHINY_NOTICE_UNREADABLE | SHINY_NOTICE_FILTERED };

/* Advances *at to the next path of the list behind LD_PRELOAD=, and returns its length; 0: the list
 * has ended. */
static size_t entry_bytes(const char **at)
{
	size_t bytes = 0;

	while (**at == ':' || **at == ' ')
		++*at;
	while ((*at)[bytes] && (*at)[bytes] != ':' && (*at)[bytes] != ' ')
		bytes++;
	return bytes;
}

static bool is_library(const char *path, size_t bytes)
{
	return bytes >= LIBRARY_BYTES &&
	       si_same(path + bytes - LIBRARY_BYTES, library, LIBRARY_BYTES);
}

static bool loads_library(const char *list)
{
	size_t bytes;

	for (; (bytes = entry_bytes(&list)); list += bytes)
		if (is_library(list, bytes))
			return true;
	return false;
}

/* Writes `variable` without our library to `to`; NULL: no other path remains. */
static char *without_library(char *to, const char *variable)
{
	const char *list = variable + PRELOAD_BYTES;
	struct si_text t;
	size_t bytes;

	si_text_init(&t, to, SIZE_MAX);
	si_text_add(&t, preload);
	for (; (bytes = entry_bytes(&list)); list += bytes) {
		if (is_library(list, bytes))
			continue;
		if (t.used > PRELOAD_BYTES)
			si_text_add(&t, ":");
		si_text_bytes(&t, list, bytes);
	}
	return t.used > PRELOAD_BYTES ? to : NULL;
}

/* The room that the array for the kernel needs beyond the program's own. */
struct room {
	size_t pointers; /* 0: the program's own array is passed on */
	size_t bytes;    /* of LD_PRELOAD without our library; 0: it stays unchanged */
	bool adds;       /* our session is added */
};

static struct room room_for(char *const *environment, uint32_t told)
{
	struct room room = { 0 };
	bool passes = false;
	size_t n = 0, bytes = 0;

	if (!si_session_variable[0] || !si_readable_strings(environment))
		return room;
	room.adds = true;
	for (; environment[n]; n++) {
		if (si_same(environment[n], name, NAME_BYTES) && !is_stale(environment[n]))
			room.adds = false;
		if (!si_same(environment[n], preload, PRELOAD_BYTES))
			continue;
		passes = true;
		for (bytes = 0; environment[n][bytes]; bytes++)
			;
	}
	room.adds = room.adds && passes;
	room.bytes = told & OUT_OF_REACH ? bytes + 1 : 0;
	room.pointers = (room.adds || room.bytes) && n < VARIABLES_MAX ? n + 2 : 0;
	return room;
}

static char **fill(char **to, char *text, char *const *environment, struct room room)
{
	size_t n = 0;

	for (; *environment; environment++) {
		char *variable = *environment;

		if (room.adds && si_same(variable, name, NAME_BYTES))
			continue;
		if (room.bytes && si_same(variable, preload, PRELOAD_BYTES))
			variable = without_library(text, variable);
		if (variable)
			to[n++] = variable;
	}
	if (room.adds)
		to[n++] = si_session_variable;
	to[n] = NULL;
	return to;
}

/*
 * The memory of such an array. One caller at a time uses this, others the stack, if it is known to
 * have room. A stack that is not known may be a coroutine's, of a page or two; its caller passes on
 * the program's own array.
 */
static struct {
	uintptr_t owner; /* the thread pointer of the user, plus 1 for a vfork child; 0: free */
	char *pointers[VARIABLES_MAX + 2 + SHINY_PATH_MAX / sizeof(char *)];
} array;

static uintptr_t array_owner(void)
{
	uintptr_t storage;

	__asm__("mov %%fs:0, %0" : "=r"(storage));
	return storage + si_tid_is_vforked();
}

static bool array_take(struct room room)
{
	uintptr_t nobody = 0;

	return room.pointers * sizeof(char *) + room.bytes <= sizeof(array.pointers) &&
	       __atomic_compare_exchange_n(&array.owner, &nobody, array_owner(), 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void array_give_back(bool taken)
{
	if (taken)
		__atomic_store_n(&array.owner, 0, __ATOMIC_RELEASE);
}

void si_exec_vfork_over(void)
{
	uintptr_t child = array_owner() + 1;

	__atomic_compare_exchange_n(&array.owner, &child, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool stack_holds(struct room room)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	return si_stack_has_room(
		(const uintptr_t *)(frame - room.pointers * sizeof(char *) - room.bytes));
}

/* The caller defines `taken_`, for array_give_back. */
#define HANDED_DOWN(environment, told)                                                           \
	({                                                                                       \
		char *const *from_ = (environment);                                              \
		struct room room_ = room_for(from_, (told));                                     \
		char **to_ = NULL;                                                               \
		if (room_.pointers && (taken_ = array_take(room_)))                              \
			to_ = array.pointers;                                                    \
		else if (room_.pointers && stack_holds(room_))                                   \
			to_ = __builtin_alloca(room_.pointers * sizeof(char *) + room_.bytes);   \
		to_ ? (char *const *)fill(to_, (char *)(to_ + room_.pointers), from_, room_)     \
		    : from_;                                                                     \
	})

/*
 * Tells whether the new program's loader would find the library; 0: yes, or unknown. If not, the
 * loader complains on the program's standard error. A program that has changed its root or its user
 * may not see the files that this one was started with. A filter may allow exec and no other call,
 * so the probe is the very call that follows: an exec of a path below our file, where no file can
 * be. The kernel answers ENOTDIR once it has reached our file. With a known filter no probe is
 * made: a program that inherits one is not recorded (limits.c), and the filter may end it for the
 * calls by which its loader finds us.
 *
 * posix_spawn, system and popen exec in a child, and a filter that no hook has seen may end the
 * process that probes. So there we probe only if this process has changed what it can reach, and
 * the sidecar says that there is no filter; without its answer the program is started without us.
 */
enum asked_by { BY_EXECVE, BY_EXECVEAT, BY_PARENT };

static uint32_t out_of_reach(enum asked_by by, int directory, int flags)
{
	static const char *const arguments[] = { library, NULL };
	const char *below = si_library_below;
	long why = 0;

	if (si_wait_is_filtered())
		return SHINY_NOTICE_FILTERED;
	if (!below[0] || (by == BY_PARENT && !si_reach_has_changed()))
		return 0;
	if (by == BY_PARENT && !si_wait_unfiltered())
		return SHINY_NOTICE_FILTERED;
	why = by == BY_EXECVEAT ? si_sys6(SYS_execveat, directory, below, arguments, arguments + 1,
					  flags, 0)
				: si_sys(SYS_execve, below, arguments, arguments + 1);
	return why == -ENOENT	? SHINY_NOTICE_NO_LIBRARY
	       : why == -EACCES ? SHINY_NOTICE_UNREADABLE
				: 0;
}

static bool preloads_us(char *const *environment)
{
	for (; *environment; environment++)
		if (si_same(*environment, preload, PRELOAD_BYTES) &&
		    loads_library(*environment + PRELOAD_BYTES))
			return true;
	return false;
}

/* Returns the flags of a notice that depend on the environment. */
static uint32_t flags_of(char *const *environment, enum asked_by by, int directory, int flags)
{
	if (!si_readable_strings(environment))
		return SHINY_NOTICE_UNREAD;
	return preloads_us(environment) ? SHINY_NOTICE_PRELOADS | out_of_reach(by, directory, flags)
					: 0;
}

static struct si_notice notice_of(enum shiny_notice_kind kind, const char *path, uint32_t pid,
				  uint32_t flags)
{
	return si_readable_string(path, SHINY_PATH_MAX)
		       ? si_notice_start(kind, path, pid, flags)
		       : si_notice_start(kind, "", pid, flags | SHINY_NOTICE_UNREAD);
}

/* Wraps a call of exec, which returns only when it failed. */
#define REPLACED_BY(own_flags, path, flags_of_environment, call)                               \
	({                                                                                     \
		uint32_t told = (flags_of_environment);                                        \
		struct si_notice notice_ = notice_of(SHINY_NOTICE_EXEC, (path),                \
						     si_process_number(), (own_flags) | told); \
		if (si_tid_is_vforked())                                                       \
			si_vfork_notice = notice_.number;                                      \
		bool told_ = si_exec_begin(), taken_ = false;                                  \
		int result_ = (call);                                                          \
		array_give_back(taken_);                                                       \
		if (told_)                                                                     \
			si_exec_failed();                                                      \
		si_notice_failed(notice_);                                                     \
		if (si_tid_is_vforked())                                                       \
			si_vfork_notice = 0;                                                   \
		result_;                                                                       \
	})

static int absent(void)
{
	errno = ENOSYS;
	return -1;
}

int si_hook_execve(const char *path, char *const *argv, char *const *environment)
{
	return SI_NEXT(execve)
		       ? REPLACED_BY(0, path, flags_of(environment, BY_EXECVE, 0, 0),
				     si_next.execve(path, argv, HANDED_DOWN(environment, told)))
		       : absent();
}

int si_hook_execvpe(const char *file, char *const *argv, char *const *environment)
{
	return SI_NEXT(execvpe)
		       ? REPLACED_BY(0, file, flags_of(environment, BY_EXECVE, 0, 0),
				     si_next.execvpe(file, argv, HANDED_DOWN(environment, told)))
		       : absent();
}

int si_hook_execv(const char *path, char *const *argv)
{
	return si_hook_execve(path, argv, environ);
}

int si_hook_execvp(const char *file, char *const *argv)
{
	return si_hook_execvpe(file, argv, environ);
}

/* Returns argv[0], which names a program that is started by a descriptor; NULL: it is not
 * readable. */
static const char *first_of(char *const *argv)
{
	return !si_readable_strings(argv) ? NULL : argv[0] ? argv[0] : "";
}

int si_hook_fexecve(int fd, char *const *argv, char *const *environment)
{
	const char *named = first_of(argv);

	return SI_NEXT(fexecve)
		       ? REPLACED_BY(SHINY_NOTICE_BY_DESCRIPTOR, named,
				     flags_of(environment, BY_EXECVEAT, fd, AT_EMPTY_PATH),
				     si_next.fexecve(fd, argv, HANDED_DOWN(environment, told)))
		       : absent();
}

int si_hook_execveat(int directory, const char *path, char *const *argv, char *const *environment,
		     int flags)
{
	bool read = si_readable_string(path, SHINY_PATH_MAX);
	uint32_t by =
		read && directory != AT_FDCWD && *path != '/' ? SHINY_NOTICE_BY_DESCRIPTOR : 0;
	const char *named = read && !*path ? first_of(argv) : path;

	return SI_NEXT(execveat)
		       ? REPLACED_BY(by, named,
				     flags_of(environment, BY_EXECVEAT, directory, flags),
				     si_next.execveat(directory, path, argv,
						      HANDED_DOWN(environment, told), flags))
		       : absent();
}

/* Counts the arguments of an execl: `first`, then those of `list`, with the NULL. It walks `list`,
 * so the caller passes a copy. */
static size_t count_arguments(const char *first, va_list list)
{
	size_t n = 1;

	if (first)
		for (n++; va_arg(list, const char *); n++)
			;
	return n;
}

#define ARGUMENTS(argv, first, list)                             \
	do {                                                     \
		va_list counted_;                                \
		size_t n_ = 0, room_;                            \
		va_copy(counted_, list);                         \
		room_ = count_arguments(first, counted_);        \
		va_end(counted_);                                \
		argv = __builtin_alloca(room_ * sizeof(char *)); \
		argv[n_++] = (char *)(uintptr_t)(first);         \
		while (n_ < room_)                               \
			argv[n_++] = va_arg(list, char *);       \
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

/* libc stores the pid in the caller's own variable before a signal that reports the child can
 * arrive. */
#define SPAWNED(path, call)                                                                \
	({                                                                                 \
		uint32_t told = flags_of(environment, BY_PARENT, 0, 0);                    \
		struct si_notice notice_ = notice_of(SHINY_NOTICE_SPAWN, (path), 0, told); \
		pid_t own_ = 0;                                                            \
		pid_t *at_ = pid ? pid : &own_;                                            \
		bool taken_ = false;                                                       \
		int error_ = (call);                                                       \
		array_give_back(taken_);                                                   \
		if (error_)                                                                \
			si_notice_failed(notice_);                                         \
		else                                                                       \
			si_notice_started(notice_, (uint32_t)*at_);                        \
		error_;                                                                    \
	})

int si_hook_posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attr,
			char *const *argv, char *const *environment)
{
	if (!SI_NEXT(posix_spawn))
		return ENOSYS;
	return SPAWNED(path, si_next.posix_spawn(at_, path, actions, attr, argv,
						 HANDED_DOWN(environment, told)));
}

int si_hook_posix_spawnp(pid_t *pid, const char *file, const void *actions, const void *attr,
			 char *const *argv, char *const *environment)
{
	if (!SI_NEXT(posix_spawnp))
		return ENOSYS;
	return SPAWNED(file, si_next.posix_spawnp(at_, file, actions, attr, argv,
						  HANDED_DOWN(environment, told)));
}

static void hand_down_environ(void)
{
	static char *environment[VARIABLES_MAX + 2];
	struct room room = room_for(environ, 0);

	if (room.pointers)
		environ = fill(environment, NULL, environ, room);
}

/* system and popen start the shell inside libc, and do not return its pid. */
static const char shell[] = "/bin/sh";

/* Wraps a call that starts a shell. Where the shell would not find the library, `environ` is
 * replaced while the call runs. */
#define STARTED(call)                                                                      \
	({                                                                                 \
		uint32_t told = flags_of(environ, BY_PARENT, 0, 0);                        \
		bool taken_ = false;                                                       \
		char **before_ = environ, **during_ = (char **)HANDED_DOWN(environ, told); \
		notice = si_notice_start(SHINY_NOTICE_SPAWN, shell, 0, told);              \
		environ = during_;                                                         \
		__auto_type result_ = (call);                                              \
		if (environ == during_)                                                    \
			environ = before_;                                                 \
		array_give_back(taken_);                                                   \
		result_;                                                                   \
	})

int si_hook_system(const char *command)
{
	struct si_notice notice;
	int status;

	if (!SI_NEXT(system))
		return absent();
	hand_down_environ();
	if (!command)
		return si_next.system(command);
	status = STARTED(si_next.system(command));
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
	pipe = STARTED(si_next.popen(command, mode));
	if (pipe)
		si_notice_started(notice, 0);
	else
		si_notice_failed(notice);
	return pipe;
}
