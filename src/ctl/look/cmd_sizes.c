/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sizes.c: `shinyctl sizes`: prints block sizes, the room that allocators take for them, and
 * lifetimes by size. */
#include <math.h>

#include "../../analysis/space/sizes.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../verb_body.h"

static void print_total(const struct ctl *ctl, const struct sizes *s)
{
	const struct size_sums *t = &s->total.sums;

	fprintf(ctl->style.out, "%s, %s asked for, %s usable: slop %s, %s of it\n",
		units_noun(UNITS_NOUN_BUF, t->blocks, "block"), units_bytes(UNITS_BUF, t->bytes),
		units_bytes(UNITS_BUF, t->usable), units_bytes(UNITS_BUF, size_slop(t)),
		units_share(UNITS_BUF, (double)size_slop(t), (double)t->usable));
	fprintf(ctl->style.out,
		"live at the end: %s, %s asked for, slop %s, %s of what is usable\n",
		units_noun(UNITS_NOUN_BUF, t->live, "block"), units_bytes(UNITS_BUF, t->live_bytes),
		units_bytes(UNITS_BUF, size_live_slop(t)),
		units_share(UNITS_BUF, (double)size_live_slop(t), (double)t->live_usable));
	if (s->aligned)
		fprintf(ctl->style.out,
			"%s%s asked for an alignment, which is not recorded: they may take "
			"more%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, s->aligned, "block"),
			tint_end(&ctl->style, TINT_DIM));
	if (s->allocators[SIZE_UNKNOWN].sums.blocks)
		fprintf(ctl->style.out,
			"%s%s %s from an allocator that is not known: their slop is not "
			"counted%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, s->allocators[SIZE_UNKNOWN].sums.blocks,
				   "block"),
			units_form(s->allocators[SIZE_UNKNOWN].sums.blocks, "is", "are"),
			tint_end(&ctl->style, TINT_DIM));
}

static const char *correlation_text(double r)
{
	return fabs(r) < 0.1 ? "the one says next to nothing about the other"
	       : r > 0.3     ? "larger blocks live longer"
	       : r > 0	     ? "larger blocks live slightly longer"
	       : r > -0.3    ? "larger blocks live slightly shorter"
			     : "larger blocks live shorter";
}

/* Leaves the types out that the table of the smallest has. */
static size_t only_largest(const struct sizes *s, struct sizes *out)
{
	*out = *s;
	out->largest_count = 0;
	for (size_t i = 0; i < s->largest_count; i++) {
		bool shown = false;

		for (size_t k = 0; k < s->smallest_count; k++)
			shown |= s->largest[i] == s->smallest[k];
		if (!shown)
			out->largest[out->largest_count++] = s->largest[i];
	}
	return out->largest_count;
}

static void print_list(struct ctl *ctl, const struct sizes *s, const char *key)
{
	const struct answer answer = { .fields = sizes_fields, .result = s };

	fputc('\n', ctl->style.out);
	answer_table(&answer, key, &ctl->style);
}

static void print_sizes_above(struct ctl *ctl, const void *result)
{
	const struct sizes *s = result;
	struct sizes largest;

	print_total(ctl, s);
	print_list(ctl, s, "allocators");
	print_list(ctl, s, "sizes");
	if (isfinite(s->correlation))
		fprintf(ctl->style.out,
			"%ssize and lifetime, correlation of their logarithms: %+.2f: %s%s\n",
			tint(&ctl->style, TINT_DIM), s->correlation,
			correlation_text(s->correlation), tint_end(&ctl->style, TINT_DIM));
	if (s->smallest_count)
		print_list(ctl, s, "smallest");
	if (only_largest(s, &largest))
		print_list(ctl, &largest, "largest");
	fputc('\n', ctl->style.out);
}

static struct shiny_err *load_sizes(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	enum dimension by = ctl->options.by;
	struct sizes *s = result;

	SHINY_TRY(sizes_load(store, filter, ctl->options.text[OPT_MATCH],
			     (enum sizes_order)ctl->options.number[OPT_SORT],
			     ctl->options.given[OPT_FULL_NAMES], true, s));
	s->chosen = by == BY_CLASS ? s->classes : by == BY_TYPE ? s->types : s->sites;
	return NULL;
}
VERB_BODY_DEINIT(struct sizes, sizes_deinit)

static const char *next_of_sizes(const struct ctl *ctl)
{
	return ctl->options.by == BY_SITE ? "sizes --pooling" : "sizes --by site";
}

const struct verb_body verb_sizes = {
	.fields = sizes_fields,
	.size = sizeof(struct sizes),
	.load = load_sizes,
	.deinit = sizes_deinit_result,
	.usual = 30,
	.above = print_sizes_above,
	.next_of = next_of_sizes,
};
