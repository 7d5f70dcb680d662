/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.c: see readable.h.
 *
 * Problem. exec with a bad path, argument or environment fails with EFAULT. A hook that reads them
 * first would crash the program instead. Test suites and fuzzers of system calls pass such pointers
 * on purpose, other programs by mistake.
 *
 * Approach. The caller's stack, the block of strings that the kernel made at the start, and loaded
 * modules are known. For other pages the kernel is asked once a page: prlimit64 with a limit that
 * does not exist copies its argument first, so it answers EFAULT for memory that cannot be read and
 * EINVAL otherwise, and changes nothing (kernel/sys.c, since Linux 2.6.36). Any other answer counts
 * as unreadable.
 *
 * Rejected: a SIGSEGV handler (the program's own), process_vm_readv (filters forbid it), access
 * (looks up what lies at the address as a path).
 *
 * Not covered: a page that another thread unmaps between the question and the read.
 */
#include "readable.h"

#include <sys/auxv.h>

#include "../unwind/modules.h"
#include "../core/sys.h"
#include "../record/thread.h"

enum { PAGE_BYTES = 4096 };

extern void *__libc_stack_end;

static bool is_known(uintptr_t at)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (frame >= si_tls.stack_low && at >= frame && at < si_tls.stack_high)
		return true;
	if (at >= (uintptr_t)__libc_stack_end && at < getauxval(AT_EXECFN))
		return true;
	return si_module_start(at) != 0;
}

/* `asked`: the last page that was asked for and can be read; 0: none yet. */
static bool may_read(uintptr_t *asked, uintptr_t at)
{
	uintptr_t page = at / PAGE_BYTES * PAGE_BYTES;

	if (page == 0)
		return false;
	if (page == *asked || is_known(at))
		return true;
	if (!si_sys_readable(page))
		return false;
	*asked = page;
	return true;
}

static bool string(uintptr_t *asked, const char *s, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		uintptr_t at = (uintptr_t)s + i;

		if ((i == 0 || at % PAGE_BYTES == 0) && !may_read(asked, at))
			return false;
		if (!s[i])
			break;
	}
	return true;
}

/* The eight bytes of a pointer, which may lie on two pages. */
static bool pointer(uintptr_t *asked, char *const *at)
{
	return may_read(asked, (uintptr_t)at) && may_read(asked, (uintptr_t)(at + 1) - 1);
}

bool si_readable_string(const char *s, size_t most)
{
	uintptr_t asked = 0;

	return string(&asked, s, most);
}

bool si_readable_strings(char *const *strings)
{
	uintptr_t of_pointers = 0, of_strings = 0;

	for (; pointer(&of_pointers, strings); strings++) {
		if (!*strings)
			return true;
		if (!string(&of_strings, *strings, SIZE_MAX))
			return false;
	}
	return false;
}
