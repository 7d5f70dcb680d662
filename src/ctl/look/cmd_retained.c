/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retained.c: `shinyctl retained`: prints the bytes that only a type, call site or root keeps
 * alive. */
#include "../../base/units.h"
#include "../../graph/retained.h"
#include "../dimension.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

static void print_retained_totals(struct ctl *ctl, const void *result)
{
	const struct retained *r = result;

	snapshot_facts_print(ctl->style.out, &r->facts);
	fprintf(ctl->style.out, ": roots reach %s, %s\n",
		units_noun(UNITS_NOUN_BUF, r->blocks, "block"), units_bytes(UNITS_BUF, r->bytes));
	if (r->unreachable)
		fprintf(ctl->style.out, "no root reaches %s, %s\n",
			units_noun(UNITS_NOUN_BUF, r->unreachable, "block"),
			units_bytes(UNITS_BUF, r->unreachable_bytes));
	fputc('\n', ctl->style.out);
}

static struct shiny_err *load_retained(struct ctl *ctl, struct store *store,
				       const struct filter *filter, void *result)
{
	enum retained_by by = dimension_retained(ctl->options.by);

	return retained_load(store, filter, (uint32_t)ctl->options.number[OPT_SNAPSHOT], &by, 1,
			     ctl->options.given[OPT_FULL_NAMES], result);
}
VERB_BODY_DEINIT(struct retained, retained_deinit)

static const char *next_of_retained(const struct ctl *ctl)
{
	return ctl->options.by == BY_ROOT ? "retained" : "retained --by root";
}

const struct verb_body verb_retained = {
	.needs = "who keeps what",
	.fields = retained_fields,
	.size = sizeof(struct retained),
	.load = load_retained,
	.deinit = retained_deinit_result,
	.match = true,
	.usual = 30,
	.above = print_retained_totals,
	.next_of = next_of_retained,
};
