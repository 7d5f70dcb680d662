// SPDX-License-Identifier: Apache-2.0
/*
 * calls_itself.lib.cc: an allocator whose functions call each other by their public names, and so
 * come to whoever interposes them: to be preloaded behind libshiny.so.
 *
 * Runs: inside a program that is being recorded. Signals: no. Allocates: by glibc's malloc.
 * Threads: any.
 */
// build: -fno-builtin
#include <errno.h>
#include <new>
#include <stdlib.h>
#include <string.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}
void free(void *block)
{
	__libc_free(block);
}
void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	void *block = malloc(bytes);
	return block ? memset(block, 0, bytes) : NULL;
}
// glibc's chunks have their size in front, a flag of a mapping of its own in bit 1; another
// library's function of this name may stand in front of glibc's
size_t malloc_usable_size(void *block)
{
	size_t chunk = block ? ((size_t *)block)[-1] : 0;

	return block ? (chunk & ~(size_t)7) - (chunk & 2 ? 16 : 8) : 0;
}
void *realloc(void *block, size_t size)
{
	if (!block)
		return malloc(size);
	if (!size) {
		free(block);
		return NULL;
	}
	size_t old = malloc_usable_size(block);
	void *moved = malloc(size);
	if (!moved)
		return NULL;
	memcpy(moved, block, old < size ? old : size);
	free(block);
	return moved;
}
void *memalign(size_t align, size_t size)
{
	return __libc_memalign(align, size);
}
void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size); // a jump: it looks as if the caller of this one called
}
int posix_memalign(void **out, size_t align, size_t size)
{
	if (align < sizeof(void *) || align & (align - 1))
		return EINVAL;
	void *block = aligned_alloc(align, size);
	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}
void *valloc(size_t size)
{
	return memalign(4096, size);
}
void *pvalloc(size_t size)
{
	return valloc((size + 4095) & ~(size_t)4095);
}
}

static void *or_throw(void *block)
{
	if (!block)
		throw std::bad_alloc();
	return block;
}
void *operator new(size_t size)
{
	return or_throw(malloc(size));
}
void *operator new[](size_t size)
{
	return operator new(size);
}
void *operator new(size_t size, const std::nothrow_t &) noexcept
{
	return malloc(size);
}
void *operator new(size_t size, std::align_val_t align)
{
	return or_throw(aligned_alloc((size_t)align, size));
}
void operator delete(void *block) noexcept
{
	free(block);
}
void operator delete[](void *block) noexcept
{
	operator delete(block);
}
void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}
void operator delete[](void *block, size_t) noexcept
{
	operator delete[](block);
}
