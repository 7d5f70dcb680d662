/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_reach.c: notices when this process changes what it can reach: its root, its mounts, its
 * user.
 *
 * Runs:      inside, in place of chroot, unshare, setns, mount and the setuid family.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * A program that the process starts may then not find the library, and its loader would say so; and
 * to probe each time may end the process (hooks_exec.c). A child reaches what its parent reaches,
 * and a program that records has found the library. Not seen: changes by a system call instruction
 * of the program's own, and another process's changes to shared mounts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>

#include "hooks.h"

static uint32_t changed;

void si_reach_changes(void)
{
	__atomic_store_n(&changed, 1, __ATOMIC_RELAXED);
}

bool si_reach_has_changed(void)
{
	return __atomic_load_n(&changed, __ATOMIC_RELAXED);
}

bool si_reach_is_changed_by(long call)
{
	return call == SYS_chroot || call == SYS_pivot_root || call == SYS_mount ||
	       call == SYS_unshare || call == SYS_setns || call == SYS_setuid ||
	       call == SYS_setreuid || call == SYS_setresuid || call == SYS_move_mount;
}

#define REACH(id, parameters, ...)                    \
	int si_hook_##id parameters                   \
	{                                             \
		si_reach_changes();                   \
		if (SI_NEXT(id))                      \
			return si_next.id(__VA_ARGS__); \
		errno = ENOSYS;                       \
		return -1;                            \
	}

REACH(chroot, (const char *path), path)
REACH(unshare, (int flags), flags)
REACH(setns, (int fd, int type), fd, type)
REACH(mount,
      (const char *source, const char *target, const char *type, unsigned long flags,
       const void *data),
      source, target, type, flags, data)
REACH(setuid, (uid_t user), user)
REACH(seteuid, (uid_t user), user)
REACH(setreuid, (uid_t real, uid_t effective), real, effective)
REACH(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
