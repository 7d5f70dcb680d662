/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer.c: see sanitizer.h.
 *
 * A sanitizer begins in the executable's .preinit_array, directly behind our constructor. Until
 * then the functions of libc that it stands in for, and that we call, lead nowhere
 * (ThreadSanitizer), and memory that we map may lie where it wants its own. So it begins now: its
 * first function may be called any number of times.
 *
 * AddressSanitizer ends a program in which another library than its own is the first of the
 * loader's list. It skips the vdso, which it knows by the beginning of its name; while it checks,
 * our library has such a name, too. So it judges the libraries behind us, as it does without us.
 */
#define _GNU_SOURCE
#include "sanitizer.h"

#include <dlfcn.h>
#include <link.h>

/* the sanitizers' run-time libraries define these; NULL where the program has none */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

void si_sanitizer_begin(void)
{
	static char passed_over[] = "linux-shiny";
	struct link_map *own = NULL;
	char *name = NULL;
	Dl_info info;

	if (__tsan_init)
		__tsan_init();
	if (!__asan_init)
		return;
	if (dladdr1((void *)(uintptr_t)&si_sanitizer_begin, &info, (void **)&own,
		    RTLD_DL_LINKMAP)) {
		name = own->l_name;
		own->l_name = passed_over;
	}
	__asan_init();
	if (own)
		own->l_name = name;
}
