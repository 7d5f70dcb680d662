/* SPDX-License-Identifier: Apache-2.0 */
// build: -Wl,-rpath,'$ORIGIN' -Wl,--enable-new-dtags
/* Opens its neighbour by its bare name: the loader finds that only by this library's own RUNPATH.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

void *zoo_open_neighbour(void)
{
	void *library = dlopen("dlopen_cxx.so", RTLD_NOW | RTLD_LOCAL);

	/* no tail call: the loader looks at where dlopen returns to */
	__asm__ volatile("" : : : "memory");
	return library;
}
