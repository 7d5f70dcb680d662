/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pooling.c: `shinyctl sizes --pooling`: prints the savings of pools by size and lifetime,
 * marked as a model. */
#include <inttypes.h>

#include "../../analysis/space/pooling.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../verb_body.h"

static void print_model(const struct ctl *ctl, const struct pooling *p)
{
	fprintf(ctl->style.out,
		"%sa model%s: what if blocks of one size class and one lifetime shared a "
		"pool?\n%sconstants:",
		tint(&ctl->style, TINT_BOLD), tint_end(&ctl->style, TINT_BOLD),
		tint(&ctl->style, TINT_DIM));
	for (size_t i = 0; i < POOLING_CONSTANTS; i++)
		fprintf(ctl->style.out, " %s=%" PRIu64, pooling_constant_list[i].name,
			pooling_constant_value(&pooling_constant_list[i], &p->constants));
	fprintf(ctl->style.out, " (--constants)%s\n\n", tint_end(&ctl->style, TINT_DIM));
}

static void print_summary(const struct ctl *ctl, const struct pooling *p)
{
	const struct pooling_row *t = &p->total;

	fprintf(ctl->style.out, "%s%s, %s, of them %s; %s with %s\nmost bytes were live at %s",
		tint(&ctl->style, TINT_DIM), units_noun(UNITS_NOUN_BUF, t->blocks, "block"),
		units_bytes(UNITS_BUF, t->bytes), units_noun(UNITS_NOUN_BUF, t->objects, "object"),
		units_noun(UNITS_NOUN_BUF, t->pools, "pool"),
		units_noun(UNITS_NOUN_BUF, t->most, "slot"), units_time(UNITS_BUF, p->peak_time));
	if (p->collected)
		fprintf(ctl->style.out, "; left out: %s",
			units_noun(UNITS_NOUN_BUF, p->collected, "garbage-collected object"));
	fprintf(ctl->style.out, "%s\n", tint_end(&ctl->style, TINT_DIM));
}

static int64_t pages_freed(const struct pooling_row *row)
{
	return (int64_t)(row->without.peak_pages - row->with.peak_pages);
}

/* Prints the size and lifetime with most to gain, in cycles and in pages. */
static void print_best(const struct ctl *ctl, const struct pooling *p)
{
	const struct pooling_row *cycles = NULL, *pages = NULL;

	for (unsigned b = 0; b < PAGES_BUCKETS; b++)
		for (unsigned l = 0; l < POPULATIONS; l++) {
			const struct pooling_row *row = &p->sizes[b].lifetimes[l];

			if (pooling_saved(row) > (cycles ? pooling_saved(cycles) : 0))
				cycles = row;
			if (pages_freed(row) > (pages ? pages_freed(pages) : 0))
				pages = row;
		}
	if (cycles)
		fprintf(ctl->style.out,
			"most cycles to gain: %s%s, %s%s: %s, of all that calls cost %s\n",
			tint(&ctl->style, TINT_NAME), pages_bucket_names[cycles->bucket],
			cycles->lifetime, tint_end(&ctl->style, TINT_NAME),
			units_count(UNITS_BUF, (uint64_t)pooling_saved(cycles)),
			units_share(UNITS_BUF, (double)pooling_saved(cycles),
				    (double)p->total.without.cycles));
	if (pages)
		fprintf(ctl->style.out,
			"most pages to gain: %s%s, %s%s: its blocks lay on %s at the peak, and "
			"would "
			"on %s\n",
			tint(&ctl->style, TINT_NAME), pages_bucket_names[pages->bucket],
			pages->lifetime, tint_end(&ctl->style, TINT_NAME),
			units_count(UNITS_BUF, pages->without.peak_pages),
			units_count(UNITS_BUF, pages->with.peak_pages));
}

static struct shiny_err *print_pooling(struct ctl *ctl, const struct answer *answer)
{
	const struct pooling *p = answer->result;

	print_model(ctl, p);
	answer_table(answer, "ways", &ctl->style);
	print_summary(ctl, p);
	print_best(ctl, p);
	fputc('\n', ctl->style.out);
	answer_table(answer, "pools", &ctl->style);
	fputc('\n', ctl->style.out);
	answer_table(answer, "rows", &ctl->style);
	ctl_more(ctl, answer->limit, p->type_count);
	return NULL;
}

static struct shiny_err *load_pooling(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	unsigned flags = POOLING_TYPES | POOLING_PROGRESS |
			 (ctl->options.given[OPT_FULL_NAMES] ? POOLING_FULL_NAMES : 0);
	struct pooling_constants constants;

	SHINY_TRY(pooling_parse(ctl->options.text[OPT_CONSTANTS], &constants));
	return pooling_load(store, filter, &constants, ctl->options.text[OPT_MATCH], flags, result);
}
VERB_BODY_DEINIT(struct pooling, pooling_deinit)

const struct verb_body verb_pooling = {
	.needs = "what lies beside what",
	.fields = pooling_fields,
	.size = sizeof(struct pooling),
	.load = load_pooling,
	.deinit = pooling_deinit_result,
	.usual = 30,
	.print = print_pooling,
	.next = "lifetimes --by site",
};
