/* SPDX-License-Identifier: Apache-2.0 */
/* A C program, without a C++ run-time, opens a C++ library, uses it and closes it, twice; some
 * objects outlive it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>

#include "zoo/zoo.h"

static int use(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *(*make)(int, size_t *);
	void (*end)(void *);
	int (*legs)(void *), count = 0;
	size_t size;

	if (!library) {
		printf("%s\n", dlerror());
		return -1;
	}
	make = (void *(*)(int, size_t *))dlsym(library, "shiny_zoo_make");
	end = (void (*)(void *))dlsym(library, "zoo_end");
	legs = (int (*)(void *))dlsym(library, "zoo_legs");
	for (int i = 0; i < 1000; i++) {
		void *made = make(i & 1, &size);
		zoo.allocs++, zoo.bytes += size, zoo.live++, zoo.live_bytes += size;
		count += legs(made);
		if (i % 100) {
			end(made);
			zoo.frees++, zoo.live--, zoo.live_bytes -= size;
		}
	}
	dlclose(library);
	return count;
}

int main(void)
{
	char self[4096], path[4200];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return 1;
	self[length] = 0;
	snprintf(path, sizeof(path), "%s/dlopen_cxx.so", dirname(self));
	for (int round = 0; round < 2; round++)
		if (use(path) != 3000)
			return 1;
	truth(NULL);
	return 0;
}
