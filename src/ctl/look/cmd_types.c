/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_types.c: `shinyctl types`. */
#include <string.h>

#include "../../analysis/query/type_name.h"
#include "../../base/cleanup.h"
#include "members.h"
#include "../dimension.h"
#include "../verb_body.h"

enum { USUAL = 30 };

static void print_legend(struct ctl *ctl, const struct types *types, size_t limit)
{
	static const struct {
		const char *sign, *meaning;
	} legend[] = {
		{ "~", "probably" },
		{ "?", "perhaps" },
		{ "(", "(…) no type, but where it comes from" },
		{ "+", "or a class derived from it" },
	};
	bool used[4] = { false }, any = false;

	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];
		const char *mark = type_name_mark(row->confidence);

		used[0] = used[0] || *mark == '~';
		used[1] = used[1] || *mark == '?';
		used[2] = used[2] || (row->confidence && strcmp(row->confidence, "label") == 0);
		used[3] = used[3] || row->or_derived;
	}
	for (size_t i = 0; i < 4; i++) {
		if (!used[i])
			continue;
		fprintf(ctl->style.out, "%s%s%s%s", any ? "; " : tint(&ctl->style, TINT_DIM),
			i == 2 ? "" : legend[i].sign, i == 2 ? "" : " ", legend[i].meaning);
		any = true;
	}
	if (any)
		fprintf(ctl->style.out, "%s\n", tint_end(&ctl->style, TINT_DIM));
}

/* Prints the legend, and the shares of allocations and bytes by confidence of their type. */
static void print_types_below(struct ctl *ctl, const void *result)
{
	const struct types *types = result;
	const struct answer answer = { .fields = types_fields, .result = types };

	if (types->count && types->rows[0].type &&
	    (ctl->options.by == BY_BLOCK || ctl->options.by == BY_TYPE))
		ctl_why(ctl, false, types->rows[0].type);
	print_legend(ctl, types, ctl_limit(ctl, types->count, USUAL));
	putc('\n', ctl->style.out);
	if (types->all_levels.allocs || types->all_levels.live_bytes)
		answer_table(&answer, "levels", &ctl->style);
}

static struct shiny_err *load_types(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	struct types *types = result;

	SHINY_TRY(types_load(store, filter, dimension_types(ctl->options.by),
			     ctl->options.text[OPT_MATCH],
			     sums_order_of(ctl->options.text[OPT_SORT]), types));
	types->by = ctl->options.text[OPT_BY];
	for (size_t i = 0; i < types->count; i++)
		types->rows[i].full = ctl->options.given[OPT_FULL_NAMES] && !CTL_JSON(ctl);
	return NULL;
}
VERB_BODY_DEINIT(struct types, types_deinit)

static const char *next_of_types(const struct ctl *ctl)
{
	return ctl->options.by == BY_BLOCK ? "types --by container" : "sites";
}

const struct verb_body verb_types = {
	.fields = types_fields,
	.size = sizeof(struct types),
	.load = load_types,
	.deinit = types_deinit_result,
	.usual = USUAL,
	.below = print_types_below,
	.next_of = next_of_types,
};
