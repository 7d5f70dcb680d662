/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracee.h: stops all threads of a process and reads their registers.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; a tracer is a thread, so the thread
 * that stopped a process must release it.
 *
 * It uses ptrace's SEIZE and INTERRUPT: they send no signal, the process does not see a stop, its
 * parent is not notified, and the registers are readable. If the sidecar is killed meanwhile the
 * kernel detaches, and the process runs on. Job control stays as it was: a process that was stopped
 * by SIGSTOP is stopped afterwards.
 *
 * The program can notice two effects: time passes; and of the system calls that a thread waits in,
 * nearly all continue, except those that signal(7) lists as failing with EINTR after a stop even
 * without a handler (epoll_wait, semop, sigtimedwait, reading inotify, io_getevents). The freezer
 * of cgroups has the same effect, and gives no registers.
 *
 * Refused: a process that a debugger traces; one that we may not trace (Yama, another user, not
 * dumpable); one with a thread that does not stop within TRACEE_PATIENCE, as in vfork.
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
	int signal; /* pending signal, delivered when the thread continues; 0 none */
	struct user_regs_struct registers;
};
struct tracee { /* zeroed: nothing is held */
	pid_t pid;
	VEC(struct tracee_thread) threads;
};

/* Stops the process. After an error no thread is held. */
SHINY_MUST_CHECK struct shiny_err *tracee_stop(uint32_t pid, struct tracee *out);
/* Lets all threads but one continue. */
void tracee_keep(struct tracee *tracee, pid_t tid);
/* Lets the threads continue, and frees the list. */
void tracee_release(struct tracee *tracee);

#endif
