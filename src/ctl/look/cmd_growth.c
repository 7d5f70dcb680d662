/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_growth.c: `shinyctl growth`: prints buffers that grow step by step, with their cost; and what
 * gained references between two heap snapshots.
 */
#include <stdlib.h>

#include "../../analysis/time/growth.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../graph/edge_growth.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

static struct shiny_err *load_growth(struct ctl *ctl, struct store *store,
				     const struct filter *filter, void *result)
{
	return growth_load(store, filter, ctl->options.text[OPT_MATCH],
			   (uint64_t)ctl->options.number[OPT_LEAST_STEPS], true, result);
}

static void deinit_growth(void *result)
{
	growth_deinit(result);
}

static void print_none(struct ctl *ctl, const void *result)
{
	if (!((const struct growth *)result)->count)
		fprintf(ctl->style.out, "no buffer grew\n");
}

/* ---- --edges ---- */

/* Parses two numbers, "1,2". */
static struct shiny_err *parse_snapshots(const char *text, uint32_t out[2])
{
	const char *rest = text;

	for (unsigned i = 0; i < 2; i++) {
		char *end;
		unsigned long number = strtoul(rest, &end, 10);

		if (*rest < '0' || *rest > '9' || !number || number > UINT32_MAX ||
		    *end != (i ? '\0' : ','))
			return shiny_err(SHINY_ERR_USAGE,
					 "--edges: not the numbers of two snapshots: '%s'", text);
		out[i] = (uint32_t)number;
		rest = end + 1;
	}
	return NULL;
}

static struct shiny_err *load_edges(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	uint32_t snapshots[2];

	SHINY_TRY(parse_snapshots(ctl->options.text[OPT_EDGES], snapshots));
	return edge_growth_load(store, filter, snapshots, ctl->options.given[OPT_FULL_NAMES],
				result);
}

static void deinit_edges(void *result)
{
	edge_growth_deinit(result);
}

static void print_snapshots(struct ctl *ctl, const void *result)
{
	const struct edge_growth *growth = result;

	snapshot_facts_print(ctl->style.out, &growth->facts[0]);
	fputs("\nagainst ", ctl->style.out);
	snapshot_facts_print(ctl->style.out, &growth->facts[1]);
	fprintf(ctl->style.out, ": %s changed, %s not\n\n",
		units_noun(UNITS_NOUN_BUF, growth->count, "holder"),
		units_count(UNITS_BUF, growth->unchanged));
}

const struct verb_body verb_edges = {
	.needs = "who keeps what",
	.fields = edge_growth_fields,
	.size = sizeof(struct edge_growth),
	.load = load_edges,
	.deinit = deinit_edges,
	.match = true,
	.usual = 30,
	.above = print_snapshots,
	.next = "retainers",
};

const struct verb_body verb_growth = {
	.needs = "each step of a buffer's growth",
	.fields = growth_fields,
	.size = sizeof(struct growth),
	.load = load_growth,
	.deinit = deinit_growth,
	.usual = 30,
	.below = print_none,
	.next = "lifetimes",
};
