/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_memory.c: `shinyctl memory`: prints the owners of each process's memory: reserved,
 * accessible, resident. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/memory.h"
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../answers_json.h"
#include "../ctl.h"

enum { HISTORY_COLUMNS = 24 };

enum { NAME, RESIDENT, SHARE, PRIVATE, SWAP, LIVE, COMMITTED, RESERVED, SEGMENTS, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "whose", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[RESIDENT] = { .title = "resident", .kind = CELL_BYTES },
	[SHARE] = { .title = "share", .kind = CELL_SHARE, .drop = 2 },
	[PRIVATE] = { .title = "private", .kind = CELL_BYTES, .drop = 3 },
	[SWAP] = { .title = "swap", .kind = CELL_BYTES, .drop = 5 },
	[LIVE] = { .title = "live", .kind = CELL_BYTES, .drop = 4 },
	[COMMITTED] = { .title = "committed", .kind = CELL_BYTES, .drop = 6 },
	[RESERVED] = { .title = "reserved", .kind = CELL_BYTES, .drop = 7 },
	[SEGMENTS] = { .title = "segments", .kind = CELL_COUNT, .drop = 8, .tint = TINT_DIM },
};

/* Draws the resident bytes of all samples as a line of bars. */
static char *history(const struct memory_process *p)
{
	uint64_t *resident = mem_alloc((p->sample_count + 1) * sizeof(*resident));
	char *bars;

	for (size_t i = 0; i < p->sample_count; i++)
		resident[i] = p->samples[i].rss;
	bars = bars_text(resident, p->sample_count, HISTORY_COLUMNS);
	free(resident);
	return bars;
}

/* Returns the bytes that the allocator, or a collector's heap, holds besides live ones, as text. */
static char *overhead(const char *owner, const struct memory_sums *sums)
{
	if (!sums->live_bytes)
		return NULL;
	if (sums->live_bytes > sums->rss)
		return mem_format(
			"     %s live in %s resident: blocks that nobody has touched yet\n",
			units_bytes(UNITS_BUF, sums->live_bytes),
			units_bytes(UNITS_BUF, sums->rss));
	return mem_format(
		"     %s live in %s resident: %s (%s) %s\n",
		units_bytes(UNITS_BUF, sums->live_bytes), units_bytes(UNITS_BUF, sums->rss),
		units_bytes(UNITS_BUF, sums->rss - sums->live_bytes),
		units_share(UNITS_BUF, (double)(sums->rss - sums->live_bytes), (double)sums->rss),
		strcmp(owner, "malloc") ? "garbage, free memory and the heap's own data"
					: "free memory, rounding and metadata of the allocator");
}

static void print_sums(struct table *table, const struct memory_sums *sums)
{
	table_number(table, RESIDENT, sums->rss);
	table_number(table, SHARE, sums->rss);
	table_number(table, PRIVATE, sums->private);
	if (sums->swap)
		table_number(table, SWAP, sums->swap);
	table_number(table, COMMITTED, sums->committed);
	table_number(table, RESERVED, sums->reserved);
	table_number(table, SEGMENTS, sums->segments);
}

static void print_details(struct table *table, const struct memory_process *p, size_t from,
			  size_t to)
{
	for (size_t i = from; i < to; i++) {
		char *name = mem_format("     %s",
					*p->owners[i].detail ? p->owners[i].detail : "(other)");

		table_row(table);
		table_text(table, NAME, name);
		print_sums(table, &p->owners[i].sums);
		if (p->owners[i].sums.live_bytes)
			table_number(table, LIVE, p->owners[i].sums.live_bytes);
		free(name);
	}
}

static void print_process(struct ctl *ctl, const struct memory_process *p, bool details)
{
	struct style *style = &ctl->style;
	struct table table;
	char *bars = history(p);

	fprintf(style->out, "%s%s, pid %u%s: %s resident, %.2f s after the start; %s\n",
		tint(style, TINT_BOLD), p->name, p->pid, tint_end(style, TINT_BOLD),
		units_bytes(UNITS_BUF, p->sums.rss), (double)p->time / 1e9,
		p->sample_count > 1 ? bars : "sampled once");
	if (!p->areas)
		fputs("  the kernel does not let this user look into it (/proc/PID/smaps): only "
		      "the sum is known\n",
		      style->out);
	free(bars);
	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < p->owner_count;) {
		struct memory_sums sums;
		size_t end = memory_owner_sums(p, i, &sums);
		char *name = mem_format("  %s", p->owners[i].owner),
		     *line = overhead(p->owners[i].owner, &sums);

		table_row(&table);
		table_text(&table, NAME, name);
		print_sums(&table, &sums);
		if (sums.live_bytes)
			table_number(&table, LIVE, sums.live_bytes);
		if (line)
			table_below(&table, line);
		if (details && (end - i > 1 || *p->owners[i].detail))
			print_details(&table, p, i, end);
		free(name);
		i = end;
	}
	table_total(&table, SHARE, p->sums.rss);
	table_print(&table, style);
	table_deinit(&table);
	putc('\n', style->out);
}

static void print(struct ctl *ctl, const struct memory_history *memory)
{
	bool details = ctl->options.given[OPT_DETAILS];

	for (size_t i = 0; i < memory->count; i++)
		print_process(ctl, &memory->processes[i], details);
	if (!memory->count && !memory->period)
		fputs("no memory samples: SHINY_MEMORY_PERIOD was 0\n", ctl->style.out);
	else if (memory->unseen)
		fprintf(ctl->style.out, "%s%s %s too short-lived for a sample%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, memory->unseen, "process"),
			units_form(memory->unseen, "was", "were"), tint_end(&ctl->style, TINT_DIM));
	if (memory->cost)
		fprintf(ctl->style.out, "%sthe samples took %s of processor time%s\n",
			tint(&ctl->style, TINT_DIM), units_time(UNITS_BUF, memory->cost),
			tint_end(&ctl->style, TINT_DIM));
}

static struct shiny_err *moment_of(const char *text, enum memory_moment *moment, uint64_t *time)
{
	*moment = MEMORY_LAST;
	*time = 0;
	if (!text || !strcmp(text, "last"))
		return NULL;
	*moment = MEMORY_PEAK;
	if (!strcmp(text, "peak"))
		return NULL;
	*moment = MEMORY_AT;
	if (units_parse_time(text, time))
		return NULL;
	return shiny_err(SHINY_ERR_USAGE,
			 "memory: --at %s: not last, peak or a time such as 2.5s since the start",
			 text);
}

struct shiny_err *cmd_memory(struct ctl *ctl)
{
	struct memory_history memory = { 0 };
	struct filter filter = { 0 };
	enum memory_moment moment;
	struct store *store;
	uint64_t time;
	struct shiny_err *err = moment_of(ctl->options.text[OPT_AT], &moment, &time);

	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter,
				 memory_load(store, &filter, moment, time, &memory));
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_memory(&ctl->json, &memory);
	} else {
		print(ctl, &memory);
	}
	memory_deinit(&memory);
	return ctl_end(ctl, store,
		       ctl->options.given[OPT_DETAILS] ? "tree --measure resident"
						       : "memory --details");
}
