/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_at: prints how many blocks of which size were live at given moments, for tests that know it
 * from elsewhere. Usage: live_at SESSION SHIFT NS...: the moments in ns since the session's start,
 * ascending. One line "at NS", then a line a process, region (address >> SHIFT), api and size:
 * process region api size count.
 *
 * Blocks are counted in a hash table, as there are a hundred of them to a line and more.
 *
 * Runs: CLI, in tests. Allocates: what replay_run does, and a table of the lines. Threads: one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/analysis/replay/replay.h"
#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"

struct live_line {
	uint64_t region, size, count;
	unsigned api;
};
struct lines {
	int shift;
	const uint64_t *moments; /* UINT64_MAX ends them */
	VEC(struct live_line) found;
	struct hash_table table; /* of found */
};

static int by_key(const void *left, const void *right)
{
	const struct live_line *a = left, *b = right;

	if (a->region != b->region)
		return a->region < b->region ? -1 : 1;
	if (a->api != b->api)
		return a->api < b->api ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

static void count_life(struct lines *lines, uint64_t region, uint64_t size, unsigned api)
{
	uint64_t hash = hash_keys(hash_keys(region, size), api);
	uint32_t at = hash_table_find(&lines->table, hash, i,
				      lines->found.at[i].region == region &&
					      lines->found.at[i].size == size &&
					      lines->found.at[i].api == api);

	if (at == HASH_NONE) {
		at = (uint32_t)lines->found.count;
		*vec_push(&lines->found) = (struct live_line){ region, size, 0, api };
		hash_table_add(&lines->table, hash, at);
	}
	lines->found.at[at].count++;
}

static uint64_t print_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct lines *lines = context;

	printf("at %lu\n", moment);
	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];

		if (moment < p->start || (moment >= p->end && p->end < replay->duration))
			continue;
		replay_each(p, life)
			count_life(lines, life->address >> lines->shift, life->size, life->api);
		if (lines->found.count)
			qsort(lines->found.at, lines->found.count, sizeof(*lines->found.at),
			      by_key);
		for (size_t k = 0; k < lines->found.count; k++) {
			const struct live_line *line = &lines->found.at[k];

			printf("%u %lu %u %lu %lu\n", p->id, line->region, line->api, line->size,
			       line->count);
		}
		lines->found.count = 0;
		hash_table_deinit(&lines->table);
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
	free(lines.found.at);
	free(moments);
	if (err) {
		fprintf(stderr, "live_at: %s\n", err->message);
		shiny_err_free(err);
		return 4;
	}
	return fflush(stdout) == 0 ? 0 : 4;
}
