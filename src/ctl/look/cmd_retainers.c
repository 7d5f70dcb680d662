/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retainers.c: `shinyctl retainers`: prints the ways from roots to blocks. */
#include "../../base/units.h"
#include "../../graph/retainers.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

static void print_retainers_totals(struct ctl *ctl, const void *result)
{
	const struct retainers *r = result;

	snapshot_facts_print(ctl->style.out, &r->facts);
	fprintf(ctl->style.out, ": %s, %s, %s\n", units_noun(UNITS_NOUN_BUF, r->blocks, "block"),
		units_bytes(UNITS_BUF, r->bytes), units_noun(UNITS_NOUN_BUF, r->count, "way"));
	if (r->unreachable)
		fprintf(ctl->style.out, "no root reaches another %s, %s\n",
			units_noun(UNITS_NOUN_BUF, r->unreachable, "block"),
			units_bytes(UNITS_BUF, r->unreachable_bytes));
	fputc('\n', ctl->style.out);
}

static struct shiny_err *load_retainers(struct ctl *ctl, struct store *store,
					const struct filter *filter, void *result)
{
	return retainers_load(store, filter, (uint32_t)ctl->options.number[OPT_SNAPSHOT],
			      ctl->options.operands[1], ctl->options.given[OPT_FULL_NAMES], result);
}
VERB_BODY_DEINIT(struct retainers, retainers_deinit)

const struct verb_body verb_retainers = {
	.needs = "who keeps what",
	.fields = retainers_fields,
	.size = sizeof(struct retainers),
	.load = load_retainers,
	.deinit = retainers_deinit_result,
	.usual = 10,
	.above = print_retainers_totals,
	.next = "retained",
};
