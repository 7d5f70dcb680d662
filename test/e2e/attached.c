/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attached [THREADS, default 8, at most 64]: threads allocate and free all the time, and count what
 * they do.
 *
 * Each line of standard input is a command, whose answer is one line of output: "count" is answered
 * when all threads stand still, with the sums so far: allocations, bytes, frees, frees of blocks
 * from before the last "mark", which is answered so, too; "run" lets them go on; "front" puts
 * another table in front of the allocator's, if that is partition_target.cxx's; "end" ends them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void attached_front(void) __attribute__((weak));

enum { THREADS = 64, BLOCKS = 64 };
static int threads = 8;

struct attached_sums {
	unsigned long allocs, bytes, frees, earlier;
};
static struct attached_worker {
	pthread_t thread;
	struct attached_sums sums;
	char *block[BLOCKS];
	int age[BLOCKS];
} workers[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stopping, standing, ending, age = 1;

static void rest(void)
{
	pthread_mutex_lock(&lock);
	standing++;
	pthread_cond_broadcast(&changed);
	while (stopping)
		pthread_cond_wait(&changed, &lock);
	standing--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void drop(struct attached_worker *w, int i)
{
	if (!w->block[i])
		return;
	free(w->block[i]);
	w->block[i] = NULL;
	w->sums.frees++;
	w->sums.earlier += w->age[i] != age;
}

static void *work(void *argument)
{
	struct attached_worker *w = argument;
	unsigned seed = (unsigned)(w - workers) + 1;

	while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
		int i;

		if (__atomic_load_n(&stopping, __ATOMIC_RELAXED))
			rest();
		seed = seed * 1103515245 + 12345;
		i = (int)(seed >> 16) % BLOCKS;
		drop(w, i);
		w->block[i] = malloc(seed >> 20);
		w->age[i] = age;
		w->sums.allocs++;
		w->sums.bytes += seed >> 20;
		if (seed % 7 == 0)
			usleep(100);
	}
	return NULL;
}

static void stand(void)
{
	struct attached_sums all = { 0, 0, 0, 0 };

	pthread_mutex_lock(&lock);
	stopping = 1;
	while (standing < threads)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++) {
		all.allocs += workers[i].sums.allocs;
		all.bytes += workers[i].sums.bytes;
		all.frees += workers[i].sums.frees;
		all.earlier += workers[i].sums.earlier;
	}
	printf("%lu %lu %lu %lu\n", all.allocs, all.bytes, all.frees, all.earlier);
}

static void go(void)
{
	pthread_mutex_lock(&lock);
	stopping = 0;
	pthread_cond_broadcast(&changed);
	while (standing)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	char line[64];
	static char in[256], out[256];

	if (argc > 1)
		threads = atoi(argv[1]);
	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	for (int i = 0; i < threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "count\n"))
			stand();
		else if (!strcmp(line, "mark\n"))
			stand(), age++;
		else if (!strcmp(line, "run\n"))
			go(), puts("runs");
		else if (!strcmp(line, "front\n") && attached_front)
			attached_front(), puts("done");
		else
			break;
	}
	__atomic_store_n(&ending, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&lock);
	stopping = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return 7;
}
