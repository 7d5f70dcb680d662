/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_session.c: session files with damage in them: opening, every view and the events either work
 * or end in an error with text; nothing crashes, hangs or reads wild (the sanitizer build proves
 * the last). The seed is fixed, the time bounded.
 *
 *   fuzz_session [SECONDS]     without, so many seconds and rounds as `make check` has room for
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../src/store/store.h"
#include "../lib/random.h"
#include "../unit/check.h"

enum { ROUNDS = 1500, SECONDS = 10, EVENTS = 3000 };

static volatile uint64_t sink; /* what is read has to go somewhere */

static void make_session(const char *path)
{
	struct store *store;
	uint64_t live[100] = { 0 };

	must(store_create(path, true, true, &store));
	must(store_put_process(store, &(struct store_process){ .id = 1, .name = "p" }));
	must(store_put_module(store, &(struct store_module){ .id = 1, .path = "/bin/p" }));
	must(store_put_vtable(store,
			      &(struct store_vtable){
				      .id = 1, .module = 1, .source = "rtti", .type = "T" }));
	for (uint32_t i = 1; i < 50; i++) {
		must(store_put_frame(store, i, 1, i,
				     &(struct store_frame_line){ .function = i & 1 ? "f" : "std::g",
								 .file = "f.c",
								 .line = i },
				     1));
		must(store_put_stack(store, i, (uint32_t[]){ i, i / 2 + 1 }, 2));
	}
	for (uint32_t i = 1; i < 50; i++) {
		must(store_put_stat(
			store, &(struct store_stat){
				       .process = 1, .stack = i, .vtable = i & 1, .allocs = i }));
		must(store_put_lifetime(
			store, &(struct store_lifetime){
				       .process = 1, .stack = i, .bin = (uint8_t)i, .count = 1 }));
	}
	must(store_put_bucket(store, &(struct store_bucket){ .process = 1, .length = 1 }));
	must(store_put_counter(store, 1, "LOST", "loss", 1, "x"));
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event e = {
			.time = i * 37, .process = 1, .thread = 1 + (i & 1), .stack = i % 50
		};
		uint64_t *slot = &live[next_random() % 100];

		e.kind = !*slot	 ? EVENT_ALLOC
			 : i % 5 ? EVENT_FREE
			 : i % 2 ? EVENT_REALLOC
				 : EVENT_VPTR;
		if (e.kind == EVENT_ALLOC)
			*slot = 4096 + next_random() % 1000 * 16;
		e.address = *slot;
		e.old_address = e.kind == EVENT_REALLOC ? *slot : 0;
		e.size = e.kind == EVENT_ALLOC ? next_random() % 90 : 0;
		if (e.kind == EVENT_FREE)
			*slot = 0;
		must(store_put_events(store, &e, 1));
	}
	must(store_finish(store, NULL));
}

static bool any_event(void *context, const struct event *event)
{
	(*(uint64_t *)context)++;
	return true;
}

/* All rows of a statement that the damage may have made impossible. Text and numbers are read, so
 * that all of it is looked at. */
static struct shiny_err *drain(struct store *store, const char *sql)
{
	struct query *query;
	bool row = true;
	struct shiny_err *err = store_query(store, sql, &query);

	if (err)
		return err;
	/* damage can turn a table into a very long one: enough is enough */
	for (int rows = 0; rows < 20000; rows++) {
		err = query_step(query, &row);
		if (err || !row)
			break;
		sink += strlen(query_text(query, 0)) + (uint64_t)query_number(query, 1);
	}
	query_end(query);
	return err;
}

static void look(const char *path, unsigned *refused, unsigned *read_whole)
{
	static const char *const views[] = { "v_processes", "v_modules",    "v_types",
					     "v_sites",	    "v_stacks",	    "v_site_types",
					     "v_lifetimes", "v_timeline",   "v_losses",
					     "v_session",   "documentation" };
	struct store *store;
	uint64_t events = 0;
	struct shiny_err *err = store_open(path, &store);
	bool whole = !err;

	if (err) {
		if (!err->message[0])
			must(shiny_err(SHINY_ERR_OTHER, "an error without text"));
		shiny_err_free(err);
		(*refused)++;
		return;
	}
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		char sql[100];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", views[i]);
		err = drain(store, sql);
		whole &= !err;
		shiny_err_free(err);
	}
	err = store_each_event(store, 0, 0, UINT64_MAX, any_event, &events);
	whole &= !err;
	if (!err && events > EVENTS)
		must(shiny_err(SHINY_ERR_OTHER, "damage made more events"));
	shiny_err_free(err);
	store_close(store);
	*read_whole += whole;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/fuzz_session.XXXXXX", path[64];
	int rounds = argc > 1 ? INT_MAX : ROUNDS, seconds = argc > 1 ? atoi(argv[1]) : SECONDS,
	    round;
	unsigned refused = 0, whole = 0;
	time_t end = time(NULL) + seconds;

	if (!mkdtemp(directory))
		return 1;
	if (getenv("FUZZ_SEED"))
		random_state = strtoull(getenv("FUZZ_SEED"), NULL, 10) * 2 + 1;
	snprintf(path, sizeof(path), "%s/x.shiny", directory);
	make_session(path);
	look(path, &refused, &whole);
	if (whole != 1)
		must(shiny_err(SHINY_ERR_OTHER, "the session without damage is not read"));

	FILE *file = fopen(path, "r");
	static uint8_t good[1 << 20], bad[1 << 20];
	size_t bytes = file ? fread(good, 1, sizeof(good), file) : 0;
	if (!bytes || bytes == sizeof(good) || fclose(file) != 0)
		must(shiny_err(SHINY_ERR_OTHER, "cannot read the session back"));
	for (round = 0; round < rounds && time(NULL) < end; round++) {
		size_t length = next_random() % 8 ? bytes : next_random() % bytes;

		memcpy(bad, good, bytes);
		for (uint64_t n = next_random() % 20 + 1; n; n--) {
			/* half of it in the first pages, where the schema is, some in runs */
			size_t at = next_random() % (next_random() & 1 ? bytes : 16384),
			       run = next_random() % 8 ? 1 : next_random() % 64;

			for (; run && at < bytes; run--, at++)
				bad[at] = next_random() & 1
						  ? (uint8_t)next_random()
						  : bad[at] ^ (uint8_t)(1u << (next_random() & 7));
		}
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || write(fd, bad, length) != (ssize_t)length || close(fd) != 0)
			must(shiny_err(SHINY_ERR_OTHER, "cannot write a damaged session"));
		look(path, &refused, &whole);
	}
	unlink(path);
	rmdir(directory);
	printf("# %d damaged sessions: %u refused at once, %u read as if whole\n", round, refused,
	       whole - 1);
	if (round < rounds)
		printf("# stopped after %d seconds\n", seconds);
	printf("ok fuzz_session\n");
	return 0;
}
