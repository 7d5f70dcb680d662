/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_owners.c: `shinyctl retained --owners`: adds up a heap snapshot's bytes by owners that rules
 * choose. */
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../graph/block_owners.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

static void print_sums(struct ctl *ctl, const char *what, const struct block_owners_sums *sums)
{
	if (sums->blocks)
		fprintf(ctl->style.out, "%s: %s, %s\n", what,
			units_noun(UNITS_NOUN_BUF, sums->blocks, "block"),
			units_bytes(UNITS_BUF, sums->bytes));
}

static void print_owners_totals(struct ctl *ctl, const void *result)
{
	const struct block_owners *o = result;

	snapshot_facts_print(ctl->style.out, &o->facts);
	fprintf(ctl->style.out, ": %s, %s, %s\n",
		units_noun(UNITS_NOUN_BUF, o->all.blocks, "block"),
		units_bytes(UNITS_BUF, o->all.bytes),
		units_noun(UNITS_NOUN_BUF, o->count, "owner"));
	print_sums(ctl, "shared by owners", &o->shared);
	print_sums(ctl, "common by the rules", &o->common);
	print_sums(ctl, "unknown, no owner leads there", &o->unknown);
	print_sums(ctl, "unreachable, no root and no owner leads there", &o->unreachable);
	fputc('\n', ctl->style.out);
}

static struct shiny_err *load_owners(struct ctl *ctl, struct store *store,
				     const struct filter *filter, void *result)
{
	struct owner_rules rules;
	struct shiny_err *err;

	SHINY_TRY(owner_rules_load(ctl->options.text[OPT_OWNERS], &rules));
	err = block_owners_load(store, filter, (uint32_t)ctl->options.number[OPT_SNAPSHOT], &rules,
				ctl->options.given[OPT_FULL_NAMES], result);
	owner_rules_deinit(&rules);
	return err;
}
VERB_BODY_DEINIT(struct block_owners, block_owners_deinit)

const struct verb_body verb_owners = {
	.needs = "who keeps what",
	.fields = block_owners_fields,
	.size = sizeof(struct block_owners),
	.load = load_owners,
	.deinit = block_owners_deinit_result,
	.match = true,
	.usual = 30,
	.above = print_owners_totals,
	.next = "retainers",
};
