/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: a program that maps memory in every way, keeps its own book of it, and prints the book:
 * one JSON line a range, then its own sums from /proc/self/smaps, then "ready". It goes on when it
 * reads a line. Between the two it is idle, and whoever looks sees what it printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY_ROOM (64 * 1024)
#include "say.h"

#define KIB 1024ul
#define MIB (1024ul * KIB)
#define HERE __attribute__((noinline))

/* A range of the book. `committed` bytes of it are accessible, `resident` were touched; `function`
 * mapped it, "" none that could be known. */
static void range(const char *what, const void *start, size_t bytes, size_t committed,
		  size_t resident, const char *function, const char *name)
{
	say("{\"kind\":\"range\",\"pid\":%d,\"what\":\"%s\",\"start\":%lu,\"bytes\":%zu,"
	    "\"committed\":%zu,\"resident\":%zu,\"function\":\"%s\",\"name\":\"%s\"}\n",
	    (int)getpid(), what, (unsigned long)start, bytes, committed, resident, function, name);
}

static void gone(const char *what, const void *start, size_t bytes)
{
	say("{\"kind\":\"gone\",\"pid\":%d,\"what\":\"%s\",\"start\":%lu,\"bytes\":%zu}\n",
	    (int)getpid(), what, (unsigned long)start, bytes);
}

static void own_sums(void)
{
	static char smaps[1024 * 1024];
	unsigned long rss = 0, swap = 0, value;
	size_t length = 0;
	ssize_t n;
	int fd = open("/proc/self/smaps", O_RDONLY);

	memset(smaps, 1, sizeof smaps); /* its own pages are there before they are counted */
	while ((n = read(fd, smaps + length, sizeof smaps - 1 - length)) > 0)
		length += (size_t)n;
	close(fd);
	smaps[length] = 0;
	for (char *line = smaps; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (sscanf(line, "Rss: %lu kB", &value) == 1)
			rss += value;
		else if (sscanf(line, "Swap: %lu kB", &value) == 1)
			swap += value;
	}
	say("{\"kind\":\"sums\",\"pid\":%d,\"rss\":%lu,\"swap\":%lu}\n", (int)getpid(), rss * KIB,
	    swap * KIB);
}

static void wait_for_line(const char *phase)
{
	char c;

	own_sums();
	say("{\"kind\":\"ready\",\"phase\":\"%s\"}\n", phase);
	say_all();
	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

/* ---- what maps; the names of these functions are in the book ---- */

static HERE char *memory_reserve(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	__asm__ volatile("" ::: "memory");
	return at;
}

static HERE char *memory_anonymous(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	__asm__ volatile("" ::: "memory");
	return at;
}

static HERE char *memory_file(int fd, void *over, size_t bytes, off_t offset)
{
	char *at = mmap(over, bytes, PROT_READ, MAP_PRIVATE | (over ? MAP_FIXED : 0), fd, offset);

	__asm__ volatile("" ::: "memory");
	return at;
}

static HERE char *memory_shared(int fd, size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	__asm__ volatile("" ::: "memory");
	return at;
}

static HERE char *memory_moved(void *old, size_t old_bytes, void *at, size_t bytes)
{
	char *to = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);

	__asm__ volatile("" ::: "memory");
	return to;
}

/* ---- phases ---- */

static pthread_barrier_t barrier;

