/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: prints a session's events as text, for tests that count them themselves.
 * Usage: events SESSION: one line an event: kind process thread stack address size old_address api, numbers in decimal. Of a vptr
 * event, the size is its vtable.
 *
 * Runs: CLI, in tests. Allocates: what the store does. Threads: one.
 */
#include <stdio.h>

#include "../../src/store/store.h"

static bool print_event(void *context, const struct event *event)
{
	uint64_t *count = context;
	static const char *const kinds[] = { "?", "alloc", "free", "realloc", "vptr", "map" };
	++*count;
	return printf("%s %u %u %u %lu %lu %lu %u\n", event->kind < 6 ? kinds[event->kind] : "?", event->process, event->thread,
		      event->stack, event->address, event->kind == EVENT_VPTR ? event->vtable : event->size, event->old_address,
		      event->api) > 0;
}

static int failed(struct shiny_err *err)
{
	fprintf(stderr, "events: %s\n", err->message);
	shiny_err_free(err);
	return 4;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: events SESSION\n");
		return 2;
	}
	struct store *store = NULL;
	struct shiny_err *err = store_open(argv[1], &store);
	if (err)
		return failed(err);
	uint64_t count = 0;
	err = store_each_event(store, 0, 0, UINT64_MAX, print_event, &count);
	store_close(store);
	if (err)
		return failed(err);
	return fflush(stdout) == 0 ? 0 : 4;
}
