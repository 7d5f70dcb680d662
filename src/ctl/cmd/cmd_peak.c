/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_peak.c: `shinyctl peak`: prints when most bytes were live, and which blocks. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/peak.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum { USUAL_ROWS = 20, USUAL_PROCESSES = 10, TOP_COLUMNS = 48 };

/* Returns "104 ms later", for the titles of columns. */
static const char *later(char out[UNITS_TEXT], const struct peaks *p)
{
	char time[UNITS_TEXT];

	snprintf(out, UNITS_TEXT, "%.24s later", units_time(time, p->soon));
	return out;
}

static void print_answer(const struct ctl *ctl, const struct peaks *p, const struct peak *peak)
{
	fprintf(ctl->style.out, "%s%s%s live %s, in %s, %s after the start, of %s\n",
		tint(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, peak->bytes),
		tint_end(&ctl->style, TINT_BOLD),
		peak == &p->peaks[p->highest] ? "at most" : "then",
		units_noun(UNITS_NOUN_BUF, peak->blocks, "block"),
		units_time(UNITS_BUF, peak->time), units_time(UNITS_BUF, p->duration));
	fprintf(ctl->style.out, "  transient  %s (%s) in %s: gone %s\n",
		units_bytes(UNITS_BUF, peak->soon_bytes),
		units_share(UNITS_BUF, (double)peak->soon_bytes, (double)peak->bytes),
		units_noun(UNITS_NOUN_BUF, peak->soon_blocks, "block"), later(UNITS_BUF, p));
	fprintf(ctl->style.out, "  lasting    %s (%s) in %s\n",
		units_bytes(UNITS_BUF, peak->bytes - peak->soon_bytes),
		units_share(UNITS_BUF, (double)(peak->bytes - peak->soon_bytes),
			    (double)peak->bytes),
		units_noun(UNITS_NOUN_BUF, peak->blocks - peak->soon_blocks, "block"));
}

