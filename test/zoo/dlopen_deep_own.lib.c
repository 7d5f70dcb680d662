/* SPDX-License-Identifier: Apache-2.0 */
/* Opened with RTLD_DEEPBIND, it has a malloc and a free of its own, and calls them by name: nobody
 * else's business. */
#include <stddef.h>

static char pool[4096];
static size_t used;
static unsigned long freed;

void *malloc(size_t size)
{
	void *block = pool + used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof pool ? block : NULL;
}
void free(void *block) { freed += (char *)block >= pool && (char *)block < pool + sizeof pool; }

/* How many of its blocks were its own, and were freed by it. */
unsigned long zoo_own_blocks(void)
{
	unsigned long own = 0;

	for (int i = 0; i < 10; i++) {
		char *volatile block = malloc(100);

		own += block >= pool && block < pool + sizeof pool;
		free(block);
	}
	return own + freed;
}
