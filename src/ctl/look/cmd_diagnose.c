/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diagnose.c: `shinyctl diagnose`: prints the five symptoms of a heap, with causes and
 * advice. */
#include <string.h>

#include "../../analysis/diagnose.h"
#include "../../base/text.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../verb_body.h"

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

static struct shiny_err *print_diagnose(struct ctl *ctl, const struct answer *answer)
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
	const struct diagnoses *diagnoses = answer->result;
	const struct style *style = &ctl->style;

	for (size_t i = 0; i < SYMPTOMS; i++) {
		const struct diagnosis *d = &diagnoses->at[i];
		const struct answer rows = { .fields = diagnosis_fields, .result = d };

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
			answer_table(&rows, "rows", style);
		if (d->verb && d->verdict != VERDICT_NO) {
			AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

			fprintf(style->out, "   %smore%s       shinyctl %s %s\n",
				tint(style, TINT_DIM), tint_end(style, TINT_DIM), d->verb, file);
		}
	}
	return NULL;
}

static struct shiny_err *load_diagnose(struct ctl *ctl, struct store *store,
				       const struct filter *filter, void *result)
{
	bool full_names = ctl->options.given[OPT_FULL_NAMES];
	unsigned flags = DIAGNOSE_PROGRESS | (full_names ? DIAGNOSE_FULL_NAMES : 0);
	struct diagnose_known known;

	SHINY_TRY(diagnose_load(store, filter, flags, &known, result));
	diagnose_forget(&known);
	return NULL;
}
VERB_BODY_DEINIT(struct diagnoses, diagnose_deinit)

const struct verb_body verb_diagnose = {
	.needs = "what all blocks cost",
	.fields = diagnose_fields,
	.size = sizeof(struct diagnoses),
	.load = load_diagnose,
	.deinit = diagnose_deinit_result,
	.print = print_diagnose,
};
