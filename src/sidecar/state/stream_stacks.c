/* SPDX-License-Identifier: Apache-2.0 */
/* stream_stacks.c: see stream_stacks.h. */
#include "stream_stacks.h"

#include <stdlib.h>

#include "../../base/mem.h"

void stream_stacks_define(struct stream_stacks *stacks, uint32_t number, uint32_t stack)
{
	struct stream_stack **page;

	if (!stacks->pages)
		stacks->pages = mem_zero(STACK_PAGES, sizeof(*stacks->pages));
	page = &stacks->pages[number / STACK_PAGE];
	if (!*page)
		*page = mem_zero(STACK_PAGE, sizeof(**page));
	(*page)[number % STACK_PAGE] = (struct stream_stack){ .stack = stack };
}

void stream_stacks_forget(struct stream_stacks *stacks)
{
	for (size_t i = 0; stacks->pages && i < STACK_PAGES; i++) {
		free(stacks->pages[i]);
		stacks->pages[i] = NULL;
	}
}

void stream_stacks_deinit(struct stream_stacks *stacks)
{
	stream_stacks_forget(stacks);
	free(stacks->pages);
}
