/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.lib.c: counts what a program asks of malloc: to be preloaded behind libshiny.so, and so
 * called for each call that Shiny passes on.
 *
 * Runs: inside a program that is being recorded. Signals: no. Allocates: nothing of its own.
 * Threads: any.
 *
 * Names glibc's functions by their own names (__libc_malloc): nothing has to be looked up, the
 * first call of all is counted like the last. The sums lie in the file that COUNTS names, mapped
 * shared, four numbers: what a process does when nobody can print any more is in them, too, and
 * processes that it starts add to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
	*__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
extern char **environ;

struct counts {
	uint64_t allocs, frees, bytes, failed;
};
static struct counts spare, *counts;

static struct counts *map(void)
{
	struct counts *at = &spare;
	char exe[256];
	long length = syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe);

	/* it is loaded into that as well */
	if (length > 9 && !memcmp(exe + length - 9, "/shinyctl", 9)) {
		counts = at;
		return at;
	}
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "COUNTS=", 7)) {
			int fd = (int)syscall(SYS_open, *e + 7, O_RDWR | O_CLOEXEC);
			void *there = fd < 0 ? MAP_FAILED
					     : (void *)syscall(SYS_mmap, NULL, 4096ul,
							       PROT_READ | PROT_WRITE, MAP_SHARED,
							       fd, 0l);

			if (fd >= 0)
				syscall(SYS_close, fd);
			if (there != MAP_FAILED)
				at = there;
		}
	if (environ) { /* what was counted before it was known where */
		__atomic_fetch_add(&at->allocs, spare.allocs, __ATOMIC_RELAXED);
		__atomic_fetch_add(&at->frees, spare.frees, __ATOMIC_RELAXED);
		__atomic_fetch_add(&at->bytes, spare.bytes, __ATOMIC_RELAXED);
		counts = at;
	}
	return at;
}

static struct counts *of(void)
{
	int saved = errno;
	struct counts *at = counts ? counts : map();

	errno = saved;
	return at;
}

static void *began(void *block, size_t bytes)
{
	struct counts *at = of();

	__atomic_fetch_add(block ? &at->allocs : &at->failed, 1, __ATOMIC_RELAXED);
	if (block)
		__atomic_fetch_add(&at->bytes, bytes, __ATOMIC_RELAXED);
	return block;
}

static void ended(void)
{
	__atomic_fetch_add(&of()->frees, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	return began(__libc_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
	return began(__libc_calloc(count, size), count * size);
}

void free(void *block)
{
	if (block)
		ended();
	__libc_free(block);
}

/* By names of this file's own: a call of malloc's goes to the first library that has one, which is
 * Shiny's. */
static void *resize(void *block, size_t size)
{
	void *moved = __libc_realloc(block, size);

	if (block && (moved || !size))
		ended();
	return moved || size ? began(moved, size) : NULL;
}

static void *align(size_t alignment, size_t size)
{
	return began(__libc_memalign(alignment, size), size);
}

void *realloc(void *block, size_t size)
{
	return resize(block, size);
}

void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(block, bytes);
}

void *memalign(size_t alignment, size_t size)
{
	return align(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return align(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	int saved = errno;
	void *block;

	if (alignment % sizeof block || alignment & (alignment - 1) || !alignment)
		return EINVAL;
	block = align(alignment, size);
	errno = saved;
	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}
