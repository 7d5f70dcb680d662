// SPDX-License-Identifier: Apache-2.0
// What push_test pushes: for each number N on standard input it keeps N blocks under tag "kept",
// makes and frees 2 N under tag "churned", prints what it has done of each, and stands still.
#include <cstdio>
#include <cstdlib>
#include <shiny/shiny.h>

struct Pushed {
	long words[6];
};

static Pushed *volatile last;
static void *volatile sink;

[[gnu::noinline]] static void keep(int blocks)
{
	for (int i = 0; i < blocks; i++) last = new Pushed();
}

[[gnu::noinline]] static void churn(int blocks)
{
	for (int i = 0; i < blocks; i++) {
		sink = malloc(100);
		free(sink);
	}
}

int main()
{
	int blocks;
	long kept = 0;

	setvbuf(stdin, nullptr, _IONBF, 0);
	while (scanf("%d", &blocks) == 1) {
		shiny_tag_push("kept");
		keep(blocks);
		shiny_tag_pop();
		shiny_tag_push("churned");
		churn(2 * blocks);
		shiny_tag_pop();
		kept += blocks;
		printf("{\"kept\": [%ld, %ld, %ld, %ld], \"churned\": [%ld, %ld, 0, 0]}\n", kept,
		       kept * (long)sizeof(Pushed), kept, kept * (long)sizeof(Pushed), 2 * kept,
		       200 * kept);
		fflush(stdout);
	}
}
