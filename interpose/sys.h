/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h: system calls, made directly.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * The engine does not call libc's wrappers: those are what the program (or we) may have interposed, they write errno, and some
 * are cancellation points. A direct call returns -errno and touches nothing else.
 *
 * In the constructor anything goes: the program has no sandbox yet. AFTER it, these and no others, each rare:
 *
 *   call              when                                              if seccomp denies it
 *   gettid            a thread's first event                            tid 0 in its slot: the sidecar cannot tell its end from
 *                                                                       its process's, and reaps it then
 *   getpid            first event of a forked child                     pid 0 in its slot: likewise, by the arena's lock
 *                     the process ends                                  its last types are not read
 *                     a call of exec                                    the sidecar is not told that the process was replaced, nor
 *                                                                       which pid the program has that it becomes
 *   clock_nanosleep   the arena is full and a sidecar is alive          the wait spins; its bound is checked by the clock
 *   clock_gettime     the same; every event where the TSC is unusable   answered by the vdso, which seccomp does not see
 *   getcwd            dlopen of a relative path                         the path stays relative
 *   mprotect          dlopen with RTLD_DEEPBIND has brought a module    its calls of malloc and free are not seen; the loader
 *                     with read-only references                         itself has just made the same call for the same pages
 *
 * All of them are allowed in Chromium's renderer sandbox (gettid, getpid and sleeping are what any thread does).
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

static inline void si_sys_sleep(uint64_t ns)
{
	struct timespec wait = { .tv_sec = 0, .tv_nsec = (long)ns };

	si_sys6(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wait, 0, 0, 0);
}

static inline long si_sys_getcwd(char *buffer, size_t room)
{
	return si_sys(SYS_getcwd, buffer, room, 0); /* bytes with the terminator */
}

/* ---- constructor only ---- */

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