static void print_peaks(const struct ctl *ctl, const struct peaks *p, const struct peak *shown)
{
	enum { SHOWN, NUMBER, TIME, BYTES, BAR, BLOCKS, SOON, PEAK_COLUMNS };
	static const struct table_column columns[PEAK_COLUMNS] = {
		[SHOWN] = { .title = " ", .kind = CELL_TEXT },
		[NUMBER] = { .title = "peak", .kind = CELL_COUNT },
		[TIME] = { .title = "after", .kind = CELL_TIME },
		[BYTES] = { .title = "live bytes", .kind = CELL_BYTES },
		[BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_GOOD },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[SOON] = { .title = "transient", .kind = CELL_BYTES },
	};
	struct table table;

	if (p->count < 2)
		return;
	table_init(&table, columns, PEAK_COLUMNS);
	table_total(&table, BAR, p->peaks[p->highest].bytes);
	for (size_t i = 0; i < p->count; i++) {
		const struct peak *peak = &p->peaks[i];

		table_row(&table);
		table_text(&table, SHOWN, peak == shown ? ">" : "");
		table_number(&table, NUMBER, i + 1);
		table_number(&table, TIME, peak->time);
		table_number(&table, BYTES, peak->bytes);
		table_number(&table, BAR, peak->bytes);
		table_number(&table, BLOCKS, peak->blocks);
		table_number(&table, SOON, peak->soon_bytes);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_rows(const struct ctl *ctl, const struct peak *peak, enum group_by by,
		       size_t limit)
{
	enum { SHARE, BAR, BYTES, BLOCKS, SOON, LASTING, NAME, ROW_COLUMNS };
	const struct table_column columns[ROW_COLUMNS] = {
		[SHARE] = { .title = "share", .kind = CELL_SHARE },
		[BAR] = { .title = "", .kind = CELL_BAR, .drop = 2, .tint = TINT_GOOD },
		[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 1 },
		[SOON] = { .title = "transient", .kind = CELL_BYTES },
		[LASTING] = { .title = "lasting", .kind = CELL_BYTES },
		[NAME] = { group_names[by], CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	struct table table;

	table_init(&table, columns, ROW_COLUMNS);
	table_total(&table, SHARE, peak->bytes);
	table_total(&table, BAR, peak->bytes);
	for (size_t i = 0; i < limit; i++) {
		const struct peak_row *row = &peak->rows[i];

		table_row(&table);
		table_number(&table, SHARE, row->bytes);
		table_number(&table, BAR, row->bytes);
		table_number(&table, BYTES, row->bytes);
		table_number(&table, BLOCKS, row->blocks);
		table_number(&table, SOON, row->soon_bytes);
		table_number(&table, LASTING, row->bytes - row->soon_bytes);
		table_text(&table, NAME, row->name);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, peak->count);
	table_deinit(&table);
}

static void print_each(const struct ctl *ctl, const struct peaks *p, enum group_by by)
{
	enum { PROCESS, TIME, BYTES, BLOCKS, SOON, TOP_BYTES, TOP, PROCESS_COLUMNS };
	const struct table_column columns[PROCESS_COLUMNS] = {
		[PROCESS] = { .title = "process", .kind = CELL_TEXT, .tint = TINT_NAME },
		[TIME] = { .title = "after", .kind = CELL_TIME },
		[BYTES] = { .title = "live bytes", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 1 },
		[SOON] = { .title = "transient", .kind = CELL_BYTES },
		[TOP_BYTES] = { .title = "of that", .kind = CELL_BYTES },
		[TOP] = { group_names[by], CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	size_t limit = p->process_count < USUAL_PROCESSES ? p->process_count : USUAL_PROCESSES;
	struct table table;

	if (p->process_count < 2)
		return;
	ctl_heading(ctl, "Each process at its own peak", "");
	table_init(&table, columns, PROCESS_COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct peak *peak = &p->processes[i];
		char *process = mem_format("%.32s %u", peak->process_name, peak->pid);

		table_row(&table);
		table_text(&table, PROCESS, process);
		table_number(&table, TIME, peak->time);
		table_number(&table, BYTES, peak->bytes);
		table_number(&table, BLOCKS, peak->blocks);
		table_number(&table, SOON, peak->soon_bytes);
		if (peak->count) {
			table_number(&table, TOP_BYTES, peak->rows[0].bytes);
			table_text(&table, TOP, peak->rows[0].name);
		}
		free(process);
	}
	table_print(&table, &ctl->style);
	if (limit < p->process_count)
		fprintf(ctl->style.out, "%s… and %s%s\n", tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, p->process_count - limit, "more process"),
			tint_end(&ctl->style, TINT_DIM));
	table_deinit(&table);
}

static void json_peak(struct json *json, const struct peak *peak, const struct ctl *ctl)
{
	size_t limit = ctl_limit(ctl, peak->count, USUAL_ROWS);

	json_number(json, "time_ns", peak->time);
	json_number(json, "blocks", peak->blocks);
	json_number(json, "bytes", peak->bytes);
	json_number(json, "transient_blocks", peak->soon_blocks);
	json_number(json, "transient_bytes", peak->soon_bytes);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct peak_row *row = &peak->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "transient_blocks", row->soon_blocks);
		json_number(json, "transient_bytes", row->soon_bytes);
		json_end(json);
	}
	json_end(json);
}

static void json_peaks(struct ctl *ctl, const struct peaks *p, enum group_by by)
{
	struct json *json = &ctl->json;

	json_number(json, "duration_ns", p->duration);
	json_number(json, "transient_ns", p->soon);
	json_text(json, "by", group_names[by]);
	json_array(json, "peaks");
	for (size_t i = 0; i < p->count; i++) {
		json_object(json, NULL);
		json_bool(json, "highest", i == p->highest);
		json_peak(json, &p->peaks[i], ctl);
		json_end(json);
	}
	json_end(json);
	json_array(json, "processes");
	for (size_t i = 0; i < p->process_count; i++) {
		json_object(json, NULL);
		json_number(json, "process", p->processes[i].process);
		json_number(json, "pid", p->processes[i].pid);
		json_text(json, "name", p->processes[i].process_name);
		json_peak(json, &p->processes[i], ctl);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *load_groups(struct ctl *ctl, struct store *store, enum group_by by,
				     struct groups *out)
{
	struct component_rules *rules = NULL;
	struct shiny_err *err;

	if (by != GROUP_COMPONENT)
		return groups_load(store, by, ctl->options.given[OPT_FULL_NAMES], out);
	err = component_rules_load(ctl->options.components, ctl->options.component_count, &rules);
	if (!err)
		err = groups_load_components(store, rules, out);
	component_rules_free(rules);
	return err;
}

static struct shiny_err *transient_time(const struct ctl *ctl, uint64_t *soon)
{
	const char *text = ctl->options.text[OPT_TRANSIENT];

	*soon = 0;
	if (!ctl->options.given[OPT_TRANSIENT] || (units_parse_time(text, soon) && *soon))
		return NULL;
	return shiny_err(SHINY_ERR_USAGE, "peak: --transient %s: not a time such as 100ms", text);
}

/* Chooses the peak to print; NULL: nothing was ever live. */
static struct shiny_err *choose(const struct ctl *ctl, const struct peaks *p,
				const struct peak **out)
{
	uint64_t number = ctl->options.given[OPT_PEAK_NUMBER] ? ctl->options.number[OPT_PEAK_NUMBER]
							      : p->highest + 1;

	*out = number <= p->count ? &p->peaks[number - 1] : NULL;
	if (!*out && p->count)
		return shiny_err(SHINY_ERR_USAGE, "peak: --number %s: there %s",
				 ctl->options.text[OPT_PEAK_NUMBER],
				 p->count == 1 ? "is one peak" : "are fewer peaks");
	return NULL;
}

static void print(struct ctl *ctl, const struct peaks *p, const struct peak *peak, enum group_by by)
{
	if (!peak) {
		fputs("nothing was ever live\n", ctl->style.out);
		return;
	}
	print_answer(ctl, p, peak);
	print_peaks(ctl, p, peak);
	print_rows(ctl, peak, by, ctl_limit(ctl, peak->count, USUAL_ROWS));
	print_each(ctl, p, by);
}

struct shiny_err *cmd_peak(struct ctl *ctl)
{
	/* options.def lists them in the order of the enum */
	enum group_by by = (enum group_by)ctl->options.number[OPT_PEAK_BY];
	struct peaks peaks = { 0 };
	struct groups groups = { 0 };
	const struct peak *peak = NULL;
	struct store *store;
	struct filter filter = { 0 };
	uint64_t soon;
	struct shiny_err *err = transient_time(ctl, &soon);

	if (!err && ctl->options.component_count && by != GROUP_COMPONENT)
		err = shiny_err(SHINY_ERR_USAGE, "peak: --components is for --by component");
	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (err)
		return err;
	err = load_groups(ctl, store, by, &groups);
	if (!err)
		err = peak_load(store, &filter, &groups, soon, true, &peaks);
	if (!err)
		err = choose(ctl, &peaks, &peak);
	err = ctl_loaded(store, &filter, err);
	if (err) {
		peak_deinit(&peaks);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_peaks(ctl, &peaks, by);
	} else {
		print(ctl, &peaks, peak, by);
	}
	peak_deinit(&peaks);
	return ctl_end(ctl, store, by == GROUP_TYPE ? "peak --by site" : "activity");
}
