/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_activity.c: `shinyctl activity`: prints the heap over time, and its phases. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/activity.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/units.h"
#include "../verb_body.h"

enum {
	USUAL_PROCESSES = 10,
	LABEL = 14,
	PROCESS_LABEL = 22,
	VALUE = 12, /* columns */
	BARS_LEAST = 16,
	BARS_PIPED = 60,
};

/* The labels of the first of activity_point_fields; the others have no graph. */
static const char *const labels[] = { "live bytes",  "live blocks",   "live types", "4 KiB pages",
				      "cache lines", "allocations/s", "bytes/s",    "frees/s" };
enum { GRAPHS = sizeof(labels) / sizeof(*labels), RATES = 5 /* the first that is a rate */ };

/* Returns the length of interval `i`, ns. */
static uint64_t length_of(const struct activity *a, size_t i)
{
	uint64_t left = a->duration - i * a->interval;

	return left < a->interval ? left : a->interval;
}

static size_t bars_columns(const struct ctl *ctl, size_t label)
{
	size_t used = label + 2 * VALUE + 2;

	return !ctl->style.width		      ? BARS_PIPED
	       : ctl->style.width > used + BARS_LEAST ? ctl->style.width - used
						      : BARS_LEAST;
}

static char *number_text(char out[UNITS_TEXT], uint64_t value, bool bytes)
{
	return bytes		  ? units_bytes(out, value)
	       : value < 10000000 ? units_count(out, value)
				  : units_short(out, (double)value);
}

/* Writes the margin of a number of blocks a second. */
static char *rate_margin(char out[ESTIMATED_MARGIN], const struct estimated *sum, uint64_t length)
{
	double seconds = (double)length / 1e9;

	return estimated_margin_of(out, activity_per_second(sum->blocks, length),
				   length ? (double)sum->blocks_variance / (seconds * seconds) : 0,
				   units_count);
}

static void print_answer(const struct ctl *ctl, const struct activity *a)
{
	const struct activity_series *t = &a->total;
	const struct estimated *peak = &t->peak, *end = &t->points[a->count - 1].live;
	uint64_t length = a->duration - a->kept;

	fprintf(ctl->style.out,
		"%s%s%s%s live at most, in %s, %s after the start; %s%s at the end, in %s\n",
		tint(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, peak->bytes),
		tint_end(&ctl->style, TINT_BOLD),
		estimated_margin(ESTIMATED_MARGIN_BUF, peak->bytes, peak->bytes_variance),
		units_noun(UNITS_NOUN_BUF, peak->blocks, "block"),
		units_time(UNITS_BUF, t->peak_time), units_bytes(UNITS_BUF, end->bytes),
		estimated_margin(ESTIMATED_MARGIN_BUF, end->bytes, end->bytes_variance),
		units_count(UNITS_BUF, end->blocks));
	fprintf(ctl->style.out, "%s (%s%s) and %s in %s: %s%s and %s%s a second\n",
		units_noun(UNITS_NOUN_BUF, t->began.blocks, "allocation"),
		units_bytes(UNITS_BUF, t->began.bytes),
		estimated_margin(ESTIMATED_MARGIN_BUF, t->began.bytes, t->began.bytes_variance),
		units_noun(UNITS_NOUN_BUF, t->ended.blocks, "free"), units_time(UNITS_BUF, length),
		units_count(UNITS_BUF, activity_per_second(t->began.blocks, length)),
		rate_margin(ESTIMATED_MARGIN_BUF, &t->began, length),
		units_count(UNITS_BUF, activity_per_second(t->ended.blocks, length)),
		rate_margin(ESTIMATED_MARGIN_BUF, &t->ended, length));
}

