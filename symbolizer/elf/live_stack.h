/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_stack.h: walks the stacks of the threads of a process that the caller has stopped by ptrace.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: the tracer's.
 */
#ifndef SHINY_LIVE_STACK_H
#define SHINY_LIVE_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct live_stack;

/* Reads the process's list of modules. NULL: it cannot be read. */
struct live_stack *live_stack_open(pid_t pid);
void live_stack_close(struct live_stack *stacks);

/* Called for each frame, innermost first; false ends the walk. */
typedef bool live_stack_fn(void *context, uint64_t pc);
/* True if the walk has reached the thread's first frame, and `each` has returned true for all. */
bool live_stack_walk(struct live_stack *stacks, pid_t tid, live_stack_fn *each, void *context);

#endif
