/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_activity.c: `shinyctl activity`: prints the heap over time, and its phases. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/activity.h"
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum {
	USUAL_PROCESSES = 10,
	LABEL = 14, PROCESS_LABEL = 22, VALUE = 12, /* columns */
	BARS_LEAST = 16, BARS_PIPED = 60,
};

enum measure {
	BYTES,
	BLOCKS,
	TYPES,
	PAGES,
	LINES,
	ALLOCS,
	ALLOC_BYTES,
	FREES,
	FREE_BYTES,
	MOST_BYTES,
	MEASURES
};
static const struct {
	const char *label, *key; /* label NULL: has no graph */
	bool bytes, rate;        /* in bytes; during an interval, not at its end */
} measures[MEASURES] = {
	[BYTES] = {"live bytes", "live_bytes", true, false},
	[BLOCKS] = {"live blocks", "live_blocks", false, false},
	[TYPES] = {"live types", "live_types", false, false},
	[PAGES] = {"4 KiB pages", "live_pages", false, false},
	[LINES] = {"cache lines", "live_lines", false, false},
	[MOST_BYTES] = {NULL, "most_bytes", true, false},
	[ALLOCS] = {"allocations/s", "allocs", false, true},
	[ALLOC_BYTES] = {"bytes/s", "alloc_bytes", true, true},
	[FREES] = {"frees/s", "frees", false, true},
	[FREE_BYTES] = {NULL, "free_bytes", true, true},
};

static uint64_t value_of(const struct activity_point *p, enum measure measure)
{
	switch (measure) {
	case BYTES: return p->bytes;
	case BLOCKS: return p->blocks;
	case TYPES: return p->types;
	case PAGES: return p->pages;
	case LINES: return p->lines;
	case MOST_BYTES: return p->most_bytes;
	case ALLOCS: return p->allocs;
	case ALLOC_BYTES: return p->alloc_bytes;
	case FREES: return p->frees;
	default: return p->free_bytes;
	}
}

/* Returns the length of interval `i`, ns. */
static uint64_t length_of(const struct activity *a, size_t i)
{
	uint64_t left = a->duration - i * a->interval;

	return left < a->interval ? left : a->interval;
}

static uint64_t per_second(uint64_t count, uint64_t ns)
{
	return ns ? (uint64_t)((double)count * 1e9 / (double)ns + 0.5) : 0;
}

/* ---- text ---- */

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

static void print_answer(const struct ctl *ctl, const struct activity *a)
{
	const struct activity_series *t = &a->total;
	const struct activity_point *end = &t->points[a->count - 1];

	fprintf(ctl->style.out,
		"%s%s%s live at most, in %s, %s after the start; %s at the end, in %s\n",
		tint(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, t->peak_bytes),
		tint_end(&ctl->style, TINT_BOLD),
		units_noun(UNITS_NOUN_BUF, t->peak_blocks, "block"),
		units_time(UNITS_BUF, t->peak_time), units_bytes(UNITS_BUF, end->bytes),
		units_count(UNITS_BUF, end->blocks));
	fprintf(ctl->style.out, "%s (%s) and %s in %s: %s and %s a second\n",
		units_noun(UNITS_NOUN_BUF, t->allocs, "allocation"),
		units_bytes(UNITS_BUF, t->alloc_bytes),
		units_noun(UNITS_NOUN_BUF, t->frees, "free"), units_time(UNITS_BUF, a->duration),
		units_count(UNITS_BUF, per_second(t->allocs, a->duration)),
		units_count(UNITS_BUF, per_second(t->frees, a->duration)));
}

static void print_series(const struct ctl *ctl, const struct activity *a)
{
	size_t columns = bars_columns(ctl, LABEL), drawn = a->count < columns ? a->count : columns;
	uint64_t *values = mem_zero(a->count, sizeof(*values));

	fprintf(ctl->style.out, "\n%s%-*s%-*s%*s%*s%s\n", tint(&ctl->style, TINT_DIM), LABEL, "",
		(int)drawn, "", VALUE, "most", VALUE, "at the end",
		tint_end(&ctl->style, TINT_DIM));
	for (enum measure m = 0; m < MEASURES; m++) {
		uint64_t most = 0, last;
		char *bars;

		if (!measures[m].label)
			continue;
		for (size_t i = 0; i < a->count; i++) {
			/* the highest in the interval, if known */
			uint64_t value = value_of(&a->total.points[i], m == BYTES ? MOST_BYTES : m);

			values[i] = measures[m].rate ? per_second(value, length_of(a, i)) : value;
			most = values[i] > most ? values[i] : most;
		}
		last = value_of(&a->total.points[a->count - 1], m);
		bars = bars_text(values, a->count, columns);
		fprintf(ctl->style.out, "%-*s%s%s%s%*s", LABEL, measures[m].label,
			tint(&ctl->style, TINT_GOOD), bars, tint_end(&ctl->style, TINT_GOOD), VALUE,
			number_text(UNITS_BUF, most, measures[m].bytes));
		if (measures[m].rate)
			fputc('\n', ctl->style.out);
		else
			fprintf(ctl->style.out, "%*s\n", VALUE,
				number_text(UNITS_BUF, last, measures[m].bytes));
		free(bars);
	}
	fprintf(ctl->style.out, "%s%-*s0%*s%s\n", tint(&ctl->style, TINT_DIM), LABEL, "",
		(int)drawn - 1, units_time(UNITS_BUF, a->duration),
		tint_end(&ctl->style, TINT_DIM));
	free(values);
}

