/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates before main, and in exit handlers and destructors, of which the last one tells. */
#include "zoo/zoo.h"

static void *early[10];

__attribute__((constructor(101))) static void before_main(void)
{
	for (int i = 0; i < 10; i++)
		early[i] = shiny_zoo_alloc(100);
}

static void at_exit(void)
{
	zoo_free(early[1]);
	zoo_free(shiny_zoo_alloc(30));
}

__attribute__((destructor(101))) static void last(void)
{
	zoo_free(early[2]);
	shiny_zoo_alloc(60);
	truth(NULL);
}

int main(void)
{
	zoo_free(early[0]);
	atexit(at_exit);
	for (int i = 0; i < 20; i++)
		shiny_zoo_alloc(8);
	return 0;
}
