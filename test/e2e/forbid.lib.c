/* SPDX-License-Identifier: Apache-2.0 */
/* A module with read-only references (forbid.c), whose constructor may forbid a system call. */
// build: -Wl,-z,now,-z,relro -Itest
#include <stdlib.h>

#include "e2e/forbid.h"

void forbid_allocate(void);
void forbid_allocate(void)
{
	void *volatile block = malloc(100);

	free(block);
}

__attribute__((constructor)) static void start(void)
{
	const char *call = getenv("FORBID_CALL");

	if (call && forbid_call("instruction", atoi(call)))
		_exit(98);
}
