/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process, one program after the other: each starts its successor by exec when the ring of its
 * predecessor has gone, whose name may be used again. A shell's wrapper around a wrapper around a
 * program does so.
 */
#include <dirent.h>
#include <time.h>

#include "zoo/zoo.h"

enum { FAST = 5, LAST = FAST + 3, LOOKS = 2000 };

/* Files of the session, 0 where it cannot be looked at. */
static int rings(void)
{
	const char *directory = getenv("SHINY_SESSION");
	DIR *d = directory ? opendir(directory) : NULL;
	struct dirent *entry;
	int count = 0;

	while (d && (entry = readdir(d)))
		count += strncmp(entry->d_name, "ring.", 5) == 0;
	if (d)
		closedir(d);
	return count;
}

int main(int argc, char **argv)
{
	int image = argc > 1 ? atoi(argv[1]) : 0;
	char number[12];

	/* the first ones as fast as they can, more than a sidecar lets wait before it removes any
	 */
	for (int looks = 0; image >= FAST && rings() > 1 && looks < LOOKS; looks++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	for (int i = 0; i <= image; i++)
		zoo_free(shiny_zoo_alloc(100));
	printf("truth process=image%d pid=%d allocs=%lu frees=%lu bytes=%lu\n", image,
	       (int)getpid(), zoo.allocs, zoo.frees, zoo.bytes);
	fflush(stdout);
	if (image == LAST)
		return 0;
	snprintf(number, sizeof number, "%d", image + 1);
	execl(argv[0], argv[0], number, (char *)NULL);
	return 1;
}
