/* SPDX-License-Identifier: Apache-2.0 */
/* A filter that ends the process at one system call, and lets all others through (forbid.c, and the
 * library that it opens). */
#ifndef FORBID_H
#define FORBID_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((unused)) static char forbid_library[4096];

static inline long forbid_raw(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

/* By prctl, by syscall(), by an instruction; 0: it is in place. */
static inline long forbid_call(const char *install, int call)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };

	if (forbid_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0))
		return 1;
	return !strcmp(install, "prctl")     ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
	       : !strcmp(install, "syscall") ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
						       &filter)
					     : forbid_raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
							  (long)&filter, 0);
}

#endif
