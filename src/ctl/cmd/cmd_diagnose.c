/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diagnose.c: `shinyctl diagnose`: prints the five symptoms of a heap, with causes and
 * advice. */
#include <string.h>

#include "../../analysis/diagnose.h"
#include "../../base/text.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../answers_json.h"
#include "../ctl.h"

static void print_wrapped(const struct style *style, const char *label, const char *text)
{
	enum { INDENT = 14 };
	size_t room = style->width > INDENT + 30 ? style->width - INDENT : style->width ? 30 : 4000;

	fprintf(style->out, "   %s%-*s%s", tint(style, TINT_DIM), INDENT - 3, label,
		tint_end(style, TINT_DIM));
	while (text_columns(text) > room) {
		size_t cut = 0, columns = 0;

		for (size_t i = 0; text[i] && columns <= room;) {
			uint32_t point;
			size_t length = text_decode(text + i, &point);

			if (text[i] == ' ')
				cut = i;
			i += length;
			columns++;
		}
		if (!cut)
			break;
		fprintf(style->out, "%.*s\n%*s", (int)cut, text, INDENT, "");
		text += cut + 1;
	}
	fprintf(style->out, "%s\n", text);
}

static void print_rows(const struct style *style, const struct diagnosis *d)
{
	enum { BYTES, BLOCKS, NAME, TEXT, COLUMNS };
	static const struct table_column columns[COLUMNS] = {
		[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[NAME] = { .title = "call site",
			   .kind = CELL_TEXT,
			   .flexible = true,
			   .cut = TEXT_CUT_MIDDLE,
			   .tint = TINT_NAME },
		[TEXT] = { .title = "", .kind = CELL_TEXT },
	};
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < DIAGNOSE_ROWS && d->rows[i].name; i++) {
		table_row(&table);
		table_number(&table, BYTES, d->rows[i].bytes);
		table_number(&table, BLOCKS, d->rows[i].blocks);
		table_text(&table, NAME, d->rows[i].name);
		table_text(&table, TEXT, d->rows[i].text);
	}
	table_print(&table, style);
	table_deinit(&table);
}

static void print(struct ctl *ctl, const struct diagnoses *diagnoses)
{
	static const char *const titles[SYMPTOMS] = {
		[SYMPTOM_CHURN] = "Churn",
		[SYMPTOM_GROWTH] = "Heap growth",
		[SYMPTOM_UTILIZATION] = "Low use of pages",
		[SYMPTOM_HARDWARE] = "Misses of caches and branches",
		[SYMPTOM_SPIKES] = "Transient spikes",
	};
	static const enum tint tints[VERDICTS] = {
		[VERDICT_NO] = TINT_GOOD, [VERDICT_YES] = TINT_WARN, [VERDICT_UNKNOWN] = TINT_DIM
	};
	const struct style *style = &ctl->style;

	for (size_t i = 0; i < SYMPTOMS; i++) {
		const struct diagnosis *d = &diagnoses->at[i];

		fprintf(style->out, "%s%zu. %s: %s%s%s\n", i ? "\n" : "", i + 1, titles[i],
			tint(style, tints[d->verdict]), verdict_names[d->verdict],
			tint_end(style, tints[d->verdict]));
		print_wrapped(style, "measured", d->measure);
		if (d->cause)
			print_wrapped(style, "because", d->cause);
		if (d->advice)
			print_wrapped(style, "do", d->advice);
		if (d->support)
			print_wrapped(style, "number", d->support);
		if (d->missing)
			print_wrapped(style, "missing", d->missing);
		if (d->rows[0].name)
			print_rows(style, d);
		if (d->verb && d->verdict != VERDICT_NO) {
			AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

			fprintf(style->out, "   %smore%s       shinyctl %s %s\n",
				tint(style, TINT_DIM), tint_end(style, TINT_DIM), d->verb, file);
		}
	}
}

static struct shiny_err *load(struct store *store, const struct filter *filter, bool full_names,
			      struct diagnoses *out)
{
	unsigned flags = DIAGNOSE_PROGRESS | (full_names ? DIAGNOSE_FULL_NAMES : 0);
	struct diagnose_known known;

	SHINY_TRY(diagnose_load(store, filter, flags, &known, out));
	diagnose_forget(&known);
	return NULL;
}

struct shiny_err *cmd_diagnose(struct ctl *ctl)
{
	struct diagnoses diagnoses;
	struct store *store;
	struct filter filter;
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);

	if (!err)
		err = ctl_loaded(store, &filter,
				 load(store, &filter, ctl->options.given[OPT_FULL_NAMES],
				      &diagnoses));
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_diagnoses(&ctl->json, &diagnoses);
	} else {
		print(ctl, &diagnoses);
	}
	diagnose_deinit(&diagnoses);
	return ctl_end(ctl, store, NULL);
}
