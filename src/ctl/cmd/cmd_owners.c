/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_owners.c: `shinyctl owners`: adds up a heap snapshot's bytes by owners that rules choose. */
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../graph/block_owners.h"
#include "../ctl.h"
#include "../snapshot_facts.h"

enum { BYTES, SHARE, BLOCKS, OWN_BYTES, OWN, NAME, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "owner", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
	[OWN_BYTES] = { .title = "own bytes", .kind = CELL_BYTES, .drop = 1 },
	[OWN] = { .title = "own blocks", .kind = CELL_COUNT, .drop = 2 },
};

static void print_sums(struct ctl *ctl, const char *what, const struct block_owners_sums *sums)
{
	if (sums->blocks)
		fprintf(ctl->style.out, "%s: %s, %s\n", what,
			units_noun(UNITS_NOUN_BUF, sums->blocks, "block"),
			units_bytes(UNITS_BUF, sums->bytes));
}

static void print(struct ctl *ctl, const struct block_owners *o, size_t limit)
{
	struct table table;

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
	table_init(&table, columns, COLUMNS);
	table_total(&table, SHARE, o->all.bytes);
	for (size_t i = 0; i < limit; i++) {
		const struct block_owners_row *row = &o->rows[i];

		table_row(&table);
		table_number(&table, BYTES, row->bytes);
		table_number(&table, SHARE, row->bytes);
		table_number(&table, BLOCKS, row->blocks);
		table_number(&table, OWN_BYTES, row->own_bytes);
		table_number(&table, OWN, row->own);
		table_text(&table, NAME, row->name);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, o->count);
	table_deinit(&table);
}

static void json_owners_sums(struct json *json, const char *key,
			     const struct block_owners_sums *sums)
{
	json_object(json, key);
	json_number(json, "blocks", sums->blocks);
	json_number(json, "bytes", sums->bytes);
	json_end(json);
}

static void json_rows(struct json *json, const struct block_owners *o, size_t limit)
{
	snapshot_facts_json(json, &o->facts);
	json_number(json, "blocks", o->all.blocks);
	json_number(json, "bytes", o->all.bytes);
	json_owners_sums(json, "shared", &o->shared);
	json_owners_sums(json, "common", &o->common);
	json_owners_sums(json, "unknown", &o->unknown);
	json_owners_sums(json, "unreachable", &o->unreachable);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct block_owners_row *row = &o->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "own_blocks", row->own);
		json_number(json, "own_bytes", row->own_bytes);
		json_number(json, "address", row->address);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *load(struct ctl *ctl, struct store *store, const struct filter *filter,
			      struct block_owners *out)
{
	struct owner_rules rules;
	struct shiny_err *err = owner_rules_load(ctl->options.text[OPT_ROOTS], &rules);

	if (err)
		return err;
	err = block_owners_load(store, filter, (uint32_t)ctl->options.number[OPT_SNAPSHOT], &rules,
			  ctl->options.given[OPT_FULL_NAMES], out);
	owner_rules_deinit(&rules);
	return err;
}

struct shiny_err *cmd_owners(struct ctl *ctl)
{
	struct block_owners owners;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err;
	size_t limit;

	if (!ctl->options.given[OPT_ROOTS])
		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE, "owners: --roots RULES is missing"),
			"a file with a line such as `each type Document`; see `shinyctl help "
			"owners`");
	err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter, load(ctl, store, &filter, &owners));
	if (err)
		return err;
	limit = ctl_limit(ctl, owners.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_rows(&ctl->json, &owners, limit);
	} else {
		print(ctl, &owners, limit);
	}
	block_owners_deinit(&owners);
	return ctl_end(ctl, store, "retainers");
}
