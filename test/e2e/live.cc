// SPDX-License-Identifier: Apache-2.0
// What live_test watches: for each number N on standard input it keeps N blocks more, says how many
// it has, and stands still.
#include <cstdio>

struct Kept {
	long words[6];
};

static Kept *volatile last;

[[gnu::noinline]] static void keep(int blocks)
{
	for (int i = 0; i < blocks; i++) last = new Kept();
}

int main()
{
	int blocks, kept = 0;

	setvbuf(stdin, nullptr, _IONBF, 0);
	while (scanf("%d", &blocks) == 1) {
		keep(blocks);
		kept += blocks;
		printf("{\"kept\": %d, \"bytes\": %zu}\n", kept, kept * sizeof(Kept));
		fflush(stdout);
	}
}
