/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_libc.c: libc's allocator by its other names: __libc_malloc, __libc_free, …
 *
 * Runs: inside, in place of those. Signals: as malloc and free. Allocates: the blocks that the
 * program requests. Threads: any.
 *
 * A program may allocate a block by one name and free it by the other, so both record. The usual
 * caller is another malloc or operator that is built on libc's. If that is the function below our
 * malloc, our hook of malloc records the block already: calls from its module pass through. If it
 * is in the executable, or in a library that is not reached through us, these hooks record its
 * blocks.
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <string.h>

#include "../unwind/symbols.h"

bool si_is_from_below(const uintptr_t *fp)
{
	const uintptr_t below[] = { si_unguarded((uintptr_t)si_next.malloc),
				    si_unguarded((uintptr_t)si_next.free),
				    (uintptr_t)si_next.new };
	struct dl_find_object caller;
	uintptr_t start, bytes;

	if (si_nested(fp))
		return true;
	if (_dl_find_object((void *)fp[1], &caller) != 0)
		return false;
	start = (uintptr_t)caller.dlfo_map_start;
	bytes = (uintptr_t)caller.dlfo_map_end - start;
	if ((uintptr_t)si_bump - start < bytes) /* the function below us ends in a jump */
		return true;
	for (unsigned i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (below[i] - start < bytes)
			return true;
	return false;
}

static void *made(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	if (block && !si_is_from_below(fp))
		si_event_alloc(fp, block, size, api);
	return block;
}

void *si_hook_libc_malloc(size_t size)
{
	void *block = SI_NEXT(libc_malloc) ? si_next.libc_malloc(size) : si_next.malloc(size);

	return made(SI_FRAME(), block, size, SHINY_API_MALLOC);
}

void *si_hook_libc_calloc(size_t count, size_t size)
{
	void *block = SI_NEXT(libc_calloc) ? si_next.libc_calloc(count, size)
					   : si_next.calloc(count, size);

	return made(SI_FRAME(), block, count * size, SHINY_API_CALLOC);
}

void *si_hook_libc_memalign(size_t align, size_t size)
{
	void *block = SI_NEXT(libc_memalign) ? si_next.libc_memalign(align, size) : NULL;

	return made(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

void *si_hook_libc_valloc(size_t size)
{
	void *block = SI_NEXT(libc_valloc) ? si_next.libc_valloc(size) : NULL;

	return made(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

void *si_hook_libc_pvalloc(size_t size)
{
	void *block = SI_NEXT(libc_pvalloc) ? si_next.libc_pvalloc(size) : NULL;

	return made(SI_FRAME(), block, size, SHINY_API_MEMALIGN);
}

static void free_by_libc(void *block)
{
	if (SI_NEXT(libc_free))
		si_next.libc_free(block);
	else
		si_next.free(block);
}

void si_hook_libc_free(void *block)
{
	const uintptr_t *fp = SI_FRAME();

	if (!block || si_bump_owns(block))
		return;
	if (si_is_from_below(fp) || si_event_free(fp, block, 0, SHINY_API_FREE, free_by_libc))
		free_by_libc(block);
}

/* Moves a block as libc's realloc does: the function called malloc may be another library's. */
static void *move_in_libc(const uintptr_t *fp, void *block, size_t size)
{
	size_t (*usable)(void *) = si_symbol_in(si_libc(), "malloc_usable_size");
	size_t old = usable ? usable(block) : size;
	void *moved = si_next.libc_malloc(size);

	if (!moved)
		return NULL;
	memcpy(moved, block, old < size ? old : size);
	si_event_alloc(fp, moved, size, SHINY_API_REALLOC);
	if (si_event_free(fp, block, 0, SHINY_API_REALLOC, free_by_libc))
		free_by_libc(block);
	return moved;
}

void *si_hook_libc_realloc(void *block, size_t size)
{
	const uintptr_t *fp = SI_FRAME();

	if (!SI_NEXT(libc_realloc))
		return si_hook_realloc(block, size);
	if (si_is_from_below(fp))
		return si_next.libc_realloc(block, size);
	return si_realloc_at(fp, block, size, si_next.libc_realloc, move_in_libc);
}
