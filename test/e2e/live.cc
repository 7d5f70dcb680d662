// SPDX-License-Identifier: Apache-2.0
// What live_test watches: for each number N on standard input it keeps N blocks more, says how many
// it has, and stands still. For -N a child process frees the last one and holds N others.
#include <csignal>
#include <cstdio>
#include <sys/prctl.h>
#include <unistd.h>

struct Kept {
	long words[6];
};

static Kept *volatile last;

[[gnu::noinline]] static void keep(int blocks)
{
	for (int i = 0; i < blocks; i++) last = new Kept();
}

[[gnu::noinline]] static void hold(int blocks)
{
	for (int i = 0; i < blocks; i++) last = new Kept();
}

static void fork_holder(int blocks)
{
	if (fork() != 0) return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	delete last;
	hold(blocks);
	printf("{\"held\": %d}\n", blocks);
	fflush(stdout);
	pause();
	_exit(0);
}

int main()
{
	int blocks, kept = 0;

	setvbuf(stdin, nullptr, _IONBF, 0);
	while (scanf("%d", &blocks) == 1) {
		if (blocks < 0) {
			fork_holder(-blocks);
			continue;
		}
		keep(blocks);
		kept += blocks;
		printf("{\"kept\": %d, \"bytes\": %zu}\n", kept, kept * sizeof(Kept));
		fflush(stdout);
	}
}
