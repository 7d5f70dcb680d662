/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_map.c: mappings and the program break, where the program (or its allocator, in another library) calls for them.
 * glibc's own malloc and the loader map without passing here.
 *
 * Runs:      inside, in place of mmap, munmap, …
 * Signals:   as the real functions.
 * Allocates: nothing.
 * Threads:   any.
 *
 * Before the real functions are known the system call is made here, and nothing is looked up: an allocator maps its first pages
 * under a lock, and dlsym allocates when a name does not exist. (Chromium's would wait for itself.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hooks.h"
#include "sys.h"

static int no_such_call(void)
{
	errno = ENOSYS;
	return -1;
}

static long direct(long number, long a, long b, long c, long d, long e, long f)
{
	long result = si_sys6(number, a, b, c, d, e, f);

	if (result > -4096 && result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static void mapped(const uintptr_t *fp, void *at, size_t bytes, int prot, int flags, int fd)
{
	struct shiny_map map = {
		.address = (uintptr_t)at, .bytes = bytes, .prot = (uint32_t)prot, .flags = (uint32_t)flags, .fd = fd,
	};

	if (at != MAP_FAILED)
		si_event_map(fp, SHINY_MAP_MMAP, &map);
}

void *si_hook_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *got = si_next.mmap ? si_next.mmap(at, bytes, prot, flags, fd, offset) :
		(void *)direct(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);

	mapped(SI_FRAME(), got, bytes, prot, flags, fd);
	return got;
}

void *si_hook_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *got = si_next.mmap64 ? si_next.mmap64(at, bytes, prot, flags, fd, offset) :
		(void *)direct(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);

	mapped(SI_FRAME(), got, bytes, prot, flags, fd);
	return got;
}

void *si_hook_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	struct shiny_map map = { .bytes = bytes, .old_address = (uintptr_t)old, .old_bytes = old_bytes, .flags = (uint32_t)flags, .fd = -1 };
	void *target = NULL, *got;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		target = va_arg(more, void *);
		va_end(more);
	}
	got = si_next.mremap ? si_next.mremap(old, old_bytes, bytes, flags, target) :
		(void *)direct(SYS_mremap, (long)old, (long)old_bytes, (long)bytes, flags, (long)target, 0);
	if (got != MAP_FAILED) {
		map.address = (uintptr_t)got;
		si_event_map(SI_FRAME(), SHINY_MAP_MREMAP, &map);
	}
	return got;
}

int si_hook_munmap(void *at, size_t bytes)
{
	struct shiny_map map = { .address = (uintptr_t)at, .bytes = bytes, .fd = -1 };
	int status = si_next.munmap ? si_next.munmap(at, bytes) : (int)direct(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);

	if (status == 0)
		si_event_map(SI_FRAME(), SHINY_MAP_MUNMAP, &map);
	return status;
}

int si_hook_madvise(void *at, size_t bytes, int advice)
{
	struct shiny_map map = { .address = (uintptr_t)at, .bytes = bytes, .prot = (uint32_t)advice, .fd = -1 };
	int status = si_next.madvise ? si_next.madvise(at, bytes, advice) :
		(int)direct(SYS_madvise, (long)at, (long)bytes, advice, 0, 0, 0);

	if (status == 0)
		si_event_map(SI_FRAME(), SHINY_MAP_MADVISE, &map);
	return status;
}

/* The break moved from `from` to `to`: `bytes` is what was gained, `old_bytes` what was given back. */
static void break_moved(const uintptr_t *fp, uintptr_t from, uintptr_t to)
{
	struct shiny_map map = {
		.address = to, .old_address = from, .bytes = to > from ? to - from : 0, .old_bytes = to < from ? from - to : 0, .fd = -1,
	};

	if (to != from)
		si_event_map(fp, SHINY_MAP_BRK, &map);
}

int si_hook_brk(void *end)
{
	uintptr_t from = SI_NEXT(sbrk) ? (uintptr_t)si_next.sbrk(0) : 0; /* no system call: libc remembers it */
	int status = SI_NEXT(brk) ? si_next.brk(end) : no_such_call();

	if (status == 0)
		break_moved(SI_FRAME(), from, (uintptr_t)end);
	return status;
}

void *si_hook_sbrk(intptr_t increment)
{
	void *old = SI_NEXT(sbrk) ? si_next.sbrk(increment) : (no_such_call(), (void *)-1);

	if (old != (void *)-1)
		break_moved(SI_FRAME(), (uintptr_t)old, (uintptr_t)old + (uintptr_t)increment);
	return old;
}
