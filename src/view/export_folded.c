/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_folded.c: collapsed stacks, for flamegraph.pl, inferno and similar tools: a line a stack,
 * outermost function first, its weight last.
 *
 * One stack may be several lines, where several processes or types have it: readers add them up. A
 * semicolon in a name becomes a comma, as it would be another function. A stack that was cut off
 * begins with a name that says so: its outermost function is not where a program starts.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "export.h"

static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc_unlocked(*name == ';' ? ',' : *name, out);
}

struct shiny_err *export_folded(const struct export_job *job)
{
	const struct profile *p = job->profile;
	AUTO_FREE char *cut = stack_paths_cut_name(&p->code);
	struct path_walk walk = { 0 };

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct profile_sample *sample = &p->samples[i];
		uint64_t weight = profile_weight(sample, job->measure);

		if (!weight)
			continue;
		stack_paths_walk(&p->code, sample->stack, &walk);
		if (stack_paths_cut(&p->code, sample->stack))
			fprintf(job->out, "%s;", cut);
		for (size_t k = walk.count; k--;) {
			put_name(job->out, profile_text(p, p->code.functions.at[walk.at[k]].name));
			if (k)
				putc_unlocked(';', job->out);
		}
		fprintf(job->out, "%s %" PRIu64 "\n", walk.count ? "" : "(no stack)", weight);
	}
	free(walk.at);
	return NULL;
}
