/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_at: prints how many blocks of which size were live at given moments, for tests that know it
 * from elsewhere. Usage: live_at SESSION SHIFT NS...: the moments in ns since the session's start,
 * ascending. One line "at NS", then a line a process, region (address >> SHIFT), api and size:
 * process region api size count.
 *
 * Runs: CLI, in tests. Allocates: what replay_run does, and a table of the lines. Threads: one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/analysis/replay/replay.h"
#include "../../src/base/mem.h"

struct key {
	uint64_t region, size;
	unsigned api;
};
struct lines {
	int shift;
	const uint64_t *moments; /* UINT64_MAX ends them */
	VEC(struct key) keys;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->region != b->region)
		return a->region < b->region ? -1 : 1;
	if (a->api != b->api)
		return a->api < b->api ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

static uint64_t print_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct lines *lines = context;

	printf("at %lu\n", moment);
	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];

		if (moment < p->start || (moment >= p->end && p->end < replay->duration))
			continue;
		lines->keys.count = 0;
		replay_each(p, life) * vec_push(&lines->keys) =
			(struct key){ life->address >> lines->shift, life->size, life->api };
		if (lines->keys.count)
			qsort(lines->keys.at, lines->keys.count, sizeof(*lines->keys.at), by_key);
		for (size_t k = 0, from = 0; k < lines->keys.count; k++) {
			const struct key *key = &lines->keys.at[k];

			if (k + 1 < lines->keys.count && by_key(key, key + 1) == 0)
				continue;
			printf("%u %lu %u %lu %zu\n", p->id, key->region, key->api, key->size,
			       k + 1 - from);
			from = k + 1;
		}
	}
	return *++lines->moments;
}

int main(int argc, char **argv)
{
	struct store *store = NULL;
	struct filter all = { 0 };
	struct shiny_err *err;

	if (argc < 4) {
		fprintf(stderr, "usage: live_at SESSION SHIFT NS...\n");
		return 2;
	}
	uint64_t *moments = mem_zero((size_t)argc, sizeof(*moments));
	for (int i = 3; i < argc; i++)
		moments[i - 3] = strtoull(argv[i], NULL, 10);
	moments[argc - 3] = UINT64_MAX;
	struct lines lines = { .shift = atoi(argv[2]), .moments = moments };
	struct replay_observer observer = { .context = &lines,
					    .moment = print_moment,
					    .first_moment = moments[0] };
	err = store_open(argv[1], &store);
	if (!err)
		err = filter_resolve(store, NULL, &all);
	if (!err)
		err = replay_run(store, &all, &observer, 1, NULL);
	filter_deinit(&all);
	store_close(store);
	free(lines.keys.at);
	free(moments);
	if (err) {
		fprintf(stderr, "live_at: %s\n", err->message);
		shiny_err_free(err);
		return 4;
	}
	return fflush(stdout) == 0 ? 0 : 4;
}
