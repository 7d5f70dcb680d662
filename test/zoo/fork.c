/* SPDX-License-Identifier: Apache-2.0 */
/* fork: the child frees blocks of the parent's and makes its own. */
#include <sys/wait.h>

#include "zoo/zoo.h"

int main(void)
{
	void *block[100];
	int status;

	for (int i = 0; i < 100; i++)
		block[i] = shiny_zoo_alloc(16 + (size_t)i * 8);
	for (int i = 0; i < 30; i++)
		zoo_free(block[i]);
	pid_t pid = fork();
	if (pid == 0) {
		zoo_forked();
		for (int i = 30; i < 50; i++)
			zoo_free(block[i]);
		for (int i = 0; i < 50; i++)
			block[i] = shiny_zoo_alloc(1000);
		for (int i = 0; i < 10; i++)
			zoo_free(block[i]);
		truth("child");
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	for (int i = 0; i < 5; i++)
		shiny_zoo_alloc(77);
	truth("parent");
	return 0;
}
