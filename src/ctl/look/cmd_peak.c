/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_peak.c: `shinyctl peak`: prints when most bytes were live, and which blocks. */
#include "../../analysis/time/peak.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"

enum { USUAL_PROCESSES = 10 };

/* Returns "104 ms later", for the titles of columns. */
static const char *later(char out[UNITS_TEXT], const struct peaks *p)
{
	char time[UNITS_TEXT];

	snprintf(out, UNITS_TEXT, "%.24s later", units_time(time, p->soon));
	return out;
}

static void print_answer(const struct ctl *ctl, const struct peaks *p, const struct peak *peak)
{
	fprintf(ctl->style.out, "%s%s%s%s live %s, in %s, %s after the start, of %s\n",
		tint(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, peak->there.bytes),
		tint_end(&ctl->style, TINT_BOLD),
		estimated_margin(ESTIMATED_MARGIN_BUF, peak->there.bytes,
				 peak->there.bytes_variance),
		peak == &p->peaks[p->highest] ? "at most" : "then",
		units_noun(UNITS_NOUN_BUF, peak->there.blocks, "block"),
		units_time(UNITS_BUF, peak->time), units_time(UNITS_BUF, p->duration));
	fprintf(ctl->style.out, "  transient  %s (%s) in %s: gone %s\n",
		units_bytes(UNITS_BUF, peak->soon_bytes),
		units_share(UNITS_BUF, (double)peak->soon_bytes, (double)peak->there.bytes),
		units_noun(UNITS_NOUN_BUF, peak->soon_blocks, "block"), later(UNITS_BUF, p));
	fprintf(ctl->style.out, "  lasting    %s (%s) in %s\n",
		units_bytes(UNITS_BUF, peak->there.bytes - peak->soon_bytes),
		units_share(UNITS_BUF, (double)(peak->there.bytes - peak->soon_bytes),
			    (double)peak->there.bytes),
		units_noun(UNITS_NOUN_BUF, peak->there.blocks - peak->soon_blocks, "block"));
}

static void print_each(const struct ctl *ctl, const struct answer *answer)
{
	size_t count = answer_count(answer, "processes");
	struct answer each = *answer;

	each.limit = USUAL_PROCESSES;
	each.match = NULL; /* its rows are processes */
	ctl_heading(ctl, "Each process at its own peak", "");
	answer_table(&each, "processes_shown", &ctl->style);
	if (count > USUAL_PROCESSES)
		fprintf(ctl->style.out, "%s… and %s%s\n", tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, count - USUAL_PROCESSES, "more process"),
			tint_end(&ctl->style, TINT_DIM));
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

/* Chooses the peak to print; none if nothing was ever live. */
static struct shiny_err *choose(const struct ctl *ctl, struct peaks *p)
{
	uint64_t number = ctl->options.given[OPT_PEAK_NUMBER] ? ctl->options.number[OPT_PEAK_NUMBER]
							      : p->highest + 1;

	if (number <= p->count)
		p->peaks[number - 1].shown = true;
	else if (p->count)
		return shiny_err(SHINY_ERR_USAGE, "peak: --number %s: there %s",
				 ctl->options.text[OPT_PEAK_NUMBER],
				 p->count == 1 ? "is one peak" : "are fewer peaks");
	return NULL;
}

static struct shiny_err *print_peak(struct ctl *ctl, const struct answer *answer)
{
	const struct peaks *p = answer->result;
	const struct peak *peak = p->peaks;
	struct answer rows = *answer;

	if (!p->count) {
		fputs("nothing was ever live\n", ctl->style.out);
		return NULL;
	}
	while (!peak->shown)
		peak++;
	rows.fields = peak_fields;
	rows.result = peak;
	print_answer(ctl, p, peak);
	if (p->count > 1) {
		fputc('\n', ctl->style.out);
		answer_table(answer, "peaks", &ctl->style);
	}
	fputc('\n', ctl->style.out);
	answer_table(&rows, "rows", &ctl->style);
	ctl_more(ctl, answer->limit, answer_count(&rows, "rows"));
	for (size_t i = 0; i < peak->count; i++)
		if (!answer->match || text_matches(answer->match, peak->rows[i].name)) {
			if (ctl->options.by == BY_SITE || ctl->options.by == BY_TYPE)
				ctl_why(ctl, ctl->options.by == BY_SITE, peak->rows[i].name);
			break;
		}
	if (p->process_count > 1)
		print_each(ctl, answer);
	return NULL;
}

static struct shiny_err *load_peak(struct ctl *ctl, struct store *store,
				   const struct filter *filter, void *result)
{
	enum group_by by = dimension_group(ctl->options.by);
	struct peaks *peaks = result;
	struct groups groups = { 0 };
	struct shiny_err *err;
	uint64_t soon;

	SHINY_TRY(transient_time(ctl, &soon));
	if (ctl->options.component_count && by != GROUP_COMPONENT)
		return shiny_err(SHINY_ERR_USAGE, "peak: --components is for --by component");
	SHINY_TRY(load_groups(ctl, store, by, &groups));
	SHINY_TRY(peak_load(store, filter, &groups, soon, true, peaks));
	err = choose(ctl, peaks);
	if (err)
		peak_deinit(peaks);
	return err;
}
VERB_BODY_DEINIT(struct peaks, peak_deinit)

static const char *next_of_peak(const struct ctl *ctl)
{
	return ctl->options.by == BY_TYPE ? "peak --by site" : "activity";
}

const struct verb_body verb_peak = {
	.fields = peaks_fields,
	.size = sizeof(struct peaks),
	.load = load_peak,
	.deinit = peak_deinit_result,
	.match = true,
	.usual = 20,
	.print = print_peak,
	.next_of = next_of_peak,
};
