/* SPDX-License-Identifier: Apache-2.0 */
/* check_result.c: sorts parts by their value; for a rule against a base, by their gain. */
#define _GNU_SOURCE
#include "check_result.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

const char *const check_states[] = {
	[CHECK_HOLDS] = "holds", [CHECK_FAILS] = "fails", [CHECK_UNKNOWN] = "unknown"
};

static int by_weight(const void *left, const void *right, void *context)
{
	const struct check_part *a = left, *b = right;
	const struct check_rule *rule = context;
	double sign = rule->op == CHECK_GE || rule->op == CHECK_GT ? -1 : 1;
	double x = rule->relative ? sign * (a->value - a->base) : a->value,
	       y = rule->relative ? sign * (b->value - b->base) : b->value;

	return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

void check_part_add(struct check_result *r, char *name, double base, double value)
{
	if ((r->part_total & (r->part_total - 1)) == 0)
		r->parts = mem_resize(r->parts, r->part_total ? 2 * r->part_total : 1,
				      sizeof(*r->parts));
	r->parts[r->part_total++] = (struct check_part){ name, base, value, false };
}

void check_parts_sort(struct check_result *r, const struct check_rule *rule)
{
	size_t most = r->state == CHECK_FAILS ? CHECK_PARTS : 0;

	if (r->part_total)
		qsort_r(r->parts, r->part_total, sizeof(*r->parts), by_weight, (void *)rule);
	for (size_t i = 0; i < r->part_total; i++)
		r->parts[i].relative = rule->relative;
	r->part_count = r->part_total < most ? r->part_total : most;
	for (size_t i = r->part_count; i < r->part_total; i++)
		free(r->parts[i].name);
}
