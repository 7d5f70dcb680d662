/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_growth.c: `shinyctl growth`: prints buffers that grow step by step, with their cost; and what
 * gained references between two heap snapshots.
 */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/growth.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../graph/edge_growth.h"
#include "../answers_json.h"
#include "../ctl.h"
#include "../snapshot_facts.h"

enum { WASTE, CUMULATIVE, DOUBLING, LARGEST, CHAINS, STEPS, MOST, POLICY, SITE, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[SITE] = { "site", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[WASTE] = { .title = "waste", .kind = CELL_BYTES },
	[CUMULATIVE] = { .title = "cumulative", .kind = CELL_BYTES },
	[DOUBLING] = { .title = "by doubling", .kind = CELL_BYTES, .drop = 2 },
	[LARGEST] = { .title = "largest", .kind = CELL_BYTES, .drop = 4 },
	[CHAINS] = { .title = "buffers", .kind = CELL_COUNT, .drop = 3 },
	[STEPS] = { .title = "steps", .kind = CELL_COUNT },
	[MOST] = { .title = "most", .kind = CELL_COUNT, .drop = 5 },
	[POLICY] = { .title = "grows", .kind = CELL_TEXT, .drop = 1 },
};

static char *policy_text(const struct growth_row *row)
{
	switch (row->policy) {
	case GROWTH_GEOMETRIC: return mem_format("\xc3\x97 %.2f", row->factor);
	case GROWTH_CONSTANT: return mem_format("+ %s", units_bytes(UNITS_BUF, row->step_bytes));
	case GROWTH_JUST_ENOUGH:
		return mem_format("just enough, + %s", units_bytes(UNITS_BUF, row->step_bytes));
	default: return mem_text(growth_policy_names[row->policy]);
	}
}

static void print(struct ctl *ctl, const struct growth *growth, size_t limit)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct growth_row *row = &growth->rows[i];
		char *policy = policy_text(row);

		table_row(&table);
		table_text(&table, SITE, row->name);
		table_number(&table, WASTE, growth_waste(row));
		table_number(&table, CUMULATIVE, row->cumulative);
		table_number(&table, DOUBLING, row->doubling);
		table_number(&table, LARGEST, row->largest);
		table_number(&table, CHAINS, row->chains);
		table_number(&table, STEPS, row->steps);
		table_number(&table, MOST, row->most_steps);
		table_text(&table, POLICY, policy);
		free(policy);
	}
	table_print(&table, &ctl->style);
	if (!growth->count)
		fprintf(ctl->style.out, "no buffer grew\n");
	ctl_more(ctl, limit, growth->count);
	table_deinit(&table);
}

/* ---- --edges ---- */

static char *signed_bytes(int64_t bytes)
{
	return mem_format("%s%s", bytes > 0 ? "+" : bytes < 0 ? "-" : "",
			  units_bytes(UNITS_BUF, (uint64_t)(bytes < 0 ? -bytes : bytes)));
}

static char *signed_count(int64_t count)
{
	return mem_format("%s%s", count > 0 ? "+" : count < 0 ? "-" : "",
			  units_count(UNITS_BUF, (uint64_t)(count < 0 ? -count : count)));
}

static int64_t gain(const uint64_t sums[2])
{
	return (int64_t)(sums[1] - sums[0]);
}

static void print_edges(struct ctl *ctl, const struct edge_growth *growth, size_t limit)
{
	enum { GAINED_BYTES, GAINED, BLOCKS, BYTES, HOLDER, EDGE_COLUMNS };
	static const struct table_column edge_columns[EDGE_COLUMNS] = {
		[GAINED_BYTES] = { .title = "gained", .kind = CELL_RIGHT, .tint = TINT_BOLD },
		[GAINED] = { .title = "blocks", .kind = CELL_RIGHT },
		[BLOCKS] = { .title = "now", .kind = CELL_COUNT, .drop = 1 },
		[BYTES] = { .title = "bytes now", .kind = CELL_BYTES, .drop = 2 },
		[HOLDER] = { "held by", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	struct table table;

	snapshot_facts_print(ctl->style.out, &growth->facts[0]);
	fputs("\nagainst ", ctl->style.out);
	snapshot_facts_print(ctl->style.out, &growth->facts[1]);
	fprintf(ctl->style.out, ": %s changed, %s not\n\n",
		units_noun(UNITS_NOUN_BUF, growth->count, "holder"),
		units_count(UNITS_BUF, growth->unchanged));
	table_init(&table, edge_columns, EDGE_COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct edge_growth_row *row = &growth->rows[i];
		char *bytes = signed_bytes(gain(row->bytes));
		char *blocks = signed_count(gain(row->blocks));

		table_row(&table);
		table_text(&table, GAINED_BYTES, bytes);
		table_text(&table, GAINED, blocks);
		table_number(&table, BLOCKS, row->blocks[1]);
		table_number(&table, BYTES, row->bytes[1]);
		table_text(&table, HOLDER, row->name);
		free(bytes);
		free(blocks);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, growth->count);
	table_deinit(&table);
}

static void json_edges(struct json *json, const struct edge_growth *growth, size_t limit)
{
	json_object(json, "before");
	snapshot_facts_json(json, &growth->facts[0]);
	json_end(json);
	json_object(json, "after");
	snapshot_facts_json(json, &growth->facts[1]);
	json_end(json);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct edge_growth_row *row = &growth->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "blocks", row->blocks[1]);
		json_number(json, "bytes", row->bytes[1]);
		json_signed(json, "blocks_gained", gain(row->blocks));
		json_signed(json, "bytes_gained", gain(row->bytes));
		json_end(json);
	}
	json_end(json);
}

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

static struct shiny_err *answer_edges(struct ctl *ctl, struct store *store, struct filter *filter)
{
	struct edge_growth growth;
	uint32_t snapshots[2];
	size_t limit;
	struct shiny_err *err = parse_snapshots(ctl->options.text[OPT_EDGES], snapshots);

	if (!err)
		err = edge_growth_load(store, filter, snapshots,
				       ctl->options.given[OPT_FULL_NAMES], &growth);
	SHINY_TRY(ctl_loaded(store, filter, err));
	limit = ctl_limit(ctl, growth.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_edges(&ctl->json, &growth, limit);
	} else {
		print_edges(ctl, &growth, limit);
	}
	edge_growth_deinit(&growth);
	return ctl_end(ctl, store, "retainers");
}

struct shiny_err *cmd_growth(struct ctl *ctl)
{
	struct growth growth;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err && ctl->options.given[OPT_EDGES])
		return answer_edges(ctl, store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter,
				 growth_load(store, &filter, ctl->options.text[OPT_MATCH],
					     (uint64_t)ctl->options.number[OPT_LEAST_STEPS], true,
					     &growth));
	if (err)
		return err;
	limit = ctl_limit(ctl, growth.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_growth(&ctl->json, &growth, limit);
	} else {
		print(ctl, &growth, limit);
	}
	growth_deinit(&growth);
	return ctl_end(ctl, store, "lifetimes");
}
