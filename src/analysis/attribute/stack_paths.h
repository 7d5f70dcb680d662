/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_paths.h: the frames of each stack of a session, and the functions of each frame, inline
 * functions expanded. Used by call_stacks.h and src/view's profile.h.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes a function of a frame, 4 a frame of a stack, and each
 * name once (mem.h). Threads: one a store.
 *
 * Names come from query_text(): they have no control characters.
 */
#ifndef SHINY_STACK_PATHS_H
#define SHINY_STACK_PATHS_H

#include "../../base/mem.h"
#include "../../base/texts.h"
#include "../../store/store.h"

struct path_function { /* a function of a frame */
	uint32_t frame;
	uint32_t name; /* text number; "module+0x1f3" if it has no name */
	uint32_t nameless; /* text number: "module (no names)", or its file or directory in place of
			    * the module, if it has no name; else "" */
	uint32_t file; /* text number; "": unknown */
	uint32_t line; /* 0: unknown */
	uint32_t function, source; /* ids; 0: unknown */
};
struct path_frame {
	uint32_t first, count; /* of `functions`: the innermost inline function first */
	uint32_t module;       /* id of table module; 0: none */
	uint64_t vaddr;	       /* return address in the module's file */
};
struct path_stack {
	size_t first;
	uint32_t count; /* of `path`: frames, innermost first */
};

struct stack_paths { /* zeroed: empty */
	struct texts texts;
	VEC(struct path_function) functions;
	VEC(uint32_t) path;	   /* frame ids */
	struct path_frame *frames; /* indexed by id */
	struct path_stack *stacks; /* indexed by id; [0] has no frames */
	size_t frame_limit, stack_limit;
	uint64_t depth; /* most frames recorded of a stack; 0: unknown */
};

/* On failure, call stack_paths_deinit() too. */
SHINY_MUST_CHECK struct shiny_err *stack_paths_load(struct store *store, struct stack_paths *out);
void stack_paths_deinit(struct stack_paths *paths);

static inline const char *stack_paths_text(const struct stack_paths *paths, uint32_t text)
{
	return paths->texts.at[text];
}

/* True if the stack has as many frames as were recorded: its outermost callers are missing. */
static inline bool stack_paths_cut(const struct stack_paths *paths, uint32_t stack)
{
	return paths->depth && paths->stacks[stack].count >= paths->depth;
}
/* Returns the text for the missing callers; the caller frees it. */
char *stack_paths_cut_name(const struct stack_paths *paths);

/* The functions of a stack: indexes of `functions`, innermost first. Each walk replaces them. */
struct path_walk { /* zeroed: empty; free `at` after use */
	uint32_t *at;
	size_t count, room;
};
void stack_paths_walk(const struct stack_paths *paths, uint32_t stack, struct path_walk *out);

#endif
