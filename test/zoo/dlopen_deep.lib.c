/* SPDX-License-Identifier: Apache-2.0 */
// build: -Wl,-z,lazy
/* Opened with RTLD_DEEPBIND: malloc and free are libc's here, whoever else has some. References of
 * all kinds, bound at their first call. */
#include <stdlib.h>
#include <string.h>

void *(*const zoo_make)(size_t) = malloc; /* a pointer in data that the loader makes read-only */

void *shiny_zoo_deep_alloc(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block)); /* no tail call: the call site is here */
	return block;
}
void *shiny_zoo_deep_pointer(size_t size)
{
	void *block = zoo_make(size);

	__asm__ volatile("" : "+r"(block));
	return block;
}
void *shiny_zoo_deep_grow(void *block, size_t size)
{
	block = realloc(block, size);
	__asm__ volatile("" : "+r"(block));
	return block;
}
void zoo_deep_free(void *block) { free(block); }
