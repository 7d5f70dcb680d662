/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../store/contents.h"
#include "../attribute/call_stacks.h"
#include "../query/type_name.h"

static int compare(const void *left, const void *right, void *context)
{
	const struct site_row *a = left, *b = right;
	enum sums_order order = *(enum sums_order *)context;

	if (order != ORDER_NAME && a->value != b->value)
		return a->value < b->value ? 1 : -1;
	if (order != ORDER_NAME && a->sums.allocs != b->sums.allocs)
		return a->sums.allocs < b->sums.allocs ? 1 : -1;
	return strcmp(a->label, b->label) ? strcmp(a->label, b->label)
					  : (a->line > b->line) - (a->line < b->line);
}

/* The SQL keys by which sites are grouped, over site i and table site_stat, stat or peak s. */
static const char *const keys[] = {
	[SITES_BY_LINE] = "COALESCE(i.id, 0)",
	[SITES_BY_FUNCTION] =
		"COALESCE(i.function || 'f' || COALESCE(i.module, 0), 's' || i.id, '')",
	[SITES_BY_FILE] = "COALESCE(i.source || 'f', i.module || 'm', '')",
	[SITES_BY_MODULE] = "COALESCE(i.module, 0)",
	[SITES_BY_TAG] = "s.tag",
};
enum { FIRST_SUM = 17 }; /* column of the query in sites_load() */

static char *label_of(const struct query *q, enum sites_by by)
{
	const char *file = query_text(q, 1), *module = query_text(q, 3);

	if (by == SITES_BY_TAG)
		return mem_text(query_text(q, 15));
	if (query_is_null(q, 6))
		return mem_text("(no stack)");
	if (by == SITES_BY_MODULE)
		return mem_text(*module ? module : "(no module)");
	if (by == SITES_BY_FILE && *file)
		return mem_text(file);
	if (by == SITES_BY_FILE)
		return mem_format("%s (no line information)",
				  *module ? text_base(module) : "(no module)");
	return mem_text(query_text(q, 0));
}

static void read_row(struct sites *sites, const struct query *q, enum sites_by by,
		     const char *match, enum sums_order order, bool peaks)
{
	char *label = label_of(q, by);
	struct site_row *row;

	if (match && !text_matches(match, label) && !text_matches(match, query_text(q, 1)) &&
	    !text_matches(match, query_text(q, 3)) && !text_matches(match, query_text(q, 9)) &&
	    !text_matches(match, query_text(q, 10))) {
		free(label);
		return;
	}
	row = rows_push(&sites->rows, &sites->count, &sites->room, sizeof(*row));
	row->label = label;
	row->key = query_copy(q, 16);
	row->function = by <= SITES_BY_FUNCTION ? query_copy(q, 0) : NULL;
	row->file = by <= SITES_BY_FILE ? query_copy(q, 1) : NULL;
	row->module = by <= SITES_BY_MODULE ? query_copy(q, 3) : NULL;
	row->type = query_copy(q, 9);
	row->container = query_copy(q, 10);
	row->form = query_copy(q, 11);
	row->confidence = query_copy(q, 12);
	row->line = by == SITES_BY_LINE ? (uint32_t)query_number(q, 2) : 0;
	row->stacks = (uint64_t)query_number(q, 5);
	row->stack = (uint32_t)query_number(q, 7);
	row->types = (uint64_t)query_number(q, 8);
	row->or_derived = query_number(q, 13) != 0;
	row->peak_bytes = (uint64_t)query_number(q, 14);
	sums_read(&row->sums, q, FIRST_SUM);
	if ((uint64_t)query_number(q, FIRST_SUM + SUMS_COUNT) * 2 <=
	    row->sums.allocs + row->sums.inherited) {
		free(row->type);
		row->type = NULL;
	}
	row->value = sums_by(&row->sums, order, row->peak_bytes);
	row->by = by;
	row->peaks = peaks;
	sums_add(&sites->total, &row->sums);
	if (order == ORDER_PEAK)
		sites->value += row->value;
}

