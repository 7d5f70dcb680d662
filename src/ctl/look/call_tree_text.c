/* SPDX-License-Identifier: Apache-2.0 */
#include "call_tree_text.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/units.h"

#define BRANCH "\xe2\x94\x9c\xe2\x94\x80 "
#define LAST   "\xe2\x94\x94\xe2\x94\x80 "
#define BESIDE "\xe2\x94\x82  "

enum { NAME_LEAST = 24 }; /* least columns for a name at any depth */

struct printer {
	const struct style *style;
	bool bytes; /* values are bytes, shown with blocks */
	int share;  /* columns of the shares */
	uint64_t total;
};

static void print_numbers(const struct printer *p, const struct tree_node *node)
{
	fprintf(p->style->out, "%*s ", p->share,
		units_share(UNITS_BUF, (double)node->value, (double)p->total));
	if (p->bytes)
		fprintf(p->style->out, "%9s ", units_bytes(UNITS_BUF, node->value));
	fprintf(p->style->out, "%11s  ", units_count(UNITS_BUF, node->blocks));
}

static void print_name(const struct printer *p, const struct tree_node *node, const char *lead)
{
	const struct style *style = p->style;
	size_t used = (size_t)p->share + (p->bytes ? 24 : 14) + text_columns(lead), room;
	bool quiet = node->folded || node->name[0] == '<';
	char *fitted;

	room = !style->width			  ? style->longest ? style->longest : 4000
	       : style->width > used + NAME_LEAST ? style->width - used
						  : NAME_LEAST;
	fitted = mem_alloc(4 * room + 8);
	text_fit(fitted, 4 * room + 8, node->name, room, TEXT_CUT_MIDDLE);
	fprintf(style->out, "%s%s%s%s\n", lead, tint(style, quiet ? TINT_DIM : TINT_NAME), fitted,
		tint_end(style, quiet ? TINT_DIM : TINT_NAME));
	free(fitted);
}

/* `lead`: text before the node's name; `below`: before the lines under it. */
static void print_node(const struct printer *p, const struct tree_node *node, const char *lead,
		       const char *below)
{
	print_numbers(p, node);
	print_name(p, node, lead);
	for (; node->count == 1 && !node->children->folded; node = node->children) {
		fprintf(p->style->out, "%*s", p->bytes ? 31 : 21, "");
		print_name(p, node->children, below);
	}
	for (size_t i = 0; i < node->count; i++) {
		bool last = i + 1 == node->count;
		char *branch = mem_format("%s%s", below, last ? LAST : BRANCH),
		     *next = mem_format("%s%s", below, last ? "   " : BESIDE);

		print_node(p, &node->children[i], branch, next);
		free(branch);
		free(next);
	}
}

void call_tree_print(const struct style *style, const struct tree_node *root,
		     const struct call_tree_query *query)
{
	const char *share = sums_order_share(query->order);
	struct printer p = { .style = style,
			     .share = (int)strlen(share),
			     .bytes = query->order == ORDER_LIVE || query->order == ORDER_BYTES,
			     .total = root->value };
	const char *blocks = query->order == ORDER_LIVE	   ? "blocks"
			     : query->order == ORDER_FREES ? "frees"
							   : "allocs";

	fprintf(style->out, "%s%s ", tint(style, TINT_BOLD), share);
	if (p.bytes)
		fprintf(style->out, "%9s ", query->order == ORDER_LIVE ? "live" : "bytes");
	fprintf(style->out, "%11s  %s%s\n", blocks,
		query->direction == CALLS_CALLERS
			? "call site, and below it its callers"
			: "outermost function, and below it what it calls",
		tint_end(style, TINT_BOLD));
	for (size_t i = 0; i < root->count; i++)
		print_node(&p, &root->children[i], "", "");
	print_numbers(&p, root);
	fprintf(style->out, "in all\n");
}
