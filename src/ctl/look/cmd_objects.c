/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_objects.c: `shinyctl objects`: counts objects by class from constructors and destructors,
 * with places and ends. */
#include "../../analysis/attribute/constructed.h"
#include "../../base/units.h"
#include "../verb_body.h"

static void print_objects_totals(struct ctl *ctl, const void *result)
{
	const struct constructed *c = result;
	const struct constructed_row *t = &c->total;

	fprintf(ctl->style.out, "%s, %s, %s, %s\n",
		units_noun(UNITS_NOUN_BUF, c->allocations, "allocation"),
		units_noun(UNITS_NOUN_BUF, c->deallocations, "deallocation"),
		units_noun(UNITS_NOUN_BUF, t->constructions, "construction"),
		units_noun(UNITS_NOUN_BUF, t->destructions, "destruction"));
	fprintf(ctl->style.out,
		"  of the objects constructed, %s began a block, %s lay inside one, %s on the "
		"stack, %s in static data, %s elsewhere\n",
		units_count(UNITS_BUF, t->places[PLACE_START]),
		units_count(UNITS_BUF, t->places[PLACE_INSIDE]),
		units_count(UNITS_BUF, t->places[PLACE_STACK]),
		units_count(UNITS_BUF, t->places[PLACE_STATIC]),
		units_count(UNITS_BUF, t->places[PLACE_ELSEWHERE]));
	fprintf(ctl->style.out,
		"  destroyed (D) %s, constructed over (R) %s, freed with their block %s, "
		"persistent (P) %s\n",
		units_count(UNITS_BUF, t->destroyed), units_count(UNITS_BUF, t->reused),
		units_count(UNITS_BUF, t->freed), units_count(UNITS_BUF, t->persistent));
}

static struct shiny_err *load_objects(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	return constructed_load(store, filter, ctl->options.text[OPT_MATCH], true, result);
}
VERB_BODY_DEINIT(struct constructed, constructed_deinit)

const struct verb_body verb_objects = {
	.fields = constructed_fields,
	.size = sizeof(struct constructed),
	.load = load_objects,
	.deinit = constructed_deinit_result,
	.usual = 30,
	.above = print_objects_totals,
	.next = "types",
};
