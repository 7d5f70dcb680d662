/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tid.c: see tid.h.
 *
 * Problem. A program may have put a seccomp filter in place that ends it at the first getpid or
 * gettid which it does not make itself, and it may have done so by an instruction that no hook
 * sees. So a thread's number has to be known without a call.
 *
 * Approach. libc keeps it in the thread's descriptor, and the kernel writes it there: for each
 * thread (CLONE_PARENT_SETTID) and for the child of fork() (CLONE_CHILD_SETTID). Boot finds its
 * offset in the descriptor: PR_GET_TID_ADDRESS is the address that the main thread has passed to
 * the kernel. A raw clone without these flags leaves the parent's number in the child. So each
 * thread keeps a copy of its number in storage of ours: if a forked child finds both equal, the
 * kernel has not written the child's, and the number is unknown. The sidecar then identifies it by
 * /proc/PID/mem alone (src/sidecar/process/identity.c).
 *
 * The child of a vfork cannot be told from its parent by anything in memory, registers included:
 * the hook of vfork notes it. A child made by clone with CLONE_VM and thread storage of its own
 * (Chromium's zygote chroots by one, with storage full of zeros) has no descriptor of libc's: the
 * first and third words of one are its own address.
 *
 * Not covered: a vfork by a system call instruction of the program's own. The end that such a child
 * reports would be taken for its parent's.
 *
 * Rejected: GLIBC_PRIVATE's _thread_db_pthread_tid (not ours to bind to); a call where no filter
 * was seen (there may be one that was not seen).
 */
#include "tid.h"

#include <sys/prctl.h>

#include "../core/sys.h"
#include "writer.h"

enum { DESCRIPTOR_MAX = 4096, USUAL = 0x2d0 /* glibc 2.10 to 2.41, x86-64 */ };

__thread uint32_t si_vforked __attribute__((tls_model("initial-exec")));
__thread uint64_t si_vfork_notice __attribute__((tls_model("initial-exec")));
static uint32_t offset; /* of the number in the descriptor; 0: unknown */

/* Returns the descriptor of a thread that libc knows, or 0. */
static uintptr_t descriptor(void)
{
	uintptr_t own, self;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(own));
	__asm__ volatile("mov %%fs:16, %0" : "=r"(self));
	return own && own == self ? own : 0;
}

static uint32_t word(void)
{
	uintptr_t at = offset ? descriptor() : 0;

	return at ? __atomic_load_n((const uint32_t *)(at + offset), __ATOMIC_RELAXED) : 0;
}

void si_tid_find(void)
{
	uintptr_t at = descriptor(), address = 0;
	uint32_t tid = si_sys_gettid();

	if (!at || !tid)
		return;
	/* fallback for a kernel without CONFIG_CHECKPOINT_RESTORE */
	if (si_sys(SYS_prctl, PR_GET_TID_ADDRESS, &address, 0) != 0)
		address = at + USUAL;
	if (address > at && address - at < DESCRIPTOR_MAX && address % sizeof(tid) == 0 &&
	    *(const uint32_t *)address == tid)
		offset = (uint32_t)(address - at);
}

uint32_t si_tid(void)
{
	uint32_t now = word();

	if (now == si_tls.void_tid)
		return 0;
	si_tls.tid = now;
	return now;
}

uint32_t si_tid_unseen(void)
{
	uint32_t now = word();

	return now == si_tls.tid ? 0 : now;
}

void si_tid_forking(void)
{
	if (descriptor())
		si_tls.tid = word();
}

void si_tid_forked(void)
{
	uint32_t now = word();

	/* of a thread that was never seen before, the number's owner is unknown */
	si_tls.void_tid = now == si_tls.tid || !si_tls.tid ? now : 0;
	si_vforked = 0;
}

bool si_tid_is_vforked(void)
{
	return descriptor() && si_vforked;
}

bool si_tid_is_guest(void)
{
	return !descriptor() || si_vforked;
}
