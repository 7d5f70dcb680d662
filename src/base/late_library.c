/* SPDX-License-Identifier: Apache-2.0 */
#include "late_library.h"

#include <dlfcn.h>
#include <string.h>

const char *late_library_open(const char *const *files, const struct late_function *functions,
			      size_t count)
{
	void *library = NULL, *function;

	for (; !library && *files; files++)
		library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && i < count; i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			library = NULL;
		memcpy(functions[i].into, &function, sizeof(function));
	}
	return library ? NULL : dlerror();
}
