/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen looks at its caller: a library with RUNPATH=$ORIGIN opens another one by its bare name,
 * which this program could not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>

#include "zoo/zoo.h"

int main(void)
{
	char self[4096], path[4200];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	void *library, *neighbour;
	void *(*open_neighbour)(void);

	if (length <= 0)
		return 1;
	self[length] = 0;
	snprintf(path, sizeof(path), "%s/dlopen_runpath.so", dirname(self));
	if (dlopen("dlopen_cxx.so", RTLD_NOW)) {
		printf("the program itself could open it: this proves nothing\n");
		return 1;
	}
	library = dlopen(path, RTLD_NOW);
	open_neighbour = library ? (void *(*)(void))dlsym(library, "zoo_open_neighbour") : NULL;
	neighbour = open_neighbour ? open_neighbour() : NULL;
	if (!neighbour) {
		printf("%s\n", dlerror());
		return 1;
	}
	dlclose(neighbour);
	dlclose(library);
	zoo_free(shiny_zoo_alloc(32));
	truth(NULL);
	return 0;
}
