/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_wait.c: records how children end, from what wait returns to their parent.
 *
 * Runs:      inside, in place of wait, waitpid, wait3, wait4 and waitid.
 * Signals:   wait and waitpid are async-signal-safe, and stay so.
 * Allocates: nothing.
 * Threads:   any; the real functions are cancellation points, and so are these.
 *
 * The kernel stores the status of an ended process for its parent, and returns it once: a sidecar
 * that first looks at a child that lived ten milliseconds looks too late. So we pass on the status
 * that the parent gets. Not seen: waits by direct system call, and those inside libc (system,
 * pclose).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>

#include "hooks.h"
#include "../record/notice.h"

static pid_t told(pid_t pid, int status)
{
	if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
		si_notice_ended((uint32_t)pid, status);
	return pid;
}

static int absent(void)
{
	errno = ENOSYS;
	return -1;
}

/* Gets the status even if the caller does not want it. */
#define WAITED(call)                                \
	({                                          \
		int own_ = 0;                       \
		int *at_ = status ? status : &own_; \
		pid_t pid_ = (call);                \
		pid_ > 0 ? told(pid_, *at_) : pid_; \
	})

pid_t si_hook_wait(int *status)
{
	return SI_NEXT(wait) ? WAITED(si_next.wait(at_)) : absent();
}

pid_t si_hook_waitpid(pid_t which, int *status, int options)
{
	return SI_NEXT(waitpid) ? WAITED(si_next.waitpid(which, at_, options)) : absent();
}

pid_t si_hook_wait3(int *status, int options, struct rusage *usage)
{
	return SI_NEXT(wait3) ? WAITED(si_next.wait3(at_, options, usage)) : absent();
}

pid_t si_hook_wait4(pid_t which, int *status, int options, struct rusage *usage)
{
	return SI_NEXT(wait4) ? WAITED(si_next.wait4(which, at_, options, usage)) : absent();
}

int si_hook_waitid(int type, unsigned which, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	siginfo_t *at = info ? info : &own;
	int result = SI_NEXT(waitid) ? si_next.waitid(type, which, at, options) : absent();

	if (result == 0 && at->si_pid > 0 && at->si_signo == SIGCHLD) {
		if (at->si_code == CLD_EXITED)
			si_notice_ended((uint32_t)at->si_pid, (at->si_status & 0xff) << 8);
		else if (at->si_code == CLD_KILLED || at->si_code == CLD_DUMPED)
			si_notice_ended((uint32_t)at->si_pid, at->si_status & 0x7f);
	}
	return result;
}
