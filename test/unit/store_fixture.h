/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fixture.h: a directory for one session, what is asked of it, and its events.
 *
 * Runs: tests. Signals: no. Allocates: the store does. Threads: one.
 */
#ifndef SHINY_TEST_STORE_FIXTURE_H
#define SHINY_TEST_STORE_FIXTURE_H

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/store/store.h"
#include "check.h"

static char directory[] = "/tmp/test_store.XXXXXX", path[sizeof(directory) + 16];

static inline bool fixture_begin(void)
{
	/* characters that mean something in a URI */
	return mkdtemp(directory) &&
	       snprintf(path, sizeof(path), "%s/a%%b?c#.shiny", directory) > 0;
}

/* Returns main's status. */
static inline int fixture_end(void)
{
	rmdir(directory);
	return failures != 0;
}

static inline int files_in_directory(void)
{
	DIR *dir = opendir(directory);
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static inline const char *one_text(struct store *store, const char *sql)
{
	static char answer[1000];
	struct query *query;
	bool row = false;

	must(store_query(store, sql, &query));
	must(query_step(query, &row));
	snprintf(answer, sizeof(answer), "%s", row ? query_text(query, 0) : "(no row)");
	query_end(query);
	return answer;
}

static inline void expect(struct store *store, const char *name, const char *sql, const char *want)
{
	const char *got = one_text(store, sql);

	checkf(name, strcmp(got, want) == 0, "wanted %s, got %s", want, got);
}

/* Time i, process 1 for the first half and 2 for the other. */
static inline void put_events(struct store *store, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct event e = { .time = i,
				   .kind = EVENT_ALLOC,
				   .api = 1,
				   .address = 4096 + i * 16,
				   .size = i % 50,
				   .stack = i % 7,
				   .process = i < count / 2 ? 1 : 2,
				   .thread = 1 };

		must(store_put_events(store, &e, 1));
	}
}

struct tally {
	uint64_t count, first, last, stop_at;
};

static inline bool tally_event(void *context, const struct event *event)
{
	struct tally *t = context;

	if (!t->count++)
		t->first = event->time;
	t->last = event->time;
	return t->count != t->stop_at;
}

static inline void expect_events(struct store *store, const char *name, uint32_t process,
				 uint64_t from, uint64_t to, uint64_t stop_at, uint64_t count,
				 uint64_t first, uint64_t last)
{
	struct tally t = { .stop_at = stop_at };

	must(store_each_event(store, process, from, to, tally_event, &t));
	checkf(name, t.count == count && t.first == first && t.last == last,
	       "%" PRIu64 " events from %" PRIu64 " to %" PRIu64, t.count, t.first, t.last);
}

#endif