/* Joins names of types on the left, of call sites on the right. */
static char *phase_names(const struct ctl *ctl, const struct phase *phase)
{
	static const char *const words[PHASE_KINDS] = { [PHASE_STEADY] = "new",
							[PHASE_RISE] = "kept",
							[PHASE_FALL] = "gone",
							[PHASE_SPIKE] = "new" };
	enum { INDENT = 10, BYTES_COLUMNS = 11, LEAST = 14 };
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

static void print_phases(const struct ctl *ctl, const struct activity *a)
{
	enum {
		NUMBER,
		KIND,
		FROM,
		FOR,
		BEGIN,
		END,
		MOST,
		PHASE_ALLOCS,
		PHASE_FREES,
		PHASE_COLUMNS
	};
	static const struct table_column columns[PHASE_COLUMNS] = {
		[NUMBER] = { .title = "", .kind = CELL_COUNT },
		[KIND] = { .title = "phase", .kind = CELL_TEXT, .tint = TINT_BOLD },
		[FROM] = { .title = "from", .kind = CELL_TIME },
		[FOR] = { .title = "for", .kind = CELL_TIME },
		[BEGIN] = { .title = "live bytes", .kind = CELL_BYTES },
		[END] = { .title = "then", .kind = CELL_BYTES },
		[MOST] = { .title = "at most", .kind = CELL_BYTES },
		[PHASE_ALLOCS] = { .title = "allocs/s", .kind = CELL_COUNT },
		[PHASE_FREES] = { .title = "frees/s", .kind = CELL_COUNT, .drop = 1 },
	};
	struct table table;

	ctl_heading(ctl, "Phases", ": the types and call sites of most bytes kept, gone, or new");
	table_init(&table, columns, PHASE_COLUMNS);
	for (size_t i = 0; i < a->phase_count; i++) {
		const struct phase *phase = &a->phases[i];
		uint64_t length = phase->end - phase->begin;

		table_row(&table);
		table_number(&table, NUMBER, i + 1);
		table_text(&table, KIND, phase_kind_names[phase->kind]);
		table_number(&table, FROM, phase->begin);
		table_number(&table, FOR, length);
		table_number(&table, BEGIN, phase->begin_bytes);
		table_number(&table, END, phase->end_bytes);
		table_number(&table, MOST, phase->most_bytes);
		table_number(&table, PHASE_ALLOCS, per_second(phase->allocs, length));
		table_number(&table, PHASE_FREES, per_second(phase->frees, length));
		table_below(&table, phase_names(ctl, phase));
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static int by_peak(const void *left, const void *right)
{
	const struct activity_series *a = *(const struct activity_series *const *)left,
				     *b = *(const struct activity_series *const *)right;

	return a->peak_bytes != b->peak_bytes
		       ? (a->peak_bytes < b->peak_bytes ? 1 : -1)
		       : (a->process > b->process) - (a->process < b->process);
}

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
			values[s->first + k] = s->points[k].most_bytes;
		bars = bars_text(values, a->count, columns);
		fprintf(ctl->style.out, "%s%-*s%s%s%s%s%*s%*s\n", tint(&ctl->style, TINT_NAME),
			PROCESS_LABEL, name, tint_end(&ctl->style, TINT_NAME),
			tint(&ctl->style, TINT_GOOD), bars, tint_end(&ctl->style, TINT_GOOD), VALUE,
			units_bytes(UNITS_BUF, s->peak_bytes), VALUE,
			units_time(UNITS_BUF, s->peak_time));
		free(bars);
		free(name);
	}
	ctl_more(ctl, limit, a->process_count);
	free(order);
	free(values);
}

/* ---- JSON ---- */

static void json_series(struct json *json, const struct activity_series *s)
{
	json_number(json, "start_ns", s->start);
	json_number(json, "end_ns", s->end);
	json_number(json, "peak_bytes", s->peak_bytes);
	json_number(json, "peak_blocks", s->peak_blocks);
	json_number(json, "peak_ns", s->peak_time);
	json_number(json, "allocs", s->allocs);
	json_number(json, "alloc_bytes", s->alloc_bytes);
	json_number(json, "frees", s->frees);
	json_number(json, "free_bytes", s->free_bytes);
	json_object(json, "series");
	json_number(json, "first", s->first);
	for (enum measure m = 0; m < MEASURES; m++) {
		json_array_line(json, measures[m].key);
		for (size_t i = 0; i < s->count; i++)
			json_number(json, NULL, value_of(&s->points[i], m));
		json_end(json);
	}
	json_end(json);
}

static void json_phase_rows(struct json *json, const char *key,
			    const struct phase_row rows[PHASE_ROWS])
{
	json_array(json, key);
	for (unsigned i = 0; i < PHASE_ROWS && rows[i].name; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", rows[i].name);
		json_number(json, "blocks", rows[i].blocks);
		json_number(json, "bytes", rows[i].bytes);
		json_number(json, "kept_blocks", rows[i].kept_blocks);
		json_number(json, "kept_bytes", rows[i].kept_bytes);
		json_number(json, "ended_blocks", rows[i].ended_blocks);
		json_number(json, "ended_bytes", rows[i].ended_bytes);
		json_end(json);
	}
	json_end(json);
}

static void json_phases(struct json *json, const struct activity *a)
{
	json_array(json, "phases");
	for (size_t i = 0; i < a->phase_count; i++) {
		const struct phase *phase = &a->phases[i];

		json_object(json, NULL);
		json_text(json, "kind", phase_kind_names[phase->kind]);
		json_number(json, "first", phase->first);
		json_number(json, "last", phase->last);
		json_number(json, "begin_ns", phase->begin);
		json_number(json, "end_ns", phase->end);
		json_number(json, "begin_blocks", phase->begin_blocks);
		json_number(json, "begin_bytes", phase->begin_bytes);
		json_number(json, "end_blocks", phase->end_blocks);
		json_number(json, "end_bytes", phase->end_bytes);
		json_number(json, "most_bytes", phase->most_bytes);
		json_number(json, "allocs", phase->allocs);
		json_number(json, "alloc_bytes", phase->alloc_bytes);
		json_number(json, "frees", phase->frees);
		json_number(json, "free_bytes", phase->free_bytes);
		json_phase_rows(json, "types", phase->types);
		json_phase_rows(json, "sites", phase->sites);
		json_end(json);
	}
	json_end(json);
}

static void json_activity(struct json *json, const struct activity *a)
{
	json_number(json, "duration_ns", a->duration);
	json_number(json, "interval_ns", a->interval);
	json_number(json, "intervals", a->count);
	json_object(json, "total");
	json_series(json, &a->total);
	json_end(json);
	json_phases(json, a);
	json_array(json, "processes");
	for (size_t i = 0; i < a->process_count; i++) {
		json_object(json, NULL);
		json_number(json, "process", a->processes[i].process);
		json_number(json, "pid", a->processes[i].pid);
		json_text(json, "name", a->processes[i].name);
		json_series(json, &a->processes[i]);
		json_end(json);
	}
	json_end(json);
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
		for (enum measure m = 0; m < MEASURES; m++)
			fprintf(out, ",%llu", (unsigned long long)value_of(&s->points[i], m));
		fputs("\n", out);
	}
}

