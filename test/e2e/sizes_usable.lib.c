/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes_usable.lib.c: loaded below Shiny, adds up what glibc made of every request, and at the end
 * appends to the file that SIZES_USABLE names:
 *   pid blocks bytes usable
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t),
	*(*real_realloc)(void *, size_t);
static atomic_ulong blocks, bytes, usable;

static void *count(void *block, size_t size)
{
	if (block) {
		atomic_fetch_add(&blocks, 1);
		atomic_fetch_add(&bytes, size);
		atomic_fetch_add(&usable, malloc_usable_size(block));
	}
	return block;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	if (!real_malloc)
		*(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
	return count(real_malloc(size), size);
}

__attribute__((visibility("default"))) void *calloc(size_t each, size_t number)
{
	if (!real_calloc)
		/* calls no calloc itself, where it finds what it is asked for */
		*(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
	return count(real_calloc(each, number), each * number);
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
	if (!real_realloc)
		*(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
	block = real_realloc(block, size);
	return size ? count(block, size) : block;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("SIZES_USABLE");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	char text[128];

	snprintf(text, sizeof text, "%d %lu %lu %lu\n", (int)getpid(), blocks, bytes, usable);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}
