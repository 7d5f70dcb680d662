/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_target.h: looks whether libshiny.so can be loaded into a process that runs, finds the
 * functions to call there, and a thread and moment for the call.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: the tracer's.
 *
 * The process must use the very file of the C library that shinyctl uses: then the functions lie
 * where they do here, and no symbol of a stranger's file is believed. A thread is chosen whose
 * whole stack is known, and none of whose frames lies in the loader, in us, or in a function of
 * libc's that may hold a lock which loading needs, or may be needed after it: the allocator's,
 * the loader's, fork and exit. If the executable has an allocator, whose functions may be inlined
 * anywhere, the thread must wait in the kernel, in no call that an allocator makes. The other
 * threads run on meanwhile, so locks that they hold are given back.
 */
#ifndef SHINY_ATTACH_TARGET_H
#define SHINY_ATTACH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/attaching.h>

#include "../../base/err.h"
#include "../../base/mem.h"
#include "../../base/program.h"
#include "../../sidecar/snapshot/tracee.h"

struct attach_mapping {
	uint64_t start, end;
};
struct attach_target {
	pid_t pid;
	char library[PROGRAM_PATH];
	struct attach_mapping libc, loader, ours; /* ours: empty if it is not there */
	uint64_t bias; /* of libc there against here */
	char program[PROGRAM_PATH]; /* the executable, and what is known of its file */
	struct program_look look;
	VEC(struct attach_mapping) mappings;
};

/* Reads what can be known without touching the process; an error says why it can't be attached. */
SHINY_MUST_CHECK struct shiny_err *attach_look(pid_t pid, const char *library,
					       struct attach_target *out);
/* Reads the mappings again, as a library was loaded. */
void attach_look_again(struct attach_target *target);
void attach_forget(struct attach_target *target);

/* Return addresses in the process; 0: there is none. */
uint64_t attach_restorer(const struct attach_target *target);
uint64_t attach_dlopen(const struct attach_target *target);
uint64_t attach_own_function(const struct attach_target *target, const char *name);

/* Stops the process and chooses a thread, which alone stays stopped; fills the stacks of all. Tries
 * for a while. */
SHINY_MUST_CHECK struct shiny_err *attach_choose(const struct attach_target *target,
						 struct shiny_attaching *stacks,
						 struct tracee *chosen);

#endif
