/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbered.c: allocates and frees block after block; each has a size that no other one has, so a
 * record of it that is missing or there twice shows (lib/numbered.py).
 *
 *   numbered         begins at the first byte of its standard input, goes on until that ends, for
 *                    at most MOST blocks; then prints how many it made, when the input has ended
 *   numbered COUNT   begins likewise, makes so many
 *
 * Block N, from 0 on, has FIRST + N bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST = 100000, MOST = 3000000, BATCH = 1000 };

static bool has_ended(int count, int wanted)
{
	char byte;

	return count >= (wanted ? wanted : MOST) || (!wanted && read(0, &byte, 1) >= 0);
}

int main(int argc, char **argv)
{
	char byte, text[32];
	int length, count = 0, wanted = argc > 1 ? atoi(argv[1]) : 0;

	/* nothing is mapped for a block, nor given back: then a step costs as little as it can */
	if (!mallopt(M_MMAP_THRESHOLD, 1 << 30) || !mallopt(M_TRIM_THRESHOLD, 1 << 30) ||
	    !mallopt(M_TOP_PAD, FIRST + MOST) || read(0, &byte, 1) != 1 ||
	    fcntl(0, F_SETFL, O_NONBLOCK))
		return 1;
	do {
		for (int i = 0; i < BATCH; i++) {
			volatile char *block = malloc((size_t)(FIRST + count++));

			*block = 1;
			free((void *)block);
		}
	} while (!has_ended(count, wanted));
	if (fcntl(0, F_SETFL, 0) || (!wanted && read(0, &byte, 1) < 0))
		return 1;
	length = snprintf(text, sizeof(text), "%d\n", count);
	return write(1, text, (size_t)length) != length;
}