static void print_series(const struct ctl *ctl, const struct activity *a)
{
	size_t columns = bars_columns(ctl, LABEL), drawn = a->count < columns ? a->count : columns;
	uint64_t *values = mem_zero(a->count, sizeof(*values));

	fprintf(ctl->style.out, "\n%s%-*s%-*s%*s%*s%s\n", tint(&ctl->style, TINT_DIM), LABEL, "",
		(int)drawn, "", VALUE, "most", VALUE, "at the end",
		tint_end(&ctl->style, TINT_DIM));
	for (unsigned g = 0; g < GRAPHS; g++) {
		const struct field *measure = &activity_point_fields[g];
		bool bytes = measure->kind == FIELD_KIND_BYTES;
		uint64_t most = 0, last = 0;
		char *bars;

		for (size_t i = 0; i < a->count; i++) {
			const struct activity_point *p = &a->total.points[i];

			last = field_value(measure, p).number;
			/* of live bytes and blocks, the most in the interval */
			values[i] = g == 0	? p->most.bytes
				    : g == 1	? p->most.blocks
				    : g < RATES ? last
						: activity_per_second(last, length_of(a, i));
			most = values[i] > most ? values[i] : most;
		}
		bars = bars_text(values, a->count, columns);
		fprintf(ctl->style.out, "%-*s%s%s%s%*s", LABEL, labels[g],
			tint(&ctl->style, TINT_GOOD), bars, tint_end(&ctl->style, TINT_GOOD), VALUE,
			number_text(UNITS_BUF, most, bytes));
		if (g >= RATES)
			fputc('\n', ctl->style.out);
		else
			fprintf(ctl->style.out, "%*s\n", VALUE,
				number_text(UNITS_BUF, last, bytes));
		free(bars);
	}
	fprintf(ctl->style.out, "%s%-*s0%*s%s\n", tint(&ctl->style, TINT_DIM), LABEL, "",
		(int)drawn - 1, units_time(UNITS_BUF, a->duration),
		tint_end(&ctl->style, TINT_DIM));
	free(values);
}

/* Joins names of types on the left, of call sites on the right. */
static char *phase_names(const void *of, void *context)
{
	const struct phase *phase = of;
	const struct ctl *ctl = context;
	static const char *const words[PHASE_KINDS] = { [PHASE_STEADY] = "new",
							[PHASE_RISE] = "kept",
							[PHASE_FALL] = "gone",
							[PHASE_SPIKE] = "new" };
	enum { INDENT = 10, BYTES_COLUMNS = 8, LEAST = 14 };
	size_t width = ctl->style.width	    ? ctl->style.width
		       : ctl->style.longest ? ctl->style.longest
					    : 400;
	size_t room = (width - INDENT) / 2 > BYTES_COLUMNS + 2 + LEAST
			      ? (width - INDENT) / 2 - BYTES_COLUMNS - 2
			      : LEAST;
	unsigned lines = phase->kind == PHASE_STEADY ? PHASE_ROWS / 2 : PHASE_ROWS;
	char *text = mem_text(""), *name = mem_alloc(4 * room + 8);

	for (unsigned i = 0; i < lines && (phase->types[i].name || phase->sites[i].name); i++) {
		const struct phase_row *sides[2] = { &phase->types[i], &phase->sites[i] };
		char *more = mem_format("%s     %-4s", text, i ? "" : words[phase->kind]);

		free(text);
		text = more;
		for (unsigned side = 0; side < 2; side++) {
			const struct phase_row *row = sides[side];
			size_t used;

			if (!row->name)
				continue;
			used = text_fit(name, 4 * room + 8, row->name, room, TEXT_CUT_MIDDLE);
			more = mem_format("%s %*s %s%s%s%*s", text, BYTES_COLUMNS,
					  units_bytes(UNITS_BUF, phase_weight(phase, row)),
					  tint(&ctl->style, TINT_NAME), name,
					  tint_end(&ctl->style, TINT_NAME),
					  side ? 0 : (int)(room - used), "");
			free(text);
			text = more;
		}
		more = mem_format("%s\n", text);
		free(text);
		text = more;
	}
	free(name);
	return text;
}

ORDER_BY(by_peak, struct activity_series *const,
	 ORDER_VALUES((*b)->peak.bytes, (*a)->peak.bytes)
		 ?: ORDER_VALUES((*a)->process, (*b)->process))

