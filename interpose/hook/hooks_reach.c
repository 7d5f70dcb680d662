/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_reach.c: has this process changed what it can reach: its root, its mounts, its user?
 *
 * Runs:      inside, in place of chroot, unshare, setns, mount and the setuid family.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 *
 * What the process starts may then not find the library, and its loader would say so; and to ask
 * the kernel each time may be the end of the process (hooks_exec.c). A child has what its parent
 * has, and an image that exec made has found the library. Not seen: who changes it by an
 * instruction of its own, and what another process does to the mounts that both see.
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
