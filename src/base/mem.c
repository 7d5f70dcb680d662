/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c: see mem.h. */
#define _GNU_SOURCE
#include "mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *there(void *memory)
{
	static const char message[] = "shinyctl: out of memory\n";

	if (!memory) {
		if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
			_exit(5);
		_exit(4);
	}
	return memory;
}

/* Asks for huge pages for the 2 MiB ranges that lie wholly inside the block, before anything
 * touches them: faulting in 2 MiB by 4 KiB takes several times as long. It costs the unused end of
 * the last huge page. */
enum { LARGE = 2 * MEM_HUGE };

static void *large(void *memory, size_t bytes)
{
	uintptr_t first = ((uintptr_t)there(memory) + MEM_HUGE - 1) & -(uintptr_t)MEM_HUGE;
	uintptr_t end = ((uintptr_t)memory + bytes) & -(uintptr_t)MEM_HUGE;

	if (bytes >= LARGE)
		madvise((void *)first, end - first, MADV_HUGEPAGE); /* advice, as below */
	return memory;
}

void *mem_alloc(size_t bytes)
{
	return large(malloc(bytes ? bytes : 1), bytes);
}

void *mem_zero(size_t count, size_t each)
{
	return large(calloc(count ? count : 1, each ? each : 1), count * each);
}

/* Large blocks are not reallocated: realloc would copy into pages before MADV_HUGEPAGE applies to
 * them. */
void *mem_resize(void *old, size_t count, size_t each)
{
	size_t bytes = count * each, had;
	void *larger;

	if (count <= LARGE / (each ? each : 1) || count > SIZE_MAX / each)
		return there(reallocarray(old, count ? count : 1, each ? each : 1));
	larger = mem_alloc(bytes);
	had = old ? malloc_usable_size(old) : 0;
	if (had)
		memcpy(larger, old, had < bytes ? had : bytes);
	free(old);
	return larger;
}

/* Growing copies into memory that was never touched, which costs more than the copying: 1.6 us for
 * 4 KiB, and 12 us where the host of a virtual machine has to find the page (bench/README.md). */
size_t mem_room(size_t room, size_t each)
{
	enum { FIRST = 8, MANY_BYTES = 1 << 20 };

	return !room ? FIRST : room * (room * each < MANY_BYTES ? 2 : 4);
}

void *mem_reach(void *table, size_t *room, size_t index, size_t each, size_t least)
{
	size_t larger = *room ? *room : least;

	if (index < *room)
		return table;
	while (larger <= index)
		larger *= 2;
	table = mem_resize(table, larger, each);
	memset((char *)table + *room * each, 0, (larger - *room) * each);
	*room = larger;
	return table;
}

void *mem_pages(size_t bytes)
{
	size_t align = bytes >= MEM_HUGE ? MEM_HUGE : 0, before;
	char *at = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	there(at == MAP_FAILED ? NULL : at);
	if (!align)
		return at;
	before = -(uintptr_t)at & (align - 1);
	if (before)
		munmap(at, before);
	munmap(at + before + bytes, align - before);
	madvise(at + before, bytes, MADV_HUGEPAGE); /* advice: without it, access is only slower */
	return at + before;
}

void mem_pages_free(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}

char *mem_text(const char *text)
{
	return there(strdup(text));
}

char *mem_format_list(const char *format, va_list args)
{
	char *text = NULL;

	return there(vasprintf(&text, format, args) < 0 ? NULL : text);
}

char *mem_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = mem_format_list(format, args);
	va_end(args);
	return text;
}

FILE *mem_stream_open(char **text, size_t *bytes)
{
	return there(open_memstream(text, bytes));
}

void mem_stream_close(FILE *stream)
{
	int failed = ferror(stream);

	if (fclose(stream) != 0 || failed)
		there(NULL);
}
