/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cold.c: `shinyctl leaks --cold`: lists how many live bytes and blocks of types and call sites
 * the program uses. */
#include "../../analysis/access/cold.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"

/* Prints the times of watching; nothing if it was always on. */
static void print_times(const struct ctl *ctl, const struct access_times *on)
{
	if (!on->at.count || (on->at.at[0].until == UINT64_MAX && !on->at.at[0].from))
		return;
	fprintf(ctl->style.out, "watching was on for %s, in %s; of other times nothing is known\n",
		units_time(UNITS_BUF, on->sum),
		units_noun(UNITS_NOUN_BUF, on->at.count, "interval"));
}

static void print_total(const struct ctl *ctl, const struct cold *c)
{
	fprintf(ctl->style.out,
		"%s watched for their next use; used: within %s of any moment, a block by its "
		"first word; cold: live bytes that are not\n",
		units_noun(UNITS_NOUN_BUF, c->watched, "block"),
		units_time(UNITS_BUF, cold_times[c->within]));
	print_times(ctl, &c->on);
	fprintf(ctl->style.out, "%s live at the end, %s of them in rows without a watched block\n",
		units_bytes(UNITS_BUF, c->live_bytes), units_bytes(UNITS_BUF, c->unknown_bytes));
}

static struct shiny_err *print_cold(struct ctl *ctl, const struct answer *answer)
{
	const struct cold *c = answer->result;

	if (!c->recorded) {
		fputs("unknown: accesses were not recorded (SHINY_ACCESS=watch records them; "
		      "`shinyctl doctor FILE` says what was in the way)\n",
		      ctl->style.out);
		return NULL;
	}
	print_total(ctl, c);
	fputc('\n', ctl->style.out);
	verb_body_table(ctl, answer);
	if (c->count)
		ctl_why(ctl, ctl->options.by == BY_SITE, c->rows[0].name);
	return NULL;
}

static struct shiny_err *load_cold(struct ctl *ctl, struct store *store,
				   const struct filter *filter, void *result)
{
	static const unsigned withins[] = { COLD_TIMES, 0, 1, 2 }; /* in options.def's order */

	return cold_load(store, filter, dimension_group(ctl->options.by),
			 ctl->options.text[OPT_MATCH], ctl->options.given[OPT_FULL_NAMES],
			 withins[ctl->options.number[OPT_WITHIN]], result);
}
VERB_BODY_DEINIT(struct cold, cold_deinit)

static const char *next_of_cold(const struct ctl *ctl)
{
	return ctl->options.by == BY_TYPE ? "leaks --cold --by site" : "leaks";
}

const struct verb_body verb_cold = {
	.needs = "how many blocks are not used",
	.fields = cold_fields,
	.size = sizeof(struct cold),
	.load = load_cold,
	.deinit = cold_deinit_result,
	.usual = 30,
	.print = print_cold,
	.next_of = next_of_cold,
};
