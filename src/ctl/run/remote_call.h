/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_call.h: has a stopped thread of another process call functions there, and puts everything
 * back.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: the tracer's.
 *
 * The call is set up as the kernel sets up a signal's handler: below the red zone of the thread's
 * stack lies a signal frame with all its registers, and the function returns into libc's code that
 * asks the kernel to restore them (rt_sigreturn). The tracer stops the thread there, and restores
 * the registers itself, as then a system call that was interrupted goes on as if nothing had been.
 * If the tracer dies at any moment, the function ends and the kernel restores them: the thread is
 * where it was, and of the waits that it may have been in, those with a time limit fail with EINTR,
 * as after a signal.
 *
 * Signals are blocked in the thread meanwhile.
 */
#ifndef SHINY_REMOTE_CALL_H
#define SHINY_REMOTE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "../../base/err.h"
#include "../../sidecar/snapshot/tracee.h"

enum { REMOTE_STATE = 16384, REMOTE_ROOM = 96 << 10 };
/* REMOTE_ROOM: bytes of stack that a thread needs */

struct remote_call {
	pid_t pid, tid;
	struct user_regs_struct registers; /* of the thread when it was stopped */
	uint64_t mask;			   /* its blocked signals */
	uint64_t restorer;		   /* libc's `mov $15, %rax; syscall` */
	uint64_t frame, data;		   /* the signal frame, and memory for arguments below it */
	unsigned char state[REMOTE_STATE]; /* its floating-point and vector registers */
	size_t state_bytes;
	bool called, gone; /* gone: nothing may be restored any more */
};

/* Saves the thread's state; `restorer`: an address in the process, `data`: bytes of room for
 * arguments. */
SHINY_MUST_CHECK struct shiny_err *remote_call_begin(struct remote_call *call, pid_t pid,
						     const struct tracee_thread *thread,
						     uint64_t restorer, size_t data);
/* Calls function(a, b). */
SHINY_MUST_CHECK struct shiny_err *remote_call(struct remote_call *call, uint64_t function,
					       uint64_t a, uint64_t b);
/* Restores the thread's state; it is stopped as before. */
void remote_call_end(struct remote_call *call);

/* Copy memory of the process; false: not mapped. */
bool remote_read(const struct remote_call *call, uint64_t at, void *out, size_t bytes);
bool remote_write(const struct remote_call *call, uint64_t at, const void *from, size_t bytes);

#endif
