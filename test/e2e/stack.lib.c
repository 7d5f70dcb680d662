/* SPDX-License-Identifier: Apache-2.0 */
/* A module that allocates (stack.c). */
#include <stdlib.h>

void *stack_allocate(size_t bytes);
void *stack_allocate(size_t bytes)
{
	void *block = malloc(bytes);

	return block ? block : NULL;
}
