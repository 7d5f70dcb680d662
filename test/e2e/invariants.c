/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariants.c: a server that forks, as databases do to write their state: the child makes a
 * little, frees some of what it inherited and ends, while the parent goes on; and a large process
 * that ends long before the rest. Says what it holds at its end, and what it ever held most, in
 * bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 5000, SIZE = 200, LARGE = 3000000, COPIES = 100 };

static char *blocks[BLOCKS];

__attribute__((noinline)) static char *make(size_t size)
{
	char *block = malloc(size);

	if (!block)
		exit(1);
	return memset(block, 1, size);
}

/* A child that holds so many bytes when it ends, and frees so many of its parent's blocks. */
static int child(size_t bytes, int frees)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		char *volatile block = make(bytes);

		for (int i = 0; i < frees; i++)
			free(blocks[i]);
		_exit(block == NULL);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(void)
{
	static char buffer[512];
	char *volatile peak;

	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	if (child(LARGE, 0))
		return 1;
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make(SIZE);
	for (int i = 0; i < 3; i++)
		if (child(2 * SIZE, COPIES))
			return 1;
	peak = make(LARGE / 2);
	free(peak);
	/* no process begins behind the last child's end: what it held is the session's */
	printf("live_bytes %d peak_bytes %d abandoned_bytes %d inherited %d inherited_frees %d\n",
	       (BLOCKS + 2) * SIZE, LARGE, LARGE + 2 * 2 * SIZE, 3 * BLOCKS, 3 * COPIES);
	return 0;
}
