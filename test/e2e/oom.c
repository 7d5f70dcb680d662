/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom: holds ever more memory until the kernel ends it for that. Each line of its output is how
 * many blocks it had allocated when it had the last of 1 MiB, but not yet written to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 2000, LARGE = 1 << 20 };

int main(void)
{
	unsigned long blocks = 0;
	char line[32];

	for (;;) {
		char *large;

		for (int i = 0; i < SMALL; i++) {
			char *small = malloc(40);

			*(volatile char *)small = 1;
			if (i % 4)
				free(small);
		}
		large = malloc(LARGE);
		blocks += SMALL + 1;
		if (write(1, line, (size_t)snprintf(line, sizeof(line), "%lu\n", blocks)) < 0)
			return 9;
		memset(large, 1, LARGE);
	}
}