struct shiny_err *sites_load(struct store *store, const struct filter *filter, enum sites_by by,
			     const char *match, enum sums_order order, bool stacks,
			     struct sites *out)
{
	bool tagged = by == SITES_BY_TAG;
	const char *key = by == SITES_BY_TAG && !tagged ? "0" : keys[by];
	SHINY_CLEANUP(sites_deinit) struct sites sites = { 0 };
	AUTO_QUERY struct query *q = NULL;
	/*
	 * The sums, the most frequent type and the peaks come from tables with a row a site; only
	 * the stacks need the large table. SQLite takes bare columns beside MAX() from the row with
	 * the maximum.
	 */
	struct shiny_err *err = query_format(
		store, &q,
		"WITH g AS (SELECT %s AS k, i.id AS id, s.* FROM site_stat s LEFT JOIN site i ON "
		"i.id = s.site WHERE %s), "
		"t AS (SELECT k, name, container, form, confidence, or_derived, MAX(n), blocks, "
		"COUNT(DISTINCT CASE WHEN confidence <> 'label' THEN name END) "
		"AS types FROM (SELECT g.k AS k, y.name, y.container, y.form, y.confidence, "
		"y.or_derived, SUM(g.allocs + g.inherited) + "
		"(y.confidence <> 'label') * (1 << 50) AS n, SUM(g.allocs + g.inherited) AS blocks "
		"FROM g JOIN type y ON y.id = g.type "
		"GROUP BY g.k, y.name, y.container, y.form, y.confidence, y.or_derived) GROUP BY "
		"k), "
		"h AS (SELECT %s AS k, stack, MAX(n), COUNT(*) AS stacks FROM (SELECT x.site AS "
		"site, s.stack AS stack, %s AS tag, %s AS n "
		"FROM stat s LEFT JOIN stack x ON x.id = s.stack WHERE %s AND %s GROUP BY s.stack, "
		"tag) s LEFT JOIN site i ON i.id = s.site GROUP BY 1), "
		"p AS (SELECT %s AS k, SUM(s.peak_bytes) AS peak FROM peak s LEFT JOIN site i ON "
		"i.id = s.site WHERE %s GROUP BY k) "
		"SELECT (SELECT label FROM v_site_names WHERE site = i.id), o.path, i.line, "
		"m.path, f.vaddr, h.stacks, r.site, h.stack, "
		"t.types, t.name, t.container, t.form, t.confidence, "
		"t.or_derived, p.peak, %s, CAST(r.k AS TEXT), " SUMS_OF_R ", t.blocks"
		" FROM (SELECT s.k AS k, MAX(s.id) AS site, " SUMS_SQL " FROM g s GROUP BY s.k) r "
		"LEFT JOIN t ON t.k = r.k LEFT JOIN h ON h.k = r.k "
		"LEFT JOIN p ON p.k = r.k LEFT JOIN site i ON i.id = r.site LEFT JOIN frame f ON "
		"f.id = i.frame "
		"LEFT JOIN module m ON m.id = i.module LEFT JOIN function n ON n.id = i.function "
		"LEFT JOIN source o ON o.id = i.source",
		key, filter_blocks(filter), key, tagged ? "s.tag" : "0", call_value_sql(order),
		filter_blocks(filter), stacks ? "1" : "0", key, filter_blocks(filter),
		tagged ? "COALESCE((SELECT name FROM tag WHERE id = r.k), '(no tag)')"
		       : "'(no tag)'");

	QUERY_EACH (q, err)
		read_row(&sites, q, by, match, order, !filter_timed(filter));
	if (err)
		return err;
	if (sites.count)
		qsort_r(sites.rows, sites.count, sizeof(*sites.rows), compare, &order);
	sites.value += sums_by(&sites.total, order, 0);
	sites.share = sums_order_share(order);
	*out = shiny_steal(sites);
	return NULL;
}

void sites_deinit(struct sites *sites)
{
	for (size_t i = 0; i < sites->count; i++) {
		free(sites->rows[i].label);
		free(sites->rows[i].key);
		free(sites->rows[i].function);
		free(sites->rows[i].file);
		free(sites->rows[i].module);
		free(sites->rows[i].type);
		free(sites->rows[i].container);
		free(sites->rows[i].form);
		free(sites->rows[i].confidence);
	}
	free(sites->rows);
}

struct shiny_err *site_stacks_load(struct store *store, const struct filter *filter,
				   enum sites_by by, const struct site_row *site,
				   enum sums_order order, struct site_stacks *out)
{
	struct site_stacks stacks = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT s.stack, %s AS value, %s AS blocks FROM stat s LEFT JOIN stack x ON "
		"x.id = s.stack LEFT JOIN site i ON i.id = x.site WHERE %s AND "
		"CAST(%s AS TEXT) = ?1 GROUP BY s.stack HAVING value > 0 "
		"ORDER BY value DESC, blocks DESC, s.stack",
		call_value_sql(order), call_blocks_sql(order), filter_blocks(filter), keys[by]);

	if (!err)
		query_bind_text(q, 1, site->key);
	QUERY_EACH (q, err) {
		struct site_stack *stack =
			rows_push(&stacks.rows, &stacks.count, &stacks.room, sizeof(*stack));

		stack->id = (uint32_t)query_number(q, 0);
		stack->value = (uint64_t)query_number(q, 1);
		stack->blocks = (uint64_t)query_number(q, 2);
	}
	if (err) {
		free(stacks.rows);
		return err;
	}
	*out = stacks;
	return NULL;
}

struct shiny_err *stack_load(struct store *store, uint32_t stack, struct stack_lines *out)
{
	SHINY_CLEANUP(stack_deinit) struct stack_lines lines = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT label, source, path, line, inlined, level FROM v_stack_frames "
			     "WHERE stack = %" PRIu32 " ORDER BY level, depth",
			     stack);
	uint64_t frames = 0, level = UINT64_MAX, depth = 0;

	QUERY_EACH (q, err) {
		struct stack_line *line =
			rows_push(&lines.rows, &lines.count, &lines.room, sizeof(*line));

		line->label = query_copy(q, 0);
		line->file = query_copy(q, 1);
		line->module = query_copy(q, 2);
		line->line = (uint32_t)query_number(q, 3);
		line->inlined = query_number(q, 4) != 0;
		frames += (uint64_t)query_number(q, 5) != level;
		level = (uint64_t)query_number(q, 5);
	}
	if (!err)
		err = contents_number(store, "depth", &depth);
	if (err)
		return err;
	lines.cut = depth && frames >= depth ? depth : 0;
	*out = shiny_steal(lines);
	return NULL;
}

void stack_deinit(struct stack_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->rows[i].label);
		free(lines->rows[i].file);
		free(lines->rows[i].module);
	}
	free(lines->rows);
}
