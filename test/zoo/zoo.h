/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo.h: how a program of the zoo makes its own blocks, and tells the truth about them.
 *
 * Runs:      in test programs, which know nothing of Shiny.
 * Signals:   shiny_zoo_alloc and zoo_free may be called where malloc and free may.
 * Allocates: what it is asked for, with malloc.
 * Threads:   any.
 *
 * All of a program's own blocks come out of functions named shiny_zoo_*, which call the allocator
 * themselves, so that a session can tell them from libc's by their call site. `truth` prints one
 * line a process; numbers are since the process began, and blocks that were inherited at a fork
 * count only when they are freed, as frees.
 */
#ifndef ZOO_H
#define ZOO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static struct {
	unsigned long allocs, frees, bytes, live, live_bytes;
	unsigned long forks; /* that lead here */
} zoo;

/* of a block's first word; above it, how many forks led to who made it */
enum { ZOO_SIZE_BITS = 48 };

static inline void zoo_made(void *block, size_t size)
{
	*(volatile size_t *)block = size | zoo.forks << ZOO_SIZE_BITS;
	__atomic_fetch_add(&zoo.allocs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&zoo.bytes, size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&zoo.live, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&zoo.live_bytes, size, __ATOMIC_RELAXED);
}

/* `size` is at least 8. */
static NOINLINE __attribute__((unused)) void *shiny_zoo_alloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		_exit(99);
	zoo_made(block, size);
	return block;
}

static inline void zoo_ended(void *block)
{
	size_t word = *(volatile size_t *)block;

	__atomic_fetch_add(&zoo.frees, 1, __ATOMIC_RELAXED);
	if (word >> ZOO_SIZE_BITS != zoo.forks)
		return;
	__atomic_fetch_sub(&zoo.live, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&zoo.live_bytes, word & ((1ul << ZOO_SIZE_BITS) - 1), __ATOMIC_RELAXED);
}

static NOINLINE __attribute__((unused)) void zoo_free(void *block)
{
	zoo_ended(block);
	free(block);
}

/* In a new process: what the parent did is not what this one did. */
static inline void zoo_forked(void)
{
	zoo.allocs = zoo.frees = zoo.bytes = zoo.live = zoo.live_bytes = 0;
	zoo.forks++;
}

/* Prints the line, without allocating. `process` may be NULL. */
static NOINLINE __attribute__((unused)) void truth(const char *process)
{
	char line[256];
	int length = snprintf(
		line, sizeof(line),
		"truth %s%s%spid=%d allocs=%lu frees=%lu bytes=%lu live=%lu live_bytes=%lu\n",
		process ? "process=" : "", process ? process : "", process ? " " : "",
		(int)getpid(), zoo.allocs, zoo.frees, zoo.bytes, zoo.live, zoo.live_bytes);

	if (write(1, line, (size_t)length) != length)
		_exit(98);
}

#endif
