/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h: system calls, made directly.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * The engine does not call libc's wrappers: the program (or we) may have interposed them, they
 * write errno, and some are cancellation points. A direct call returns -errno and touches nothing
 * else.
 *
 * calls.def lists every call, when it is made, and what a seccomp filter could do about it. After
 * the constructor only the calls marked AFTER there are made; everything else is known without one:
 * a thread's and process's number (tid.h), the time (clock.h: the vdso's answers that never become
 * a call), whether memory may be read (readable.h), where a module's file is (the sidecar completes
 * a relative path).
 *
 * The number stands in the instruction before each call, where scripts/check-calls reads it.
 */
#ifndef SI_SYS_H
#define SI_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base.h"

/* Arguments are evaluated before the registers are loaded: one may contain a call. */
#define SI_SYS_ARGUMENTS(a, b, c, d, e, f)                                        \
	long a_ = (long)(a), b_ = (long)(b), c_ = (long)(c), d_ = (long)(d),      \
	     e_ = (long)(e), f_ = (long)(f), result_;                             \
	register long r10_ __asm__("r10") = d_;                                   \
	register long r8_ __asm__("r8") = e_;                                     \
	register long r9_ __asm__("r9") = f_

#define si_sys6(number, a, b, c, d, e, f)                                          \
	({                                                                         \
		SI_SYS_ARGUMENTS(a, b, c, d, e, f);                                \
		__asm__ volatile("mov %[call], %%eax\n\tsyscall"                   \
				 : "=&a"(result_)                                  \
				 : [call] "i"(number), "D"(a_), "S"(b_), "d"(c_),  \
				   "r"(r10_), "r"(r8_), "r"(r9_)                   \
				 : "rcx", "r11", "memory");                        \
		result_;                                                           \
	})
#define si_sys(number, a, b, c) si_sys6((number), (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* ---- after the constructor ---- */

static inline void si_sys_sleep(uint64_t ns)
{
	struct timespec wait = { .tv_sec = 0, .tv_nsec = (long)ns };

	si_sys6(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wait, 0, 0, 0);
}

/* Makes a system call of the program's in place of libc's function, with any number. */
static inline long si_sys_own(long number, long a, long b, long c, long d, long e, long f)
{
	SI_SYS_ARGUMENTS(a, b, c, d, e, f);

	__asm__ volatile("syscall"
			 : "=a"(result_)
			 : "a"(number), "D"(a_), "S"(b_), "d"(c_), "r"(r10_), "r"(r8_), "r"(r9_)
			 : "rcx", "r11", "memory");
	return result_;
}

/* ---- constructor only ---- */

/* True if the page can be read, without touching it. The kernel copies the new limit before it
 * finds that NO_LIMIT is none: it answers EFAULT or EINVAL (kernel/sys.c, since Linux 2.6.36). */
static inline bool si_sys_readable(uintptr_t page)
{
	enum { NO_LIMIT = 0x7fff };

	return si_sys6(SYS_prlimit64, 0, NO_LIMIT, page, 0, 0, 0) == -EINVAL;
}

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
	return si_sys(SYS_getcwd, buffer, room, 0); /* bytes, including the terminator */
}

static inline int si_sys_open(int dir, const char *path, int flags, unsigned mode)
{
	return (int)si_sys6(SYS_openat, dir, (long)path, flags, (long)mode, 0, 0);
}

static inline void si_sys_close(int fd)
{
	si_sys(SYS_close, fd, 0, 0);
}

/* Maps private or shared memory; NULL if the kernel refuses. */
static inline void *si_sys_map(size_t bytes, int prot, int flags, int fd)
{
	long at = si_sys6(SYS_mmap, 0, (long)bytes, prot, flags, fd, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

static inline void si_sys_unmap(void *at, size_t bytes)
{
	si_sys(SYS_munmap, at, bytes, 0);
}

/* Reads a whole small file and terminates it. Returns its bytes, or -errno. */
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
