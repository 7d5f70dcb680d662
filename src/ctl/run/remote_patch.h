/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_patch.h: writes patches of functions' entries into a process that runs, and undoes them.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: the tracer's.
 *
 * The library in the process has prepared the patches (interpose/patch/patcher.h). All threads are
 * stopped; none may be inside the bytes that change, nor come back there: neither its instruction
 * pointer nor any word of its stack may be an address behind an entry, within the instructions that
 * are displaced. Otherwise the threads run on for a moment, and it is tried again. The bytes are
 * written through /proc/PID/mem, which needs no page to be writable. Each jump lies in one page, so
 * that it is written whole or not at all if the tracer dies: any part of the patches is a state in
 * which the program runs well. At the end the bytes from before are written in the same way; stubs
 * and trampolines stay, for threads that are in them.
 */
#ifndef SHINY_REMOTE_PATCH_H
#define SHINY_REMOTE_PATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "../../base/err.h"

struct remote_patches {
	pid_t pid;
	uint64_t at, count; /* the array of struct shiny_patch in the process; count 0: none */
};

/* Writes the jumps; after an error none is written. */
SHINY_MUST_CHECK struct shiny_err *remote_patches_write(const struct remote_patches *patches);
/* Writes the bytes from before, where the jumps are. */
SHINY_MUST_CHECK struct shiny_err *remote_patches_undo(const struct remote_patches *patches);

#endif
