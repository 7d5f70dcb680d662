/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_graph.c: a program that holds many blocks of many pointers each, and then waits for a line
 * on its input, so that a heap snapshot of it can be taken.
 *
 *   bench_graph BLOCKS BYTES: of BYTES each, the first ten words of which point to random blocks
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POINTERS = 10 };

void **g_blocks;

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t x = UINT64_C(88172645463325252);

	if (!count || bytes < POINTERS * sizeof(void *)) {
		fprintf(stderr, "usage: bench_graph BLOCKS BYTES\n");
		return 2;
	}
	g_blocks = malloc(count * sizeof(*g_blocks));
	for (size_t i = 0; i < count; i++) {
		void **block = g_blocks[i] = calloc(1, bytes);

		for (int k = 0; k < POINTERS && i; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			block[k] = g_blocks[x % i];
		}
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	getchar();
	return 0;
}
