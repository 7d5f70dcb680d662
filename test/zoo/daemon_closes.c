/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon: forks, starts a session of its own and closes every descriptor that it does not know;
 * only standard output stays. */
#include <sys/wait.h>

#include "zoo/zoo.h"

int main(void)
{
	int status;
	void *first = shiny_zoo_alloc(50);
	pid_t pid = fork();

	if (pid == 0) {
		zoo_forked();
		setsid();
		for (int fd = 0; fd < 4096; fd++)
			if (fd != 1)
				close(fd);
		zoo_free(first);
		for (int i = 0; i < 3000; i++) {
			void *block = shiny_zoo_alloc(24 + (size_t)i % 100);
			if (i % 3)
				zoo_free(block);
		}
		truth("daemon");
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	truth("starter");
	return 0;
}
