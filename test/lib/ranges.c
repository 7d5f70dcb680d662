/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges: prints which events of numbered.c a session has, as one line "first last" for each run
 * of them without a gap, in the session's order. Usage: ranges SESSION FIRST: block N has FIRST + N
 * bytes; event 2 N is its beginning, 2 N + 1 its end. A free whose block's beginning is not there
 * is seen where it is the session's first event.
 *
 * Runs: CLI, in tests. Allocates: what the store does. Threads: one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/store/store.h"

struct event_ranges {
	uint64_t first, block; /* block: the address of the one that lives, or 0 */
	bool begun, orphan;
	int64_t from, last;
};

static void print_range(const struct event_ranges *r)
{
	if (r->begun)
		printf("%ld %ld\n", r->from, r->last);
}

static void see_number(struct event_ranges *r, int64_t number)
{
	if (!r->begun || number != r->last + 1) {
		print_range(r);
		r->from = number;
	}
	r->last = number;
	r->begun = true;
}

static int64_t begins_at(const struct event_ranges *r, uint64_t size)
{
	return 2 * (int64_t)(size - r->first);
}

static bool see_event(void *context, const struct event *event)
{
	struct event_ranges *r = context;

	if (event->kind == EVENT_ALLOC && event->size >= r->first) {
		if (r->orphan && !r->begun)
			see_number(r, begins_at(r, event->size) - 1);
		see_number(r, begins_at(r, event->size));
		r->block = event->address;
	} else if (event->kind == EVENT_FREE) {
		r->orphan |= !r->begun;
		if (r->block && event->address == r->block) {
			see_number(r, r->last + 1);
			r->block = 0;
		}
	}
	return true;
}

static int failed(struct shiny_err *err)
{
	fprintf(stderr, "ranges: %s\n", err->message);
	shiny_err_free(err);
	return 4;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: ranges SESSION FIRST\n");
		return 2;
	}
	struct event_ranges ranges = { .first = strtoull(argv[2], NULL, 10) };
	struct store *store = NULL;
	struct shiny_err *err = store_open(argv[1], &store);
	if (err)
		return failed(err);
	err = store_each_event(store, 0, 0, UINT64_MAX, see_event, &ranges);
	store_close(store);
	if (err)
		return failed(err);
	print_range(&ranges);
	return fflush(stdout) == 0 ? 0 : 4;
}
