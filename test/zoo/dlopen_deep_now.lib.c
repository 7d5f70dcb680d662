/* SPDX-License-Identifier: Apache-2.0 */
// build: -Wl,-z,now -Wl,-z,relro -Wl,-rpath,'$ORIGIN'
/* The same, bound when it is opened, in pages that are read-only then. */
#include "dlopen_deep.lib.c"

#define __USE_GNU
#include <dlfcn.h>

/* By its bare name, which only this library's RUNPATH finds: the loader has to see who asks. */
void *zoo_deep_neighbour(int mode)
{
	void *library = dlopen("dlopen_deep.so", mode);

	__asm__ volatile("" : "+r"(library));
	return library;
}
