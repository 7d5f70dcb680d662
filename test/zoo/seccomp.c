/* SPDX-License-Identifier: Apache-2.0 */
/* Ends itself on any attempt to open a file, from a point on; then starts threads, which allocate.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "zoo/zoo.h"

static void *work(void *unused)
{
	void *block[100];

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 100; i++)
			block[i] = shiny_zoo_alloc(16 + (size_t)i);
		for (int i = 0; i < 100; i++)
			zoo_free(block[i]);
	}
	shiny_zoo_alloc(1000);
	return unused;
}

int main(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	pthread_t thread[8];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		printf("no seccomp here: %s\n", strerror(errno));
		return 77;
	}
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	truth(NULL);
	return 0;
}