static void *threaded(void *argument)
{
	char name[16];

	snprintf(name, sizeof name, "worker-%ld", (long)argument);
	pthread_setname_np(pthread_self(), name);
	say("");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : "/tmp";
	char *reserve, *anonymous, *file, *shared, *moved, *target, path[4096];
	struct mallinfo2 info;
	void *large, *small[2000];
	pthread_t threads[3];
	int fd, memfd;
	pid_t child;

	memset(said, 1, sizeof said);
	if (argc > 2 && !strcmp(argv[2], "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	snprintf(path, sizeof path, "%s/mapped.bin", directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 8 * MIB))
		return 4;

	own_sums(); /* for the first time: what it needs of libc is there when it counts */
	said_bytes = 0;
	/* each range between inaccessible neighbours, so that the kernel joins it with nothing */
	reserve = memory_reserve(64 * MIB);
	mprotect(reserve + MIB, 2 * MIB, PROT_READ | PROT_WRITE);
	memset(reserve + MIB, 1, 512 * KIB);
	anonymous = memory_anonymous(6 * MIB);
	prctl(0x53564d41, 0, (unsigned long)anonymous, 6 * MIB, "test-name");
	memset(anonymous, 1, 6 * MIB);
	file = memory_file(fd, NULL, 4 * MIB, MIB);
	for (size_t i = 0; i < 4 * MIB; i += 4096)
		(void)*(volatile char *)(file + i);
	memfd = memfd_create("test-shared", 0);
	if (ftruncate(memfd, 2 * MIB))
		return 4;
	shared = memory_shared(memfd, 2 * MIB);
	memset(shared, 1, MIB);
	range("reserve", reserve, 64 * MIB, 2 * MIB, 512 * KIB, "memory_reserve", "");
	range("anonymous", anonymous, 6 * MIB, 6 * MIB, 6 * MIB, "memory_anonymous", "test-name");
	range("file", file, 4 * MIB, 4 * MIB, 4 * MIB, "memory_file", "");
	range("shared", shared, 2 * MIB, 2 * MIB, MIB, "memory_shared", "");
	wait_for_line("mapped");

	/* holes, parts, and mappings over mappings */
	munmap(anonymous + MIB, MIB);
	mprotect(anonymous, 256 * KIB, PROT_NONE);
	memory_file(fd, anonymous + 4 * MIB, MIB, 0);
	(void)mmap(reserve + MIB, 256 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0);
	target = memory_reserve(32 * MIB);
	moved = memory_moved(shared, 2 * MIB, target + 8 * MIB, 2 * MIB);
	munmap(file + 2 * MIB, 100); /* as the kernel does: the whole page */
	gone("hole", anonymous + MIB, MIB);
	gone("moved away", shared, 2 * MIB);
	gone("page of the file", file + 2 * MIB, 4096);
	range("left of the hole", anonymous, MIB, MIB - 256 * KIB, MIB, "memory_anonymous",
	      "test-name");
	range("right of the hole", anonymous + 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB,
	      "memory_anonymous", "test-name");
	range("file over it", anonymous + 4 * MIB, MIB, MIB, 0, "memory_file", "");
	range("behind the file", anonymous + 5 * MIB, MIB, MIB, MIB, "memory_anonymous",
	      "test-name");
	range("reserve", reserve, 64 * MIB, 2 * MIB - 256 * KIB, 256 * KIB, "memory_reserve", "");
	range("target, left", target, 8 * MIB, 0, 0, "memory_reserve", "");
	range("moved", moved, 2 * MIB, 2 * MIB, MIB, "memory_moved", "");
	range("target, right", target + 10 * MIB, 22 * MIB, 0, 0, "memory_reserve", "");
	range("file, left", file, 2 * MIB, 2 * MIB, 2 * MIB, "memory_file", "");
	range("file, right", file + 2 * MIB + 4096, 2 * MIB - 4096, 2 * MIB - 4096, 2 * MIB - 4096,
	      "memory_file", "");
	wait_for_line("cut");

	/* what no hook sees: raw calls, malloc's own, threads' stacks */
	/* less than anybody maps afterwards, so that it stays a hole */
	syscall(SYS_munmap, anonymous + 3 * MIB, 64 * KIB);
	syscall(SYS_mprotect, reserve + 8 * MIB, MIB, PROT_READ | PROT_WRITE);
	memset(reserve + 8 * MIB, 1, 64 * KIB);
	large = malloc(5 * MIB);
	/* the kernel lists the block's memory in three areas from here on */
	if (madvise((void *)(((uintptr_t)large | (MIB - 1)) + 1), MIB, MADV_DONTDUMP))
		return 4;
	memset(large, 1, 5 * MIB);
	for (size_t i = 0; i < 2000; i++)
		memset(small[i] = malloc(500), 1, 500);
	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 3; i++) {
		pthread_attr_t attributes;

		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, (size_t)(i + 1) * MIB);
		if (pthread_create(&threads[i], &attributes, threaded, (void *)i))
			return 5;
	}
	pthread_barrier_wait(&barrier);
	gone("by a raw call", anonymous + 3 * MIB, 64 * KIB);
	range("left of the raw call", anonymous + 2 * MIB, MIB, MIB, MIB, "memory_anonymous",
	      "test-name");
	range("right of the raw call", anonymous + 3 * MIB + 64 * KIB, MIB - 64 * KIB,
	      MIB - 64 * KIB, MIB - 64 * KIB, "memory_anonymous", "test-name");
	range("reserve", reserve, 64 * MIB, 3 * MIB - 256 * KIB, 256 * KIB + 64 * KIB,
	      "memory_reserve", "");
	info = mallinfo2();
	say("{\"kind\":\"malloc\",\"live\":%lu,\"in_use\":%lu,\"large\":%lu}\n",
	    5 * MIB + 2000 * 500, (unsigned long)(info.uordblks + info.hblkhd),
	    (unsigned long)large);
	say("{\"kind\":\"stacks\",\"bytes\":[%lu,%lu,%lu]}\n", MIB, 2 * MIB, 3 * MIB);
	wait_for_line("unseen");
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	free(large);
	for (size_t i = 0; i < 2000; i++)
		free(small[i]);

	/* a child has what its parent had, and changes its own only */
	say_all();
	child = fork();
	if (child == 0) {
		munmap(reserve + 32 * MIB, 32 * MIB);
		memset(moved, 2, MIB / 2);
		range("reserve of the child", reserve, 32 * MIB, 3 * MIB - 256 * KIB,
		      256 * KIB + 64 * KIB, "memory_reserve", "");
		range("behind the file", anonymous + 5 * MIB, MIB, MIB, MIB, "memory_anonymous",
		      "test-name");
		gone("by the child", reserve + 32 * MIB, 32 * MIB);
		wait_for_line("forked");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
