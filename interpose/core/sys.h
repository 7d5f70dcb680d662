/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h: system calls, made directly.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * The engine does not call libc's wrappers: those are what the program (or we) may have interposed,
 * they write errno, and some are cancellation points. A direct call returns -errno and touches
 * nothing else.
 *
 * In the constructor anything goes: the program has no sandbox yet (unless it was started in one:
 * limits.h). AFTER it a seccomp filter may be in place that ends the program at a call which it
 * does not make itself, and an instruction that no hook sees may have put it there. So after it
 * there are these calls, and no others:
 *
 *   clock_nanosleep   when: the ring is full, or the program waits for a heap snapshot
 *                     (snapshot_moment.h), and the sidecar says that no thread of this process
 *                     has a filter. No filter can forbid it: the thread has stood in the wait since
 *                     before the sidecar looked (wait.c).
 *   mprotect          when: dlopen with RTLD_DEEPBIND has brought a module with read-only
 *                     references. No filter can forbid it: the loader itself has just made the same
 *                     call for the same pages.
 *   execve            when: before the program's own exec, of a path where nothing can be
 *                     (hooks_exec.c). The program is about to make the same call; where a hook has
 *                     seen a filter, ours is not made.
 *
 * What is needed otherwise is known without a call: a thread's and process's number (tid.h), the
 * time (clock.h: the vdso's answers that never become a call), where a module's file is (the
 * sidecar completes a relative path).
 */
#ifndef SI_SYS_H
#define SI_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base.h"

static inline long si_sys6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#define si_sys(number, a, b, c) si_sys6((number), (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* ---- after the constructor ---- */

static inline void si_sys_sleep(uint64_t ns)
{
	struct timespec wait = { .tv_sec = 0, .tv_nsec = (long)ns };

	si_sys6(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wait, 0, 0, 0);
}

/* Whether the page can be read; the page is not touched. The limit does not exist: see
 * readable.c. */
static inline bool si_sys_readable(uintptr_t page)
{
	enum { NO_LIMIT = 0x7fff };

	return si_sys6(SYS_prlimit64, 0, NO_LIMIT, (long)page, 0, 0, 0) == -EINVAL;
}

/* ---- constructor only ---- */

static inline uint32_t si_sys_gettid(void)
{
	long tid = si_sys(SYS_gettid, 0, 0, 0);

	return tid > 0 ? (uint32_t)tid : 0;
}

static inline uint32_t si_sys_getpid(void)
{
	long pid = si_sys(SYS_getpid, 0, 0, 0);

	return pid > 0 ? (uint32_t)pid : 0;
}

static inline long si_sys_getcwd(char *buffer, size_t room)
{
	return si_sys(SYS_getcwd, buffer, room, 0); /* bytes with the terminator */
}

static inline int si_sys_open(int dir, const char *path, int flags, unsigned mode)
{
	return (int)si_sys6(SYS_openat, dir, (long)path, flags, (long)mode, 0, 0);
}

static inline void si_sys_close(int fd)
{
	si_sys(SYS_close, fd, 0, 0);
}

/* Private or shared memory; NULL when refused. */
static inline void *si_sys_map(size_t bytes, int prot, int flags, int fd)
{
	long at = si_sys6(SYS_mmap, 0, (long)bytes, prot, flags, fd, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

static inline void si_sys_unmap(void *at, size_t bytes)
{
	si_sys(SYS_munmap, at, bytes, 0);
}

/* A whole small file, terminated; bytes, or -errno. */
static inline long si_sys_read_file(const char *path, char *buffer, size_t room)
{
	int fd = si_sys_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	long n;

	if (fd < 0)
		return fd;
	n = si_sys(SYS_read, fd, buffer, room - 1);
	si_sys_close(fd);
	if (n >= 0)
		buffer[n] = 0;
	return n;
}

#endif
