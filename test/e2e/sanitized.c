/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.c: sanitizers_test builds it with each sanitizer. Allocates, prints how often, and then
 * makes the error that its argument names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 1000, FREED = 500 };
static char *kept[BLOCKS];

__attribute__((noinline)) void sanitized_make(void);
__attribute__((noinline)) void sanitized_make(void)
{
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = malloc((size_t)(40 + i % 7));
	for (int i = 0; i < FREED; i++)
		free(kept[i]);
}

/*
 * Clears the stack below: a dead frame of malloc may hold the address of a block, and a leak that
 * such a word leads to is in no report.
 */
__attribute__((noinline)) void sanitized_clear(void);
__attribute__((noinline)) void sanitized_clear(void)
{
	volatile char room[1 << 16];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(int argc, char **argv)
{
	const char *error = argc > 1 ? argv[1] : "";

	sanitized_make();
	printf("truth allocs=%d frees=%d\n", BLOCKS, FREED);
	fflush(stdout);
	if (!strcmp(error, "exec"))
		return execl(argv[0], argv[0], "again", (char *)NULL);
	if (!strcmp(error, "use"))
		printf("%d\n", kept[3][0] & 1);
	if (!strcmp(error, "leak")) {
		memset(kept, 0, sizeof(kept));
		sanitized_clear();
	}
	return 3;
}
