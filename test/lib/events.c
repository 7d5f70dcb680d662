/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: prints a session's events as text, for tests that count them themselves.
 * Usage: events SESSION [PROCESS FROM TO]: one line an event: kind process thread stack address
 * size old_address api, numbers in decimal. Of a vptr event, the size is its vtable, of a
 * construction or destruction its class. With a process and two times, in ns since the session's
 * start, only those, and the time last.
 *
 * Runs: CLI, in tests. Allocates: what the store does. Threads: one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/store/store.h"

static bool print_event(void *context, const struct event *event)
{
	static const char *const kinds[] = { "?",    "alloc", "free",	   "realloc",
					     "vptr", "map",   "construct", "destroy" };
	const bool *with_time = context;

	printf("%s %u %u %u %lu %lu %lu %u", event->kind < 8 ? kinds[event->kind] : "?",
	       event->process, event->thread, event->stack, event->address,
	       event->vtable && event->kind != EVENT_ALLOC ? event->vtable : event->size,
	       event->old_address, event->api);
	return (*with_time ? printf(" %lu\n", event->time) : printf("\n")) > 0;
}

static int failed(struct shiny_err *err)
{
	fprintf(stderr, "events: %s\n", err->message);
	shiny_err_free(err);
	return 4;
}

int main(int argc, char **argv)
{
	bool some = argc == 5;

	if (argc != 2 && !some) {
		fprintf(stderr, "usage: events SESSION [PROCESS FROM TO]\n");
		return 2;
	}
	struct store *store = NULL;
	struct shiny_err *err = store_open(argv[1], &store);
	if (err)
		return failed(err);
	err = store_each_event(store, some ? (uint32_t)strtoul(argv[2], NULL, 10) : 0,
			       some ? strtoull(argv[3], NULL, 10) : 0,
			       some ? strtoull(argv[4], NULL, 10) : UINT64_MAX, print_event, &some);
	store_close(store);
	if (err)
		return failed(err);
	return fflush(stdout) == 0 ? 0 : 4;
}
