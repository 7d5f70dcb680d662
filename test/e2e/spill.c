/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.c: a program that does nothing but allocate and free, faster than its sidecar reads.
 *
 *   spill   until its standard input ends; then prints how often it has: `allocs N`
 *
 * Block N has 1 + N % 4093 bytes: a session in which one is missing or twice shows it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	unsigned long count = 0;
	char byte;

	if (fcntl(0, F_SETFL, O_NONBLOCK))
		return 1;
	do {
		for (int i = 0; i < 10000; i++, count++) {
			volatile char *block = malloc(1 + count % 4093);

			*block = 1;
			free((void *)block);
		}
	} while (read(0, &byte, 1) < 0);
	printf("allocs %lu\n", count);
	return 0;
}
