/* SPDX-License-Identifier: Apache-2.0 */
/* vfork: one child execs, one fails to and leaves with _exit, in its parent's memory; the parent
 * goes on as if nothing were. */
#define _DEFAULT_SOURCE
#include <sys/wait.h>

#include "zoo/zoo.h"

int main(void)
{
	void *block[10];
	int status;

	for (int i = 0; i < 10; i++)
		block[i] = shiny_zoo_alloc(100);
	for (int round = 0; round < 20; round++) {
		pid_t pid = vfork();
		if (pid == 0) {
			if (round == 0)
				execl("/bin/true", "true", (char *)NULL);
			else
				execl("/nonexistent/program", "program", (char *)NULL);
			_exit(round ? 3 : 4);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != (round ? 3 : 0))
			return 1;
		zoo_free(block[round % 10]);
		block[round % 10] = shiny_zoo_alloc(200);
	}
	truth(NULL);
	return 0;
}
