/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touches.c: large blocks, each alone in a mapping, whose pages are touched by design; it says
 * which. See touches_test.
 *
 *   never     filled once, and left alone
 *   read      its first READ pages are read in each pass
 *   written   its first WRITTEN pages are written in each pass, by another thread
 *   spread    a byte of every fourth page is read in each pass
 *
 * It says "block KIND ADDRESS SIZE PAGES" for each (PAGES: that a pass touches), "ready PID", and
 * passes until its input ends. Then "gap NS": in any time longer than that all blocks but the first
 * kind had a whole pass, if it lay behind the time that the first argument says (CLOCK_MONOTONIC,
 * ns). "hidden" as a second one: it lets no ordinary user look into it; "fork": a child touches all
 * of its own copy, all the time.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, READ = 7, WRITTEN = 11, SPREAD = 4, EACH = 3, KINDS = 4 };

static const char *const names[KINDS] = { "never", "read", "written", "spread" };
static const int touched[KINDS] = { 0, READ, WRITTEN, PAGES / SPREAD };
static char *blocks[KINDS][EACH];
static atomic_bool over;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Mappings of neighbours differ in what they say of huge pages: the kernel does not merge them. */
static char *make_block(int kind, bool odd)
{
	char *block = malloc(PAGES * PAGE);
	char *mapping = block - (uintptr_t)block % PAGE;

	if (!block || (odd && madvise(mapping, (PAGES + 1) * PAGE, MADV_NOHUGEPAGE) != 0))
		abort();
	memset(block, 1, PAGES * PAGE);
	printf("block %s %p %d %d\n", names[kind], (void *)block, PAGES * PAGE, touched[kind]);
	return block;
}

static void touch(int kind)
{
	for (int i = 0; i < EACH; i++) {
		volatile char *at = blocks[kind][i];

		for (int page = 0; page < PAGES; page++)
			if (kind == 3 ? page % SPREAD == 0 : page < touched[kind]) {
				if (kind == 2)
					at[page * PAGE] = 2;
				else
					(void)at[page * PAGE];
			}
	}
}

/* The longest time from the start of a pass to the end of the next one. */
struct gap {
	uint64_t begun, most; /* ns */
};

static void pass(struct gap *gap, int kind, int other)
{
	uint64_t begun = now();

	touch(kind);
	if (other)
		touch(other);
	if (now() - gap->begun > gap->most)
		gap->most = now() - gap->begun;
	gap->begun = begun;
}

static void *write_all(void *context)
{
	while (!over) {
		pass(context, 2, 0);
		usleep(2000);
	}
	return NULL;
}

static void touch_all(void)
{
	for (;; usleep(1000))
		for (int kind = 0; kind < KINDS; kind++)
			for (int i = 0; i < EACH; i++)
				memset(blocks[kind][i], 3, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	struct gap reads = { .begun = argc > 1 ? strtoull(argv[1], NULL, 10) : 0 };
	struct gap writes = reads;
	pthread_t thread;
	pid_t child = 0;
	char end;

	if (argc > 2 && !strcmp(argv[2], "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	for (int i = 0; i < EACH; i++)
		for (int kind = 0; kind < KINDS; kind++)
			blocks[kind][i] = make_block(kind, (i * KINDS + kind) % 2 == 0);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		child = fork();
		if (!child)
			touch_all();
	}
	if (pthread_create(&thread, NULL, write_all, &writes) != 0)
		return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (poll(&input, 1, 2) == 0)
		pass(&reads, 1, 3);
	if (read(0, &end, 1) != 0)
		return 1;
	over = true;
	pthread_join(thread, NULL);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	printf("gap %llu\n",
	       (unsigned long long)(reads.most > writes.most ? reads.most : writes.most));
	fflush(stdout);
	_exit(9); /* what is live stays so */
}
