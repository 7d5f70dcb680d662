/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_exit: threads that fill a small ring, wait for room in it, get it, and die with their
 * process at once. What they wrote last stands in chunks that the sidecar has not seen when it
 * learns of the death.
 */
// zoo: SHINY_RING=1m
#include <pthread.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

enum { CHILDREN = 25, THREADS = 6, PAIRS = 9000, KEPT = 7 };

static void *burst(void *unused)
{
	(void)unused;
	for (int i = 0; i < PAIRS; i++)
		zoo_free(shiny_zoo_alloc(16 + (size_t)(i % 50)));
	for (int i = 0; i < KEPT; i++)
		shiny_zoo_alloc(64);
	return NULL;
}

int main(void)
{
	for (int c = 0; c < CHILDREN; c++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			pthread_t threads[THREADS];
			char name[16];

			zoo_forked();
			for (int t = 0; t < THREADS; t++)
				if (pthread_create(&threads[t], NULL, burst, NULL))
					_exit(97);
			for (int t = 0; t < THREADS; t++)
				pthread_join(threads[t], NULL);
			snprintf(name, sizeof(name), "child%d", c);
			truth(name);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	truth("parent");
	return 0;
}
