/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracee.h: makes all threads of a process stand still, and gives their registers.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; a tracer is a thread, so the one that
 * stopped a process has to release it.
 *
 * By ptrace's SEIZE and INTERRUPT: no signal is sent, the process does not see a stop, its parent
 * is not told of one, and the registers are there. If the sidecar is killed meanwhile the kernel
 * detaches, and the process runs on. Job control stays as it was: a process that was stopped by
 * SIGSTOP is stopped afterwards.
 *
 * What the program can notice: time; and of the system calls that a thread was waiting in, nearly
 * all go on, but for those that signal(7) lists as failing with EINTR after a stop even without a
 * handler (epoll_wait, semop, sigtimedwait, reading inotify, io_getevents). The freezer of cgroups
 * has the same effect, and gives no registers.
 *
 * Refused: a process that a debugger holds; one that we may not trace (Yama, another user, not
 * dumpable); a thread that does not come to a stop in TRACEE_PATIENCE: the kernel holds it, as in
 * vfork.
 */
#ifndef SHINY_TRACEE_H
#define SHINY_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "../../base/err.h"
#include "../../base/mem.h"

#define TRACEE_PATIENCE UINT64_C(1000000000) /* ns */

struct tracee_thread {
	pid_t tid;
	bool stopped, ended;
	int signal; /* that was about to be delivered; it is when the thread goes on */
	struct user_regs_struct registers;
};
struct tracee { /* zeroed: nothing is held */
	pid_t pid;
	VEC(struct tracee_thread) threads;
};

/* On an error nothing is held. */
SHINY_MUST_CHECK struct shiny_err *tracee_stop(uint32_t pid, struct tracee *out);
/* They run on. */
void tracee_release(struct tracee *tracee);

#endif
