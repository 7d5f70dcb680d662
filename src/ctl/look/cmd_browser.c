/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_browser.c: `shinyctl browser`: compares Chromium's own memory figures with the recording. */
#include <string.h>

#include "../../analysis/totals/browser.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../verb_body.h"

enum { USUAL_ROWS = 20 };
static void print_browser_rows(struct ctl *ctl, const struct browser_sample *sample)
{
	const struct answer answer = { .fields = browser_sample_fields, .result = sample };

	answer_table(&answer, "rows", &ctl->style);
}

/* Prints the rows of a snapshot that are collected C++ objects (`native`), or the others. */
static void print_objects(struct ctl *ctl, const struct browser_sample *sample, bool native)
{
	AUTO_FREE struct browser_row *rows = mem_zero(sample->count + 1, sizeof(*rows));
	struct browser_sample part = { .rows = rows };
	size_t count = 0;

	for (size_t i = 0; i < sample->count; i++)
		if ((strcmp(sample->rows[i].kind, "native") == 0) == native)
			rows[count++] = sample->rows[i];
	if (!count)
		return;
	part.count = ctl_limit(ctl, count, USUAL_ROWS);
	fprintf(ctl->style.out, "%s%s%s\n", tint(&ctl->style, TINT_BOLD),
		native ? "garbage-collected C++ objects (Oilpan)" : "V8's objects",
		tint_end(&ctl->style, TINT_BOLD));
	print_browser_rows(ctl, &part);
	ctl_more(ctl, part.count, count);
}

/* Prints how many types and objects both sides have, and for how many types their numbers agree. */
static void print_agreement(struct ctl *ctl, const struct browser_sample *sample)
{
	uint64_t types = 0, equal = 0, theirs = 0, ours = 0;

	for (size_t i = 0; i < sample->count; i++) {
		const struct browser_row *row = &sample->rows[i];

		if (!row->is_ours || !row->is_theirs)
			continue;
		types++;
		equal += row->ours.objects == row->theirs.objects;
		theirs += row->theirs.objects;
		ours += row->ours.objects;
	}
	if (types)
		fprintf(ctl->style.out,
			"%s%s %s known to both: %s in the browser, %s here; of %s the number is "
			"the same%s\n",
			tint(&ctl->style, TINT_DIM), units_noun(UNITS_NOUN_BUF, types, "type"),
			units_form(types, "is", "are"),
			units_noun(UNITS_NOUN_BUF, theirs, "object"), units_count(UNITS_BUF, ours),
			units_noun(UNITS_NOUN_BUF, equal, "type"), tint_end(&ctl->style, TINT_DIM));
}

static struct shiny_err *print_browser(struct ctl *ctl, const struct answer *answer)
{
	const struct browser *browser = answer->result;
	struct style *style = &ctl->style;

	for (size_t i = 0; i < browser->count; i++) {
		const struct browser_sample *sample = &browser->samples[i];

		fprintf(style->out, "%s%s, %s%s, pid %u%s: %s %.2f s after the start\n",
			tint(style, TINT_BOLD), sample->title,
			sample->snapshot ? "heap snapshot" : "memory dump",
			tint_end(style, TINT_BOLD), sample->pid,
			sample->process ? "" : " (not in the session)",
			sample->snapshot ? "taken" : "counted", (double)sample->time / 1e9);
		if (sample->snapshot) {
			print_objects(ctl, sample, true);
			print_agreement(ctl, sample);
			print_objects(ctl, sample, false);
		} else {
			print_browser_rows(ctl, sample);
		}
		putc('\n', style->out);
	}
	if (!browser->count)
		fputs("the browser was not asked: record with shinyctl run --devtools\n",
		      style->out);
	else
		fprintf(style->out,
			"%s%s in memory dumps and %s in all; --at shows earlier ones%s%s\n",
			tint(style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, browser->dumps, "process count"),
			units_noun(UNITS_NOUN_BUF, browser->snapshots, "heap snapshot"),
			browser->compared ? "" : "; the session has no events to compare them with",
			tint_end(style, TINT_DIM));
	return NULL;
}

static struct shiny_err *load_browser(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	const char *at = ctl->options.text[OPT_AT];
	uint64_t until = UINT64_MAX;

	if (strcmp(at, "last") != 0 && !units_parse_time(at, &until))
		return shiny_err(
			SHINY_ERR_USAGE,
			"browser: --at %s: not last or a time such as 2.5s since the start", at);
	return browser_load(store, filter, until, ctl->options.text[OPT_MATCH], result);
}
VERB_BODY_DEINIT(struct browser, browser_deinit)

const struct verb_body verb_browser = {
	.fields = browser_fields,
	.size = sizeof(struct browser),
	.load = load_browser,
	.deinit = browser_deinit_result,
	.print = print_browser,
	.next = "types",
};
