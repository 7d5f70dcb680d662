/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.c: a program that knows what it allocated between its marks and under its tags, and prints
 * it; with an argument, so many more blocks are served between marks load and idle, under tag work.
 *
 * A line for each of the three parts of the run and the two tags, * for any: part, tag, blocks,
 * bytes, live blocks, live bytes, most live bytes at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include <shiny/shiny.h>

#define APART __attribute__((noinline))
enum part { BEFORE, LOAD, IDLE, PARTS }; /* PARTS: any */
enum tag { NONE, STARTUP, WORK, TAGS };  /* TAGS: any */
enum { MOST = 4096, CONFIG_BYTES = 1000, PARSE_BYTES = 64, CACHE_BYTES = 2000, SERVE_BYTES = 300 };

static const char *const part_names[] = { "before", "load", "idle", "*" }, *const tag_names[] = {
	"-", "startup", "work", "*"
};
static struct block {
	void *at;
	long bytes;
	enum part part;
	enum tag tag;
} blocks[MOST];
static struct sums {
	long blocks, bytes, live, live_bytes, peak_bytes;
} book[PARTS + 1][TAGS + 1];
static int count;
static enum part now_part;
static enum tag now_tag;

static void note(const struct block *block, long more)
{
	for (int p = 0; p <= PARTS; p++)
		for (int t = 0; t <= TAGS; t++) {
			struct sums *s = &book[p][t];

			if ((p != PARTS && p != (int)block->part) ||
			    (t != TAGS && t != (int)block->tag))
				continue;
			s->blocks += more > 0;
			s->bytes += more > 0 ? block->bytes : 0;
			s->live += more;
			s->live_bytes += more * block->bytes;
			s->peak_bytes =
				s->live_bytes > s->peak_bytes ? s->live_bytes : s->peak_bytes;
		}
}

static int keep(void *at, long bytes)
{
	if (!at || count == MOST)
		exit(1);
	blocks[count] = (struct block){at, bytes, now_part, now_tag};
	note(&blocks[count], 1);
	return count++;
}

static void drop(int index)
{
	note(&blocks[index], -1);
	free(blocks[index].at);
}

APART static int config(void) { return keep(malloc(CONFIG_BYTES), CONFIG_BYTES); }
APART static int parse(void) { return keep(malloc(PARSE_BYTES), PARSE_BYTES); }
APART static int cache(void) { return keep(malloc(CACHE_BYTES), CACHE_BYTES); }
APART static int serve(void) { return keep(malloc(SERVE_BYTES), SERVE_BYTES); }

static void under(enum tag tag)
{
	if (now_tag != NONE)
		shiny_tag_pop();
	now_tag = tag;
	if (tag != NONE)
		shiny_tag_push(tag_names[tag]);
}

static void mark(enum part part)
{
	shiny_mark(part_names[part]);
	now_part = part;
}

int main(int argc, char **argv)
{
	int served[MOST], serves = 30 + (argc > 1 ? atoi(argv[1]) : 0);

	setvbuf(stdout, NULL, _IONBF, 0);
	under(STARTUP);
	for (int i = 0; i < 10; i++)
		config();
	mark(LOAD);
	for (int i = 0; i < 20; i++)
		config();
	for (int i = 0; i < 50; i++)
		drop(parse());
	under(NONE);
	for (int i = 0; i < 5; i++)
		cache();
	under(WORK);
	for (int i = 0; i < serves && i < MOST; i++)
		served[i] = serve();
	mark(IDLE);
	/* of the part before, as far as anybody asks */
	for (int i = 0; i < serves && i < MOST; i++)
		drop(served[i]);
	for (int i = 0; i < 40; i++)
		drop(serve());
	for (int i = 0; i < 3; i++)
		serve();
	under(NONE);
	for (int i = 0; i < 7; i++)
		cache();
	for (int p = 0; p <= PARTS; p++)
		for (int t = 0; t <= TAGS; t++)
			printf("%s %s %ld %ld %ld %ld %ld\n", part_names[p], tag_names[t],
			       book[p][t].blocks, book[p][t].bytes, book[p][t].live,
			       book[p][t].live_bytes, book[p][t].peak_bytes);
	return 0;
}
