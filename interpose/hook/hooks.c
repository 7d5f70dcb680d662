/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c: the C allocation family.
 *
 * Runs: inside, in place of malloc, free, … Signals: as the real functions: a handler that
 * interrupts one may call another. Allocates: the blocks that the program requests. Threads: any.
 *
 * Each hook calls the function below it with its own arguments and records the result, so the
 * corner cases (zero sizes, alignments that are refused, overflow) are the real allocator's own.
 * There are two exceptions, because glibc's version calls another hooked function by name, and the
 * block would seem to be libc's: reallocarray is realloc after an overflow check here, and cfree,
 * free_sized, free_aligned_sized are free where the system lacks them.
 *
 * realloc(block, 0) is recorded as a free, and its result, if not NULL, as a new block: glibc and
 * tcmalloc free and return NULL, jemalloc and mimalloc return a small block, and both are recorded
 * correctly without knowing which of them is below.
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <errno.h>
#include <string.h>

void si_release(void *block)
{
	si_next.free(block);
}

void *si_hook_malloc(size_t size)
{
	const uintptr_t *fp = SI_FRAME();

	return si_record_alloc(fp, si_next.malloc(size), size, SHINY_API_MALLOC);
}

void *si_hook_calloc(size_t count, size_t size)
{
	const uintptr_t *fp = SI_FRAME();

	return si_record_alloc(fp, si_next.calloc(count, size), count * size, SHINY_API_CALLOC);
}

static inline __attribute__((always_inline)) void free_at(const uintptr_t *fp, void *block,
							  size_t claimed)
{
	if (!block || __builtin_expect(si_bump_owns(block), 0))
		return;
	if (si_record_free(fp, block, claimed, SHINY_API_FREE))
		si_next.free(block);
}

void si_hook_free(void *block)
{
	free_at(SI_FRAME(), block, 0);
}

/* The call of the program's own function comes last, so that it becomes a jump: a hook of that
 * function sees the caller, not us. */
void si_hook_cfree(void *block)
{
	if (!si_public_free)
		free_at(SI_FRAME(), block, 0);
	else
		si_public_free(block);
}

void si_hook_free_sized(void *block, size_t size)
{
	if (!si_public_free)
		free_at(SI_FRAME(), block, size);
	else
		si_public_free(block);
}

void si_hook_free_aligned_sized(void *block, size_t align, size_t size)
{
	(void)align;
	if (!si_public_free)
		free_at(SI_FRAME(), block, size);
	else
		si_public_free(block);
}

/* Moves the block by hand, as the nursery's reader holds the old block and cannot be waited for;
 * the reader frees it. */
static __attribute__((noinline, cold)) void *realloc_by_hand(const uintptr_t *fp, void *block,
							     size_t size)
{
	size_t old = si_next.malloc_usable_size(block);
	void *moved = si_next.malloc(size);

	if (!moved)
		return NULL;
	memcpy(moved, block, old < size ? old : size);
	si_event_alloc(fp, moved, size, SHINY_API_REALLOC);
	if (si_event_free(fp, block, 0, SHINY_API_REALLOC, si_release))
		si_next.free(block);
	return moved;
}

static __attribute__((noinline)) void *realloc_zero(const uintptr_t *fp, void *block,
						    void *(*real)(void *, size_t))
{
	void *left;

	if (!si_record_free(fp, block, 0, SHINY_API_REALLOC))
		return NULL;
	left = real(block, 0);
	return si_record_alloc(fp, left, 0, SHINY_API_REALLOC);
}

static void *realloc_bump(const uintptr_t *fp, void *block, size_t size)
{
	size_t old = si_bump_size(block);
	void *moved = si_next.malloc(size);

	if (moved)
		memcpy(moved, block, old < size ? old : size);
	return si_record_alloc(fp, moved, size, SHINY_API_REALLOC);
}

/* `real` is the function that the program called; `by_hand` does the same where the old block must
 * outlive the call. */
static inline __attribute__((always_inline)) void *realloc_at(const uintptr_t *fp, void *block,
							      size_t size,
							      void *(*real)(void *, size_t),
							      si_realloc_fn *by_hand)
{
	void *moved;

	if (!block)
		return si_record_alloc(fp, real(NULL, size), size, SHINY_API_REALLOC);
	if (__builtin_expect(si_bump_owns(block), 0))
		return realloc_bump(fp, block, size);
	if (__builtin_expect(size == 0, 0))
		return realloc_zero(fp, block, real);
	if (__builtin_expect(si_nested(fp), 0))
		return real(block, size);
	if (__builtin_expect(!si_event_realloc_begin(fp, block, size, SHINY_API_REALLOC), 0))
		return by_hand(fp, block, size);
	moved = real(block, size);
	if (moved)
		si_event_realloc_done(fp, moved, size, SHINY_API_REALLOC);
	else
		si_event_realloc_failed(fp);
	return moved;
}

void *si_hook_realloc(void *block, size_t size)
{
	return realloc_at(SI_FRAME(), block, size, si_next.realloc, realloc_by_hand);
}

void *si_hook_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (si_public_realloc)
		return si_public_realloc(block, bytes);
	return realloc_at(SI_FRAME(), block, bytes, si_next.realloc, realloc_by_hand);
}

/* Fails with ENOMEM, for a function that no library below has; glibc has all of these. */
static void *missing(void)
{
	errno = ENOMEM;
	return NULL;
}

void *si_hook_memalign(size_t align, size_t size)
{
	void *block = SI_NEXT(memalign) ? si_next.memalign(align, size) : missing();

	return si_record_alloc(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

void *si_hook_aligned_alloc(size_t align, size_t size)
{
	void *block = SI_NEXT(aligned_alloc) ? si_next.aligned_alloc(align, size) : missing();

	return si_record_alloc(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

int si_hook_posix_memalign(void **out, size_t align, size_t size)
{
	int error = SI_NEXT(posix_memalign) ? si_next.posix_memalign(out, align, size) : ENOMEM;

	if (error == 0)
		si_record_alloc(SI_FRAME(), *out, size, SHINY_API_MEMALIGN);
	return error;
}

void *si_hook_valloc(size_t size)
{
	void *block = SI_NEXT(valloc) ? si_next.valloc(size) : missing();

	return si_record_alloc(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

void *si_hook_pvalloc(size_t size)
{
	void *block = SI_NEXT(pvalloc) ? si_next.pvalloc(size) : missing();

	return si_record_alloc(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

void *si_realloc_at(const uintptr_t *fp, void *block, size_t size, void *(*real)(void *, size_t),
		    si_realloc_fn *by_hand)
{
	return realloc_at(fp, block, size, real, by_hand);
}

size_t si_hook_malloc_usable_size(void *block)
{
	if (__builtin_expect(si_bump_owns(block), 0))
		return si_bump_size(block);
	return si_next.malloc_usable_size(block);
}
