/* SPDX-License-Identifier: Apache-2.0 */
// zoo: attach=none SHINY_ALLOCATOR=off
/* Has an allocator of its own, which is no PartitionAlloc: to be left alone, as it is told not to
 * patch it. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Alignas(16) char pool[1 << 22];
static size_t used;

void *malloc(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);

	if (size > sizeof(pool) || at > sizeof(pool) - size - 32) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(pool + at, &size, sizeof(size));
	return pool + at + 16;
}

void free(void *block)
{
	if (block && ((uintptr_t)block < (uintptr_t)pool ||
		      (uintptr_t)block >= (uintptr_t)pool + sizeof(pool)))
		__builtin_trap();
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* the pool is never used twice */
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t old = 0;

	if (block && moved) {
		memcpy(&old, (char *)block - 16, sizeof(old));
		memcpy(moved, block, old < size ? old : size);
	}
	return moved;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++) {
		char *block = strdup("libc's blocks are ours too");
		sum += block[0] == 'l';
		free(block);
	}
	printf("own malloc: %d\n", sum);
	return 0;
}
