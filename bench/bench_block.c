/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_block.c: what packing and unpacking a stream of events costs: bytes and ns an event.
 *
 *   bench_block FILE.shiny…   the events of recorded sessions
 *   bench_block --raw FILE…   files of struct event, as another recorder wrote them
 *
 * Each figure is the best of five passes over the whole stream, all of it in memory; what comes
 * back is compared first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/store/block.h"
#include "../src/store/store.h"

enum { PASSES = 5 };

struct event_stream {
	struct event *events;
	size_t count, room;
};

static void must(struct shiny_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "bench_block: %s\n", err->message);
	exit(4);
}

static bool keep(void *context, const struct event *event)
{
	struct event_stream *s = context;

	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 1 << 20;
		s->events = reallocarray(s->events, s->room, sizeof(*s->events));
		if (!s->events)
			must(shiny_err(SHINY_ERR_OTHER, "out of memory"));
	}
	s->events[s->count++] = *event;
	return true;
}

static void load_session(const char *path, struct event_stream *s)
{
	struct store *store;

	must(store_open(path, &store));
	must(store_each_event(store, 0, 0, UINT64_MAX, keep, s));
	store_close(store);
}

static void load_raw(const char *path, struct event_stream *s)
{
	FILE *file = fopen(path, "r");
	struct event event;

	if (!file)
		must(shiny_err(SHINY_ERR_OTHER, "cannot read %s", path));
	while (fread(&event, sizeof(event), 1, file) == 1)
		keep(s, &event);
	fclose(file);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct check {
	const struct event *next;
	bool wrong;
};

static void compare(struct check *c, const struct event *events, size_t count)
{
	for (const struct event *e = events; e < events + count; e++) {
		const struct event *w = c->next++;

		c->wrong |= e->time != w->time || e->address != w->address || e->size != w->size ||
			    e->old_address != w->old_address || e->process != w->process ||
			    e->thread != w->thread || e->stack != w->stack ||
			    e->vtable != w->vtable || e->kind != w->kind || e->api != w->api;
	}
}

static volatile uint64_t sink; /* keeps the compiler from leaving the reads out */

/* check NULL: only reads them. */
static void read_back(struct unpacker *unpacker, const struct block *block, struct check *check)
{
	static struct event events[BLOCK_BATCH];

	must(unpacker_open(unpacker, block->data, block->bytes));
	for (size_t count = 1; count;) {
		must(unpacker_next(unpacker, events, &count));
		if (check)
			compare(check, events, count);
		else
			for (size_t i = 0; i < count; i++)
				sink += events[i].size;
	}
}

static void measure(const char *name, const struct event_stream *s)
{
	struct packer *packer;
	struct unpacker *unpacker;
	double pack_best = 1e30, unpack_best = 1e30;
	struct check check = { .next = s->events };
	size_t bytes = 0;

	must(packer_create(&packer));
	must(unpacker_create(&unpacker));
	for (int pass = 0; pass <= PASSES; pass++) { /* pass 0 compares and warms up */
		double pack = 0, unpack = 0, from = now();

		bytes = 0;
		for (size_t done = 0; done < s->count;) {
			struct block block;

			done += packer_add(packer, s->events + done, s->count - done);
			must(packer_finish(packer, &block));
			bytes += block.bytes;
			double packed = now();
			pack += packed - from;
			read_back(unpacker, &block, pass ? NULL : &check);
			from = now();
			unpack += from - packed;
		}
		if (pass && pack < pack_best)
			pack_best = pack;
		if (pass && unpack < unpack_best)
			unpack_best = unpack;
	}
	if (check.wrong || check.next != s->events + s->count)
		must(shiny_err(SHINY_ERR_OTHER, "%s: what came back is not what was packed", name));
	printf("%-28s %10zu events  %5.2f bytes/event  pack %5.1f ns  unpack %5.1f ns\n", name,
	       s->count, (double)bytes / (double)s->count, pack_best / (double)s->count,
	       unpack_best / (double)s->count);
	packer_destroy(packer);
	unpacker_destroy(unpacker);
}

int main(int argc, char **argv)
{
	bool raw = argc > 1 && strcmp(argv[1], "--raw") == 0;

	if (argc < 2 + raw) {
		fprintf(stderr,
			"bench_block: name one or more sessions, or --raw and files of events\n");
		return 2;
	}
	for (int i = 1 + raw; i < argc; i++) {
		struct event_stream s = { 0 };

		if (raw)
			load_raw(argv[i], &s);
		else
			load_session(argv[i], &s);
		if (s.count)
			measure(strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i], &s);
		free(s.events);
	}
	return 0;
}