/* Prints CSV as in RFC 4180, but with plain line ends: a carriage return is not printable. */
static void print_csv(FILE *out, const struct activity *a)
{
	fputs("from_ns,length_ns,process,pid,name", out);
	for (enum measure m = 0; m < MEASURES; m++)
		fprintf(out, ",%s", measures[m].key);
	fputs("\n", out);
	csv_series(out, a, &a->total);
	for (size_t i = 0; i < a->process_count; i++)
		csv_series(out, a, &a->processes[i]);
}

static struct shiny_err *interval_of(const struct ctl *ctl, uint64_t *interval)
{
	const char *text = ctl->options.text[OPT_INTERVAL];

	*interval = 0;
	if (ctl->options.given[OPT_INTERVAL] && (!units_parse_time(text, interval) || !*interval))
		return shiny_err(SHINY_ERR_USAGE,
				 "activity: --interval %s: not a time such as 100ms", text);
	if (ctl->options.given[OPT_CSV] && CTL_JSON(ctl))
		return shiny_err(SHINY_ERR_USAGE, "activity: --csv and --json: one of them");
	return NULL;
}

struct shiny_err *cmd_activity(struct ctl *ctl)
{
	bool csv = ctl->options.given[OPT_CSV];
	struct activity activity;
	struct store *store;
	struct filter filter = { 0 };
	uint64_t interval;
	struct shiny_err *err = interval_of(ctl, &interval);
	unsigned flags = ACTIVITY_PROGRESS | (csv ? 0 : ACTIVITY_PHASE_ROWS) |
			 (ctl->options.given[OPT_FULL_NAMES] ? ACTIVITY_FULL_NAMES : 0);

	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter,
				 activity_load(store, &filter, interval, flags, &activity));
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_activity(&ctl->json, &activity);
	} else if (csv) {
		print_csv(ctl->style.out, &activity);
	} else {
		print_answer(ctl, &activity);
		print_series(ctl, &activity);
		print_phases(ctl, &activity);
		if (activity.process_count > 1)
			print_each(ctl, &activity);
	}
	activity_deinit(&activity);
	if (csv)
		ctl->style.out = stderr;
	return ctl_end(ctl, store, csv ? NULL : "peak");
}
