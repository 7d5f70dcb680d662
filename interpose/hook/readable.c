/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.c: see readable.h.
 *
 * Problem. exec with a bad path, argument or environment fails with EFAULT. A hook that reads them
 * first would crash the program instead. Test suites and fuzzers of system calls pass such pointers
 * on purpose, other programs by mistake. The kernel cannot be asked: a seccomp filter may end the
 * program for any call that it does not make itself (calls.def).
 *
 * Approach. Memory is read only where one of these shows that it is mapped:
 *
 *   stack     this thread's own, as far as it is in use; of another stack, the remainder of the
 *             page with our frame
 *   storage   the thread's variables, up to its descriptor
 *   start     the strings that the kernel put above the main thread's stack
 *   modules   what the loader has mapped
 *   heap      from the first break to the one that libc stores (no call: sbrk(0)), until the
 *             program makes a part of it unreadable
 *   blocks    pages on which a block of the nursery begins: it was handed out and is not freed. A
 *             string or an array that began there may end on a later page
 *   environ   the array and the strings that are in it: libc reads them at each getenv. Variables
 *             that were set long ago lie anywhere in a heap that is not the break's (Chromium's)
 *
 * Anything else counts as unreadable. As a rule, a program allocates exec's arguments just before
 * the call, so `blocks` covers those in other heaps than the break's.
 *
 * Rejected: any system call (prlimit64 with a limit that does not exist answers EFAULT, and was the
 * end of a program behind a filter); a SIGSEGV handler (the program's own); the sidecar (too late
 * for a child that lives a millisecond).
 *
 * Not covered: memory of the heap that the program makes unreadable by an instruction of its own; a
 * string or an array in a block that has no end; an `environ` that leads nowhere; a page that
 * another thread unmaps between the look and the read.
 */
#define _GNU_SOURCE
#include "readable.h"

#include <sys/auxv.h>
#include <unistd.h>

#include "../unwind/modules.h"
#include "../core/sys.h"
#include "../record/nursery.h"
#include "../record/thread.h"
#include "hooks.h"

enum { PAGE_BYTES = 4096, HEAP_BEFORE_US = 4096 /* pages */, VARIABLES_MOST = 8192 };

extern void *__libc_stack_end;

static uintptr_t heap_low = UINTPTR_MAX; /* UINTPTR_MAX: the heap is unknown, or no longer readable
                                          * throughout */

static uintptr_t heap_high(void)
{
	return SI_NEXT(sbrk) ? (uintptr_t)si_next.sbrk(0) : 0;
}

void si_readable_boot(void)
{
	uintptr_t high = heap_high(), low = high / PAGE_BYTES * PAGE_BYTES;

	if (!high || high == UINTPTR_MAX)
		return;
	/* the part of the heap that libc and the loader allocated before our constructor */
	for (unsigned n = 0; n < HEAP_BEFORE_US && si_sys_readable(low - PAGE_BYTES); n++)
		low -= PAGE_BYTES;
	heap_low = low;
}

void si_readable_no_more(const void *at, size_t bytes)
{
	uintptr_t start = (uintptr_t)at;

	/* before boot there is no heap, and libc may not be called */
	if (start + bytes > heap_low && start < heap_high())
		__atomic_store_n(&heap_low, UINTPTR_MAX, __ATOMIC_RELAXED);
}

static bool is_on_stack(uintptr_t at)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), storage;

	__asm__("mov %%fs:0, %0" : "=r"(storage));
	return (at >= frame && at / PAGE_BYTES == frame / PAGE_BYTES) ||
	       (frame >= si_tls.stack_low && at >= frame && at < si_tls.stack_high) ||
	       (at >= (uintptr_t)&si_tls && at < storage) ||
	       (at >= (uintptr_t)__libc_stack_end && at < getauxval(AT_EXECFN));
}

static bool has_block(uintptr_t page)
{
	for (uint32_t slot = 0; slot < SI_NURSERY; slot++) {
		uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

		if ((entry & SI_NURSERY_BLOCK) / PAGE_BYTES * PAGE_BYTES == page)
			return true;
	}
	return false;
}

static bool is_in_heap(uintptr_t at)
{
	return at >= __atomic_load_n(&heap_low, __ATOMIC_RELAXED) && at < heap_high();
}

/* `known`: the last page in which a block was found; 0: none yet. `goes_on`: the string or array
 * began on the page before. */
static bool may_read(uintptr_t *known, uintptr_t at, bool goes_on)
{
	uintptr_t page = at / PAGE_BYTES * PAGE_BYTES;

	if (page == 0)
		return false;
	if (page == *known || is_on_stack(at) || si_module_start(at) != 0 || is_in_heap(at))
		return true;
	if (!(goes_on && page - PAGE_BYTES == *known) && !has_block(page))
		return false;
	*known = page;
	return true;
}

static bool string(uintptr_t *known, const char *s, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		uintptr_t at = (uintptr_t)s + i;

		if ((i == 0 || at % PAGE_BYTES == 0) && !may_read(known, at, i > 0))
			return false;
		if (!s[i])
			break;
	}
	return true;
}

/* True if the eight bytes of a pointer are readable; they may lie on two pages. */
static bool pointer(uintptr_t *known, char *const *at, bool goes_on)
{
	return may_read(known, (uintptr_t)at, goes_on) &&
	       may_read(known, (uintptr_t)(at + 1) - 1, true);
}

bool si_readable_string(const char *s, size_t most)
{
	uintptr_t known = 0;

	return string(&known, s, most);
}

static bool is_variable(const char *s)
{
	for (unsigned i = 0; environ && i < VARIABLES_MOST && environ[i]; i++)
		if (environ[i] == s)
			return true;
	return false;
}

bool si_readable_strings(char *const *strings)
{
	uintptr_t of_pointers = 0, of_strings = 0;
	char *const *first = strings;
	bool own = strings && strings == environ;

	for (; own || pointer(&of_pointers, strings, strings > first); strings++) {
		if (!*strings)
			return true;
		if (!own && !string(&of_strings, *strings, SIZE_MAX) && !is_variable(*strings))
			return false;
	}
	return false;
}
