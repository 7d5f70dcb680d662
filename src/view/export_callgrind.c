/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_callgrind.c: a callgrind profile, for KCachegrind and callgrind_annotate.
 *
 * Four costs: bytes and blocks live at the end, bytes and blocks allocated. A cost is the own cost
 * of a stack's innermost function, and the inclusive cost of each call on it. Functions are known
 * by their name and file. Each name has a number, which the format allows, as a name in parentheses
 * would be taken for one: "(anonymous namespace)::parse". A function that is several times on a
 * stack calls itself: as with callgrind, inclusive costs of such a cycle count more than once.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/hash.h"
#include "../base/hash_table.h"
#include "export.h"

enum { CALLGRIND_COSTS = 4, NO_CALLEE = UINT32_MAX };

struct callgrind_cost { /* own cost of a line, or of a call of `callee` from it */
	uint32_t caller, callee; /* indexes of profile's lines; callee NO_CALLEE: own cost */
	uint64_t costs[CALLGRIND_COSTS];
};
struct callgrind_costs {
	struct hash_table table;
	VEC(struct callgrind_cost) rows;
};

static void add_cost(struct callgrind_costs *c, uint32_t caller, uint32_t callee,
		     const struct sums *sums)
{
	const uint64_t costs[CALLGRIND_COSTS] = { sums->live_bytes, sums->live, sums->bytes,
						  sums->allocs };
	uint64_t hash = hash_keys(caller, callee);
	uint32_t at = hash_table_find(&c->table, hash, i,
				      c->rows.at[i].caller == caller &&
					      c->rows.at[i].callee == callee);

	if (at == HASH_NONE) {
		at = (uint32_t)c->rows.count;
		*vec_push(&c->rows) = (struct callgrind_cost){ caller, callee, { 0 } };
		hash_table_add(&c->table, hash, at);
	}
	for (int i = 0; i < CALLGRIND_COSTS; i++)
		c->rows.at[at].costs[i] += costs[i];
}

struct callgrind_names {
	struct texts files, functions; /* a name's number is its index + 1 */
};

static void put_name(FILE *out, const char *key, struct texts *names, const char *name)
{
	size_t before = names->count;
	uint32_t at = texts_put(names, name);

	fprintf(out, "%s=(%" PRIu32 ")", key, at + 1);
	if (names->count > before)
		fprintf(out, " %s", name);
	putc('\n', out);
}

static void put_function(const struct export_job *job, struct callgrind_names *names, uint32_t at,
			 bool called)
{
	const struct profile *p = job->profile;
	const struct path_function *line =
		at < p->code.functions.count ? &p->code.functions.at[at] : NULL;
	const char *file = line ? profile_text(p, line->file) : "";

	put_name(job->out, called ? "cfi" : "fl", &names->files, *file ? file : "???");
	put_name(job->out, called ? "cfn" : "fn", &names->functions,
		 line ? profile_text(p, line->name) : "(no stack)");
}

static void put_costs(const struct export_job *job, uint32_t at, const uint64_t *costs)
{
	const struct profile *p = job->profile;

	fprintf(job->out, "%" PRIu32,
		at < p->code.functions.count ? p->code.functions.at[at].line : 0);
	for (int i = 0; i < CALLGRIND_COSTS; i++)
		fprintf(job->out, " %" PRIu64, costs[i]);
	putc('\n', job->out);
}

struct shiny_err *export_callgrind(const struct export_job *job)
{
	const struct profile *p = job->profile;
	struct callgrind_costs c = { 0 };
	struct callgrind_names names = { 0 };
	struct path_walk walk = { 0 };

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct profile_sample *sample = &p->samples[i];

		if (!sample->sums.allocs && !sample->sums.live)
			continue;
		stack_paths_walk(&p->code, sample->stack, &walk);
		add_cost(&c, walk.count ? walk.at[0] : (uint32_t)p->code.functions.count, NO_CALLEE,
			 &sample->sums);
		for (size_t k = 1; k < walk.count; k++)
			add_cost(&c, walk.at[k], walk.at[k - 1], &sample->sums);
	}
	fprintf(job->out,
		"# callgrind format\nversion: 1\ncreator: shinyctl " SHINY_VERSION_TEXT
		"\ncmd: %s\ndesc: Recording: %s\npositions: line\n"
		"event: LiveBytes : bytes live at the end\nevent: Live : blocks live at the end\n"
		"event: Bytes : bytes allocated\nevent: Allocs : allocations\n"
		"events: LiveBytes Live Bytes Allocs\n"
		"summary: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		job->command, job->loss, p->total.live_bytes, p->total.live, p->total.bytes,
		p->total.allocs);
	for (size_t i = 0; i < c.rows.count; i++) {
		const struct callgrind_cost *row = &c.rows.at[i];

		putc('\n', job->out);
		put_function(job, &names, row->caller, false);
		if (row->callee != NO_CALLEE) {
			put_function(job, &names, row->callee, true);
			fprintf(job->out, "calls=%" PRIu64 " %" PRIu32 "\n",
				row->costs[CALLGRIND_COSTS - 1],
				p->code.functions.at[row->callee].line);
		}
		put_costs(job, row->caller, row->costs);
	}
	texts_deinit(&names.files);
	texts_deinit(&names.functions);
	hash_table_deinit(&c.table);
	free(c.rows.at);
	free(walk.at);
	return NULL;
}
