/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries opened with RTLD_DEEPBIND, as PHP opens its extensions, find libc's malloc before
 * anybody's who stands in front of it: blocks that they free were made by others, and the other way
 * round. A library that has an allocator of its own keeps it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>

#include "zoo/zoo.h"

enum { ROUNDS = 100, DEEP = RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND };

static const char *directory;

static void *beside(const char *name)
{
	char path[4200];
	void *library;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	library = dlopen(path, DEEP);
	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void use(void *library)
{
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(library, "shiny_zoo_deep_alloc");
	void *(*point)(size_t) = (void *(*)(size_t))dlsym(library, "shiny_zoo_deep_pointer");
	void *(*grow)(void *, size_t) =
		(void *(*)(void *, size_t))dlsym(library, "shiny_zoo_deep_grow");
	void (*end)(void *) = (void (*)(void *))dlsym(library, "zoo_deep_free");

	for (int i = 0; i < ROUNDS; i++) {
		void *theirs = make(64), *pointed = point(48), *ours = shiny_zoo_alloc(64);

		zoo_made(theirs, 64);
		zoo_made(pointed, 48);
		zoo_free(theirs); /* made there, freed here */
		zoo_free(pointed);
		zoo_ended(ours); /* made here, resized and freed there */
		ours = grow(ours, 5000);
		zoo_made(ours, 5000);
		zoo_ended(ours);
		end(ours);
	}
}

int main(void)
{
	static char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	unsigned long (*own)(void);
	void *now;

	if (length <= 0)
		return 1;
	directory = dirname(self);
	if (dlopen("there_is_none.so", DEEP) || !dlerror())
		return 2;
	now = beside("dlopen_deep_now.so");
	use(now);
	use(((void *(*)(int))dlsym(now, "zoo_deep_neighbour"))(DEEP));
	use(beside("dlopen_deep.so")); /* once more: it is there already */
	own = (unsigned long (*)(void))dlsym(beside("dlopen_deep_own.so"), "zoo_own_blocks");
	printf("%lu\n", own());
	if (dlerror())
		return 3;
	truth(NULL);
	return 0;
}
