/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that end while others run: their TLS destructors free what they held, and one of these
 * allocates again. */
#define _GNU_SOURCE
#include <pthread.h>

#include "zoo/zoo.h"

enum { THREADS = 8, ROUNDS = 25, HELD = 64 };
static pthread_key_t held, again;

static void free_held(void *value)
{
	void **block = value;

	for (int i = 1; i < HELD; i++)
		zoo_free(block[i]);
	/* makes the destructors go round once more */
	pthread_setspecific(again, shiny_zoo_alloc(512));
	zoo_free(block);
}

static void *work(void *how)
{
	void **block = shiny_zoo_alloc(HELD * sizeof(void *));

	for (int i = 1; i < HELD; i++)
		block[i] = shiny_zoo_alloc((size_t)i * 8);
	*(volatile size_t *)block = HELD * sizeof(void *);
	pthread_setspecific(held, block);
	if (how)
		pthread_exit(how);
	return how;
}

int main(void)
{
	pthread_t thread[THREADS];
	void *result;

	pthread_key_create(&held, free_held);
	pthread_key_create(&again, zoo_free);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&thread[i], NULL, work, i & 1 ? &thread[i] : NULL))
				return 1;
		for (int i = 0; i < THREADS; i++)
			if (pthread_join(thread[i], &result) ||
			    result != (i & 1 ? (void *)&thread[i] : NULL))
				return 2;
	}
	shiny_zoo_alloc(8);
	truth(NULL);
	return 0;
}
