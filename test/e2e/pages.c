// SPDX-License-Identifier: Apache-2.0
// build: -O1
/*
 * pages.c: puts blocks on pages by design: lone ones on pages of their own, dense ones, tails,
 * large ones, a whole range of 2 MiB, a peak; forks a child that changes what it inherited. Each
 * process prints what it did, in order:
 *
 *   alloc FUNCTION ADDRESS SIZE    free ADDRESS    fork PARENT CHILD    begin PID (the child's first line)
 *   moment NAME NS                 (CLOCK_REALTIME; nothing happens in any process for 0.4 s around
 *                                  it)
 *   design WHAT NUMBER             pages that the layout is meant to have at the first moment
 *
 * It prints into an array, so that it allocates nothing else.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

#define APART __attribute__((noinline))

enum { PAGE = 4096, LONE = 64, DENSE = 3000, TAILS = 20, LARGE = 5, FULL = 30, LATER = 40 };

static void *lone[LONE], *dense[DENSE], *tails[TAILS], *large[LARGE], *full[FULL], *later[LATER],
	*range;

static void *told(const char *function, void *block, size_t size)
{
	if (!block)
		_exit(2);
	say("alloc %s %zu %zu\n", function, (size_t)(uintptr_t)block, size);
	return block;
}
#define TOLD(block, size) told(__func__, block, size)

static void drop(void **place)
{
	say("free %zu\n", (size_t)(uintptr_t)*place);
	free(*place);
	*place = NULL;
}

APART static void *on_its_own_page(size_t size) { return TOLD(aligned_alloc(PAGE, size), size); }
APART static void *small(size_t size) { return TOLD(malloc(size), size); }
APART static void *page_and_tail(size_t size) { return TOLD(aligned_alloc(PAGE, size), size); }
APART static void *whole_page(void) { return TOLD(aligned_alloc(PAGE, PAGE), PAGE); }
APART static void *large_block(size_t size) { return TOLD(malloc(size), size); }
APART static void *whole_range(size_t size) { return TOLD(aligned_alloc(2 << 20, size), size); }
APART static void *makes_the_peak(size_t size) { return TOLD(calloc(1, size), size); }
APART static void *of_the_child(size_t size) { return TOLD(malloc(size), size); }
APART static void *goes_later(size_t size) { return TOLD(malloc(size), size); }

static void rest(void)
{
	struct timespec left = { 0, 200000000 };

	while (nanosleep(&left, &left))
		;
}

static void moment(const char *name)
{
	struct timespec now;

	rest();
	clock_gettime(CLOCK_REALTIME, &now);
	say("moment %s %ld%09ld\n", name, (long)now.tv_sec, now.tv_nsec);
	rest();
}

static void child(int ready, int go)
{
	char c;

	said_bytes = 0;
	say("begin %d\n", (int)getpid());
	for (unsigned i = 0; i < DENSE; i += 3)
		if (dense[i])
			drop(&dense[i]);
	for (unsigned i = 0; i < LONE; i += 2)
		drop(&lone[i]);
	drop(&range);
	for (unsigned i = 0; i < 100; i++)
		of_the_child(40 + 10 * i);
	say("moment second 0\n");
	if (write(ready, "", 1) != 1 || read(go, &c, 1) != 1)
		_exit(4);
	for (unsigned i = 1; i < LONE; i += 2)
		drop(&lone[i]);
	say_all();
	_exit(0);
}

int main(void)
{
	int ready[2], go[2];
	void *between[LONE];
	void *peak;
	pid_t pid;
	char c;

	say("begin %d\n", (int)getpid());
	for (unsigned i = 0; i < DENSE; i++)
		dense[i] = small(8 + i * 37 % 600);
	for (unsigned i = 0; i < TAILS; i++)
		tails[i] = page_and_tail(3 * PAGE + 1 + i * 100);
	for (unsigned i = 0; i < FULL; i++)
		full[i] = whole_page();
	for (unsigned i = 0; i < LARGE; i++)
		large[i] = large_block(20000 + 70000 * i);
	range = whole_range((2 << 20) + 5 * PAGE);
	for (unsigned i = 0; i < LATER; i++)
		later[i] = goes_later(500 * i);
	for (unsigned i = 0; i < LONE; i++) {
		between[i] = small(PAGE); /* so that no two share a page */
		lone[i] = on_its_own_page(16 + i);
	}
	for (unsigned i = 0; i < LONE; i++)
		drop(&between[i]);
	say("design lone %d\ndesign full %d\ndesign range 512\n", LONE, FULL);
	moment("first");

	for (unsigned i = 0; i < DENSE; i += 2)
		drop(&dense[i]);
	drop(&large[1]);
	peak = makes_the_peak(48 << 20);
	drop(&peak);
	if (pipe(ready) || pipe(go))
		return 5;
	pid = fork();
	if (pid < 0)
		return 6;
	if (pid == 0)
		child(ready[1], go[0]);
	say("fork %d %d\n", (int)getpid(), (int)pid);
	for (unsigned i = 0; i < LATER; i++)
		drop(&later[i]);
	if (read(ready[0], &c, 1) != 1)
		return 7;
	moment("second");
	for (unsigned i = 0; i < TAILS; i++)
		drop(&tails[i]);
	if (write(go[1], "", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		return 8;
	say_all();
	return 0;
}
