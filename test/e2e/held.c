/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c: a program that holds the lock of its memory map nearly all the time: a thread of it
 * changes the protection of 65,536 pages again and again. It allocates meanwhile, forks, and prints
 * what it
 * allocated: `process PID PARENT ALLOCS`, of its children too.
 *
 *   held ROUNDS   so many changes; after each, an allocation and a free, after every tenth a child
 * libs: -pthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (UINT64_C(256) << 20)

static volatile unsigned long rounds, done;
static char *pages;

static __attribute__((noinline, noclone)) void *held_alloc(size_t bytes)
{
	void *block = malloc(bytes);

	*(volatile char *)block = 1;
	return block;
}

/* Pages of zeros, all the same one: what is large is the table of them. */
static void map_pages(void)
{
	pages = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED || madvise(pages, BYTES, MADV_NOHUGEPAGE))
		abort();
	for (size_t i = 0; i < BYTES; i += 4096)
		(void)*(volatile char *)(pages + i);
}

static void *hold(void *nothing)
{
	(void)nothing;
	for (; done < rounds; done++)
		if (mprotect(pages, BYTES, done % 2 ? PROT_READ : PROT_READ | PROT_WRITE))
			abort();
	return NULL;
}

static void report(unsigned long allocs)
{
	char text[100];
	int length = snprintf(text, sizeof(text), "process %d %d %lu\n", (int)getpid(),
			      (int)getppid(), allocs);

	if (write(1, text, (size_t)length) != length)
		abort();
}

static void child(void)
{
	munmap(pages, BYTES); /* else each end of a child takes as long as a fork */
	for (unsigned i = 0; i < 5; i++)
		free(held_alloc(32));
	report(5);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long allocs = 0;
	pthread_t holder;

	if (argc != 2)
		return 2;
	rounds = strtoul(argv[1], NULL, 10);
	map_pages();
	if (pthread_create(&holder, NULL, hold, NULL))
		return 1;
	for (unsigned long seen = 0, now; (now = done) < rounds; seen = now) {
		if (now == seen)
			continue;
		free(held_alloc(64));
		allocs++;
		if (allocs % 10 == 0 && fork() == 0)
			child();
	}
	pthread_join(holder, NULL);
	while (wait(NULL) > 0)
		;
	report(allocs);
	return 0;
}
