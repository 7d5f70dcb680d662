/* SPDX-License-Identifier: Apache-2.0 */
/* check_session.c: each measure has the value that its own verb shows (mismatches, leaks,
 * unreachable, report). */
#define _GNU_SOURCE
#include "check_session.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../graph/unreachable.h"
#include "../attribute/mismatches.h"
#include "../time/leaks.h"
#include "../totals/losses.h"

static char *site_of(const struct check_side *side, uint32_t stack)
{
	AUTO_QUERY struct query *q = NULL;
	const struct texts *names = &side->breakdown->names[BREAKDOWN_SITE];
	const char *name = NULL;
	bool row = false;
	struct shiny_err *err = store_query(side->store, "SELECT site FROM stack WHERE id = ?", &q);

	if (!err) {
		query_bind_number(q, 1, stack);
		err = query_step(q, &row);
	}
	if (!err && row)
		name = names->at[query_id(q, 0, names->count)];
	shiny_err_free(err); /* the row stays, without a name */
	return mem_text(name ? name : "(no stack)");
}

static struct shiny_err *count_mismatches(const struct check_side *side, bool strays, double *value,
					  struct check_result *parts)
{
	struct mismatches m;

	SHINY_TRY(mismatches_load(side->store, side->filter, side->options->progress, &m));
	for (size_t i = 0; i < m.count; i++) {
		const struct mismatch *row = &m.rows[i];
		char *allocation, *end;

		if ((row->kind == MISMATCH_UNKNOWN) != strays)
			continue;
		*value += (double)row->count;
		if (!parts)
			continue;
		allocation = site_of(side, row->allocation);
		end = site_of(side, row->free);
		check_part_add(parts,
			       strays ? mem_format("unknown, freed by %s", end)
				      : mem_format("%s: %s, freed by %s", mismatch_names[row->kind],
						   allocation, end),
			       0, (double)row->count);
		free(allocation);
		free(end);
	}
	mismatches_deinit(&m);
	return NULL;
}

static struct shiny_err *count_growing(const struct check_side *side, double *value,
				       struct check_result *parts)
{
	struct leaks leaks;

	SHINY_TRY(leaks_load(side->store, side->filter, GROUP_SITE, NULL,
			     side->options->suppressions, side->options->full_names,
			     side->options->progress, &leaks));
	for (size_t i = 0; i < leaks.count; i++) {
		*value += leaks.rows[i].grows;
		if (leaks.rows[i].grows && parts)
			check_part_add(parts, mem_text(leaks.rows[i].name), 0,
				       (double)leaks.rows[i].left.blocks);
	}
	leaks_deinit(&leaks);
	return NULL;
}

static struct shiny_err *count_unreachable(const struct check_side *side, bool bytes,
					   double *value, struct check_result *parts)
{
	struct unreachable u;

	SHINY_TRY(unreachable_load(side->store, side->filter, 0, GROUP_SITE,
				   side->options->suppressions, side->options->full_names, &u));
	for (size_t i = 0; i < u.count; i++) {
		const struct unreachable_sums *sums = &u.rows[i].sums;
		double part = (double)(bytes ? sums->direct_bytes + sums->indirect_bytes
					     : sums->direct + sums->indirect);

		*value += part;
		if (parts)
			check_part_add(parts, mem_text(u.rows[i].name), 0, part);
	}
	unreachable_deinit(&u);
	return NULL;
}

static struct shiny_err *count_lost(const struct check_side *side, double *value,
				    struct check_result *parts)
{
	struct losses losses;

	SHINY_TRY(losses_load(side->store, &losses));
	*value = (double)losses.lost;
	for (size_t i = 0; parts && i < losses.count; i++)
		if (losses.rows[i].loss)
			check_part_add(parts,
				       mem_text(losses.rows[i].text ? losses.rows[i].text
								    : losses.rows[i].name),
				       0, (double)losses.rows[i].count);
	losses_deinit(&losses);
	return NULL;
}

struct shiny_err *check_session_value(const struct check_side *side, enum check_measure measure,
				      double *value, struct check_result *parts)
{
	*value = 0;
	switch (measure) {
	case CHECK_MISMATCHES:
	case CHECK_UNKNOWN_FREES:
		return count_mismatches(side, measure == CHECK_UNKNOWN_FREES, value, parts);
	case CHECK_GROWING:
		return count_growing(side, value, parts);
	case CHECK_UNREACHABLE:
	case CHECK_UNREACHABLE_BYTES:
		return count_unreachable(side, measure == CHECK_UNREACHABLE_BYTES, value, parts);
	case CHECK_LOST:
		return count_lost(side, value, parts);
	case CHECK_PROCESSES:
		*value = (double)side->breakdown->processes;
		return NULL;
	default:
		*value = (double)side->breakdown->duration;
		return NULL;
	}
}
