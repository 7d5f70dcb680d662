/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_types: prints how many blocks of which type were live at given moments, for tests that know
 * it from elsewhere. Usage: live_types [--whole] SESSION NS...: the moments in ns since the
 * session's start, ascending. One line "at NS", then a line a process and type, separated by tabs:
 * process type api count bytes. --whole: bytes of collected objects as heap snapshots of Chromium
 * count them (collected_bytes.h).
 *
 * Runs: CLI, in tests. Allocates: what replay.h does, and a row a type. Threads: one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/analysis/attribute/groups.h"
#include "../../src/base/mem.h"
#include "../../include/shiny/wire/wire.h"
#include "collected_bytes.h"

enum { APIS = 32 };

struct row {
	uint64_t count, bytes;
};
struct at {
	struct groups groups;
	struct row *rows; /* a type and api each */
	uint64_t *moments;
	size_t count, next;
	bool whole;
};

static uint64_t bytes_of(const struct life *life, bool whole)
{
	return whole && life->api == SHINY_API_COLLECTED ?
		       collected_bytes(life->address, life->size) :
		       life->size;
}

static uint64_t print_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct at *at = context;

	printf("at %" PRIu64 "\n", moment);
	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];

		for (size_t k = 0; k < at->groups.count * APIS; k++)
			at->rows[k] = (struct row){ 0 };
		if (p->start <= moment && moment < p->end)
			replay_each(p, life)
			{
				struct row *row =
					&at->rows[groups_find(&at->groups, p, life) * APIS +
						  life->api % APIS];

				row->count++;
				row->bytes += bytes_of(life, at->whole);
			}
		for (size_t k = 0; k < at->groups.count * APIS; k++)
			if (at->rows[k].count)
				printf("%u\t%s\t%zu\t%" PRIu64 "\t%" PRIu64 "\n", p->id,
				       at->groups.names[k / APIS], k % APIS, at->rows[k].count,
				       at->rows[k].bytes);
	}
	return ++at->next < at->count ? at->moments[at->next] : UINT64_MAX;
}

int main(int argc, char **argv)
{
	bool whole = argc > 1 && strcmp(argv[1], "--whole") == 0;
	int first = whole ? 2 : 1;
	struct at at = { .count = argc > first + 1 ? (size_t)(argc - first - 1) : 0,
			 .whole = whole };
	struct replay_observer observer = { .context = &at, .moment = print_moment };
	struct filter all = { 0 };
	struct store *store = NULL;
	struct shiny_err *err;

	if (!at.count) {
		fprintf(stderr, "usage: live_types [--whole] SESSION NS...\n");
		return 2;
	}
	at.moments = mem_zero(at.count, sizeof(*at.moments));
	for (size_t i = 0; i < at.count; i++)
		at.moments[i] = strtoull(argv[(size_t)first + 1 + i], NULL, 10);
	observer.first_moment = at.moments[0];
	err = store_open(argv[first], &store);
	if (!err)
		err = filter_resolve(store, NULL, &all);
	if (!err)
		err = groups_load(store, GROUP_TYPE, true, &at.groups);
	if (!err) {
		at.rows = mem_zero(at.groups.count * APIS, sizeof(*at.rows));
		err = replay_run(store, &all, &observer, 1, NULL);
	}
	if (err)
		fprintf(stderr, "live_types: %s\n", err->message);
	filter_deinit(&all);
	groups_deinit(&at.groups);
	free(at.rows);
	free(at.moments);
	store_close(store);
	return err != NULL;
}
