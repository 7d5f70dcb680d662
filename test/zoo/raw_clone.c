/* SPDX-License-Identifier: Apache-2.0 */
/* clone, called directly, without CLONE_VM: a fork that no handler of libc's hears of, as
 * Chromium's zygote does it. */
// zoo: number=unsaid
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

int main(void)
{
	void *block[40];
	int status;

	for (int i = 0; i < 40; i++)
		block[i] = shiny_zoo_alloc(64);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		zoo_forked();
		for (int i = 0; i < 15; i++)
			zoo_free(block[i]);
		for (int i = 0; i < 500; i++)
			zoo_free(shiny_zoo_alloc(300));
		for (int i = 0; i < 7; i++)
			shiny_zoo_alloc(4000);
		truth("child");
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	zoo_free(block[0]);
	truth("parent");
	return 0;
}
