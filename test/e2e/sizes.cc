// SPDX-License-Identifier: Apache-2.0
// sizes.cc: blocks of designed sizes, of which it asks malloc_usable_size() itself. It prints, by
// function that makes them:
//   site NAME blocks bytes usable live-blocks live-bytes live-usable
// and, of its own classes, type NAME blocks bytes, smallest first. What is temporary ends before
// anything that lives long begins to end.
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <vector>

#define APART __attribute__((noinline, noclone, noipa))

struct Count {
	const char *name;
	unsigned long blocks, bytes, usable, live, live_bytes, live_usable;
};
static Count counts[16];
static unsigned count_used;
static void *kept[8192];
static unsigned kept_used;

static Count &count_of(const char *name)
{
	counts[count_used].name = name;
	return counts[count_used++];
}

static void begin(Count &c, void *block, size_t size)
{
	c.blocks++;
	c.bytes += size;
	c.usable += malloc_usable_size(block);
}

static void stays(Count &c, void *block, size_t size)
{
	c.live++;
	c.live_bytes += size;
	c.live_usable += malloc_usable_size(block);
	kept[kept_used++] = block;
}

/* Every size, all of them kept: a free chunk that is used again may be larger than it needs to be.
 */
APART static void every_size(Count &c)
{
	for (size_t size = 0; size <= 2000; size++) {
		void *block = malloc(size);

		begin(c, block, size);
		stays(c, block, size);
	}
}

/* 17 bytes in what is 24 or 32: 2,000 of them, all kept. */
APART static void wastes(Count &c)
{
	for (int i = 0; i < 2000; i++) {
		void *block = malloc(17);

		begin(c, block, 17);
		stays(c, block, 17);
	}
}

APART static void large_ones(Count &c)
{
	for (size_t size = 100000; size < 3000000; size += 133337) {
		void *block = malloc(size);

		begin(c, block, size);
		stays(c, block, size);
	}
}

struct Tiny { char c; };
struct Huge { char c[3000]; };

/* Small ones that are freed at once, while large ones live. */
APART static void tiny_lives(Count &c)
{
	for (int i = 0; i < 3000; i++) {
		Tiny *t = new Tiny;

		begin(c, t, sizeof *t);
		kept[kept_used] = t; /* the compiler must not drop both */
		delete (Tiny *)*(void *volatile *)&kept[kept_used];
	}
}

APART static void huge_lives(Count &c, Count &inside)
{
	Huge *all[100];

	for (Huge *&h : all) {
		h = new Huge;
		begin(c, h, sizeof *h);
		kept[kept_used] = h;
	}
	tiny_lives(inside);
	for (Huge *h : all)
		delete h;
}

APART static void from_calloc(Count &c)
{
	for (size_t n = 1; n <= 50; n++) {
		void *block = calloc(n, 12);

		begin(c, block, n * 12);
		stays(c, block, n * 12);
	}
}

int main()
{
	every_size(count_of("every_size"));
	wastes(count_of("wastes"));
	from_calloc(count_of("from_calloc"));
	large_ones(count_of("large_ones"));

	Count &huge = count_of("huge_lives"), &tiny = count_of("tiny_lives");

	huge_lives(huge, tiny);
	for (unsigned i = 0; i < count_used; i++)
		printf("site %s %lu %lu %lu %lu %lu %lu\n", counts[i].name, counts[i].blocks,
		       counts[i].bytes, counts[i].usable, counts[i].live, counts[i].live_bytes,
		       counts[i].live_usable);
	printf("type Tiny %lu %lu\ntype Huge %lu %lu\n", tiny.blocks, tiny.bytes, huge.blocks,
	       huge.bytes);
	return 0;
}
