/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liar.c: makes BLOCKS blocks, and writes over what it shares with the sidecar.
 *
 *   liar MODE
 *     honest  writes nothing
 *     loses   counts five events that it has dropped, as the library would
 *     ones    every byte of all counters, and what else the ring's header and tables count, is 0xff
 *     top     the highest bit of each of them
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/ring.h>

enum { BLOCKS = 1000 };

/* The ring, as this process maps it. */
static struct shiny_header *find_ring(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	uintptr_t start;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/ring.") && strstr(line, " 00000000 ") &&
		    sscanf(line, "%" SCNxPTR, &start) == 1)
			return (struct shiny_header *)start;
	return NULL;
}

static void lie(struct shiny_header *h, uint64_t value)
{
	struct shiny_process *p = shiny_processes(h);

	for (unsigned i = 0; i < SHINY_COUNTERS; i++)
		h->counters[i] = p->counters[i] = value;
	h->notices = value;
	h->uncommitted = (uint32_t)value;
	p->exit_at = value;
	shiny_threads(h)->start = value;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	void *volatile block;
	struct shiny_header *h;

	for (int i = 0; i < BLOCKS; i++) {
		block = malloc(100);
		free(block);
	}
	h = find_ring();
	if (!h)
		return 1;
	if (!strcmp(mode, "loses"))
		shiny_processes(h)->counters[SHINY_COUNT_DROPPED_FULL] += 5;
	else if (!strcmp(mode, "ones"))
		lie(h, UINT64_MAX);
	else if (!strcmp(mode, "top"))
		lie(h, UINT64_C(1) << 63);
	else if (strcmp(mode, "honest"))
		return 1;
	return 0;
}
