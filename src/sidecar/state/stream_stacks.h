/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_stacks.h: the stacks that a stream has defined, by their numbers, and the latest one,
 * which the next definition may resemble.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_STREAM_STACKS_H
#define SHINY_STREAM_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

struct ids;
struct raw;
struct space;

enum { STACK_PAGE = 1024, STACK_PAGES = SHINY_STACK_LIMIT / STACK_PAGE };

/* The meaning of a stream's number of a stack. */
struct stream_stack {
	uint32_t stack; /* session-wide id; 0: undefined */
	uint32_t site;  /* index + 1; 0: no block of this stack began in this stream */
};

struct stream_stacks {
	struct stream_stack **pages; /* by number; NULL before the first definition */
	uint64_t latest[SHINY_FRAMES_MAX]; /* this chunk's latest stack, for STACK_LIKE */
	uint32_t count;			   /* of its frames; 0: none, or unknown */
	uint32_t frames[SHINY_FRAMES_MAX]; /* ids of these frames, */
	uint64_t changes;		   /* valid for this value of space.changes */
};

/* Returns the cell of a number; NULL: no stack near it is defined. */
static inline struct stream_stack *stream_stacks_at(const struct stream_stacks *stacks,
						    uint32_t number)
{
	struct stream_stack *page = stacks->pages ? stacks->pages[number / STACK_PAGE] : NULL;

	return page ? &page[number % STACK_PAGE] : NULL;
}

/* Applies a record that defines a stack: converts its frames to ids of the session. False: it
 * refers to a definition that the chunk does not have. */
bool stream_stacks_define(struct stream_stacks *stacks, const struct raw *raw, struct space *space,
			  struct ids *ids);
void stream_stacks_forget(struct stream_stacks *stacks);
void stream_stacks_deinit(struct stream_stacks *stacks);

#endif
