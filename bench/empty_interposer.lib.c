/* SPDX-License-Identifier: Apache-2.0 */
/*
 * empty_interposer.lib.c: the least that any preloaded library costs: its own malloc and free that
 * do nothing but call the real ones. calloc and realloc stay glibc's: the benches do not call them
 * on their path.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);

__attribute__((constructor(101))) static void find(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t size)
{
	if (__builtin_expect(!real_malloc, 0))
		find();
	return real_malloc(size);
}

void free(void *block)
{
	if (__builtin_expect(!real_free, 0))
		find();
	real_free(block);
}
