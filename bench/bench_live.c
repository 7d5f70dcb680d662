/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_live.c: a program that keeps many blocks alive and then waits for a line on its input, so
 * that the sidecar's memory for them can be read.
 *
 *   bench_live [blocks, default 1000000]
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000000;
	void **blocks = malloc((size_t)count * sizeof(*blocks));

	for (long i = 0; i < count; i++)
		blocks[i] = malloc(32 + (size_t)(i % 64));
	printf("ready\n");
	fflush(stdout);
	getchar();
	for (long i = 0; i < count; i++)
		free(blocks[i]);
	free(blocks);
	return 0;
}