static void print_each(const struct ctl *ctl, const struct activity *a)
{
	const struct activity_series **order = mem_zero(a->process_count + 1, sizeof(*order));
	size_t limit = ctl_limit(ctl, a->process_count, USUAL_PROCESSES),
	       columns = bars_columns(ctl, PROCESS_LABEL);
	size_t drawn = a->count < columns ? a->count : columns;
	uint64_t *values = mem_zero(a->count, sizeof(*values));

	for (size_t i = 0; i < a->process_count; i++)
		order[i] = &a->processes[i];
	qsort(order, a->process_count, sizeof(*order), by_peak);
	ctl_heading(ctl, "Live bytes of each process", "");
	fprintf(ctl->style.out, "%s%-*s%-*s%*s%*s%s\n", tint(&ctl->style, TINT_DIM), PROCESS_LABEL,
		"", (int)drawn, "", VALUE, "most", VALUE, "after", tint_end(&ctl->style, TINT_DIM));
	for (size_t i = 0; i < limit; i++) {
		const struct activity_series *s = order[i];
		char *name = mem_format("%.*s %u", PROCESS_LABEL - 10, s->name, s->pid), *bars;

		memset(values, 0, a->count * sizeof(*values));
		for (size_t k = 0; k < s->count; k++)
			values[s->first + k] = s->points[k].most.bytes;
		bars = bars_text(values, a->count, columns);
		fprintf(ctl->style.out, "%s%-*s%s%s%s%s%*s%*s\n", tint(&ctl->style, TINT_NAME),
			PROCESS_LABEL, name, tint_end(&ctl->style, TINT_NAME),
			tint(&ctl->style, TINT_GOOD), bars, tint_end(&ctl->style, TINT_GOOD), VALUE,
			units_bytes(UNITS_BUF, s->peak.bytes), VALUE,
			units_time(UNITS_BUF, s->peak_time));
		free(bars);
		free(name);
	}
	ctl_more(ctl, limit, a->process_count);
	free(order);
	free(values);
}

/* ---- CSV ---- */

static void csv_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_series(FILE *out, const struct activity *a, const struct activity_series *s)
{
	for (size_t i = 0; i < s->count; i++) {
		size_t at = s->first + i;

		fprintf(out, "%llu,%llu,%u,%u,", (unsigned long long)(at * a->interval),
			(unsigned long long)length_of(a, at), s->process, s->pid);
		csv_text(out, s->name ? s->name : "");
		for (const struct field *f = activity_point_fields; f->kind != FIELD_KIND_END;
		     f++) {
			struct field_value v = field_value(f, &s->points[i]);

			fputc(',', out);
			if (!v.absent)
				fprintf(out, "%llu", (unsigned long long)v.number);
		}
		fputs("\n", out);
	}
}

/* Prints CSV as in RFC 4180, but with plain line ends: a carriage return is not printable. */
static void print_csv(FILE *out, const struct activity *a)
{
	fputs("from_ns,length_ns,process,pid,name", out);
	for (const struct field *f = activity_point_fields; f->kind != FIELD_KIND_END; f++)
		fprintf(out, ",%s", f->key);
	fputs("\n", out);
	csv_series(out, a, &a->total);
	for (size_t i = 0; i < a->process_count; i++)
		csv_series(out, a, &a->processes[i]);
}

static struct shiny_err *print_activity(struct ctl *ctl, const struct answer *answer)
{
	const struct activity *a = answer->result;
	struct answer phases = *answer;

	if (ctl->options.given[OPT_CSV]) {
		print_csv(ctl->style.out, a);
		return NULL;
	}
	phases.context = ctl;
	phases.below = phase_names;
	print_answer(ctl, a);
	print_series(ctl, a);
	ctl_heading(ctl, "Phases", ": the types and call sites of most bytes kept, gone, or new");
	answer_table(&phases, "phases", &ctl->style);
	if (a->process_count > 1)
		print_each(ctl, a);
	return NULL;
}

static struct shiny_err *load_activity(struct ctl *ctl, struct store *store,
				       const struct filter *filter, void *result)
{
	const bool *given = ctl->options.given;
	unsigned flags = ACTIVITY_PROGRESS | (given[OPT_CSV] ? 0 : ACTIVITY_PHASE_ROWS) |
			 (given[OPT_FULL_NAMES] ? ACTIVITY_FULL_NAMES : 0);

	return activity_load(store, filter, ctl->options.number[OPT_INTERVAL], flags, result);
}
VERB_BODY_DEINIT(struct activity, activity_deinit)

const struct verb_body verb_activity = {
	.fields = activity_fields,
	.size = sizeof(struct activity),
	.load = load_activity,
	.deinit = activity_deinit_result,
	.print = print_activity,
	.prints_csv = true,
	.next = "peak",
};
