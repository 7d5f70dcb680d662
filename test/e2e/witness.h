/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness.h: a source that is linked into programs of lsan_test: at their exit LeakSanitizer, where
 * it is there, says what is leaked at that moment; without it the program stops, so that a heap
 * snapshot of the same moment can be taken.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* What the program left behind on the stack and in registers is not a root. */
static __attribute__((noinline)) void wipe(void)
{
	volatile char below[1 << 14];

	for (unsigned i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

static void at_end(void)
{
	wipe();
	if (__lsan_do_recoverable_leak_check) {
		__lsan_do_recoverable_leak_check();
	} else {
		dprintf(2, "ready %d\n", (int)getpid());
		raise(SIGSTOP);
	}
}

__attribute__((constructor)) static void begin(void)
{
	atexit(at_end);
}
