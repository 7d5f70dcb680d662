/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_unreachable.c: `shinyctl retained --unreachable`: lists blocks that no root reaches. */
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../graph/unreachable.h"
#include "../dimension.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

enum { CHECK_FAILED = 1 /* exit status */ };

static void print_unreachable_totals(struct ctl *ctl, const void *result)
{
	const struct unreachable *u = result;

	snapshot_facts_print(ctl->style.out, &u->facts);
	fprintf(ctl->style.out, ": of %s, %s, no root reaches %s, %s\n",
		units_noun(UNITS_NOUN_BUF, u->blocks, "block"), units_bytes(UNITS_BUF, u->bytes),
		units_count(UNITS_BUF, u->sums.direct + u->sums.indirect),
		units_bytes(UNITS_BUF, u->sums.direct_bytes + u->sums.indirect_bytes));
	fprintf(ctl->style.out, "%s direct; %s indirect, other unreachable blocks point to them\n",
		units_count(UNITS_BUF, u->sums.direct), units_count(UNITS_BUF, u->sums.indirect));
	if (u->suppressed)
		fprintf(ctl->style.out, "%s, %s, suppressed\n",
			units_count(UNITS_BUF, u->suppressed),
			units_bytes(UNITS_BUF, u->suppressed_bytes));
	if (u->facts.unread)
		fprintf(ctl->style.out, "%s of its memory could not be read\n",
			units_bytes(UNITS_BUF, u->facts.unread));
	fputc('\n', ctl->style.out);
}

static struct shiny_err *load_unreachable(struct ctl *ctl, struct store *store,
					  const struct filter *filter, void *result)
{
	struct unreachable *u = result;

	SHINY_TRY(unreachable_load(store, filter, (uint32_t)ctl->options.number[OPT_SNAPSHOT],
				   dimension_group(ctl->options.by),
				   ctl->options.text[OPT_SUPPRESSIONS],
				   ctl->options.given[OPT_FULL_NAMES], u));
	if (ctl->options.given[OPT_FAIL] && u->count)
		ctl->status = CHECK_FAILED;
	return NULL;
}
VERB_BODY_DEINIT(struct unreachable, unreachable_deinit)

static const char *next_of_unreachable(const struct ctl *ctl)
{
	return ctl->options.by == BY_TYPE ? "leaks" : "retained --unreachable --by type";
}

const struct verb_body verb_unreachable = {
	.needs = "what nothing keeps",
	.fields = unreachable_fields,
	.size = sizeof(struct unreachable),
	.load = load_unreachable,
	.deinit = unreachable_deinit_result,
	.match = true,
	.usual = 30,
	.above = print_unreachable_totals,
	.next_of = next_of_unreachable,
};
