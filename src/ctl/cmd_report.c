/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c: `shinyctl report`: the front page of a session. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "../analysis/summary.h"
#include "../base/mem.h"
#include "../base/progress.h"
#include "../base/units.h"
#include "ctl.h"

enum {
	USUAL = 10,
	TREE_MOST = 24, /* processes that are shown as a tree; of more, the USUAL busiest */
};

struct page {
	struct summary summary;
	struct processes processes;
	struct types types;
	struct sites sites;
};

static void page_deinit(struct page *page)
{
	summary_deinit(&page->summary);
	processes_deinit(&page->processes);
	types_deinit(&page->types);
	sites_deinit(&page->sites);
}

static struct shiny_err *page_load(struct store *store, const char *process, bool stacks, struct page *page)
{
	struct scope scope = {0};
	struct progress progress;
	struct shiny_err *err = scope_resolve(store, process, &scope);

	progress_begin(&progress, "adding up", true);
	if (!err)
		err = summary_load(store, &scope, &page->summary);
	progress_set(&progress, 1, 4);
	if (!err)
		err = processes_load(store, &page->processes);
	progress_set(&progress, 2, 4);
	if (!err)
		err = types_load(store, &scope, TYPES_BY_BLOCK, NULL, ORDER_LIVE, &page->types);
	progress_set(&progress, 3, 4);
	if (!err)
		err = sites_load(store, &scope, SITES_BY_LINE, NULL, ORDER_LIVE, stacks, &page->sites);
	progress_end(&progress);
	scope_deinit(&scope);
	return err;
}

static void heading(const struct style *style, const char *text)
{
	fprintf(style->out, "\n%s%s%s\n", tint(style, TINT_BOLD), text, tint_end(style, TINT_BOLD));
}

static double rate(const struct summary *s)
{
	return s->duration ? (double)s->sums.allocs * 1e9 / (double)s->duration : 0;
}

/* How many types there are, and for what share of the allocations they are known how surely. */
static void print_types_line(const struct style *style, const struct summary *s, const struct types *types)
{
	bool any = false;

	fprintf(style->out, "  types       %15s   ", units_count(UNITS_BUF, s->types));
	for (size_t level = 0; level < LEVEL_LABEL; level++) {
		uint64_t allocs = types->levels[level].allocs;

		if (!allocs)
			continue;
		fprintf(style->out, "%s%s %s", any ? ", " : "", units_share(UNITS_BUF, (double)allocs, (double)s->sums.allocs), level_names[level]);
		any = true;
	}
	fprintf(style->out, any ? " of the allocations" : "no block's type is known");
	if (s->labels)
		fprintf(style->out, "; %s label%s for blocks without one", units_count(UNITS_BUF, s->labels), s->labels == 1 ? "" : "s");
	putc('\n', style->out);
}

static void print_head(const struct style *style, const char *file, const struct summary *s, const struct types *types)
{
	size_t room = style->width ? style->width : style->longest ? 2 * style->longest : 4000;
	char *command = mem_alloc(4 * room + 8), when[64] = "";
	time_t started = (time_t)(s->started / 1000000000);
	struct tm tm;

	text_fit(command, 4 * room + 8, *s->command ? s->command : s->program, room, TEXT_CUT_END);
	fprintf(style->out, "%s%s%s\n", tint(style, TINT_BOLD), command, tint_end(style, TINT_BOLD));
	free(command);
	if (s->started && localtime_r(&started, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S, ", &tm);
	fprintf(style->out, "%s%s, %s process%s, %s thread%s   %s%s%s\n\n", when, units_time(UNITS_BUF, s->duration),
		units_count(UNITS_BUF, s->processes), s->processes == 1 ? "" : "es", units_count(UNITS_BUF, s->threads),
		s->threads == 1 ? "" : "s", tint(style, TINT_DIM), file, tint_end(style, TINT_DIM));
	fprintf(style->out, "  allocations %15s   %s in all, %s a second\n", units_count(UNITS_BUF, s->sums.allocs),
		units_bytes(UNITS_BUF, s->sums.bytes), units_short(UNITS_BUF, rate(s)));
	fprintf(style->out, "  frees       %15s\n", units_count(UNITS_BUF, s->sums.frees));
	fprintf(style->out, "  live at end %15s   %s\n", units_count(UNITS_BUF, s->sums.live), units_bytes(UNITS_BUF, s->sums.live_bytes));
	if (s->sums.inherited)
		fprintf(style->out, "  inherited   %15s   %s copied by forks: not allocations\n", units_count(UNITS_BUF, s->sums.inherited),
			units_bytes(UNITS_BUF, s->sums.inherited_bytes));
	if (s->sums.gone)
		fprintf(style->out, "  gone        %15s   %s that exec took away with the rest of a process\n", units_count(UNITS_BUF, s->sums.gone),
			units_bytes(UNITS_BUF, s->sums.gone_bytes));
	if (s->peak_bytes)
		fprintf(style->out, "  peak        %15s   after %s\n", units_bytes(UNITS_BUF, s->peak_bytes), units_time(UNITS_BUF, s->peak_at));
	print_types_line(style, s, types);
	fprintf(style->out, "  call sites  %15s   on %s different stacks\n", units_count(UNITS_BUF, s->sites), units_count(UNITS_BUF, s->stacks));
}

static void print_page(struct ctl *ctl, const struct page *page)
{
	print_head(&ctl->style, ctl->options.operands[0], &page->summary, &page->types);
	heading(&ctl->style, "Processes");
	print_processes(ctl, &page->processes, ctl_limit(ctl, page->processes.count, page->processes.count > TREE_MOST ? USUAL : 0), true);
	heading(&ctl->style, "Types by live bytes");
	print_types(ctl, &page->types, TYPES_BY_BLOCK, ctl_limit(ctl, page->types.count, USUAL), true);
	heading(&ctl->style, "Call sites by live bytes");
	print_sites(ctl, &page->sites, SITES_BY_LINE, ctl_limit(ctl, page->sites.count, USUAL), true);
}

static struct shiny_err *json_page(struct ctl *ctl, struct store *store, const struct page *page)
{
	const struct summary *s = &page->summary;
	struct json *json = &ctl->json;

	json_text(json, "file", ctl->options.operands[0]);
	json_text(json, "program", s->program);
	json_text(json, "command", s->command);
	json_number(json, "started_ns", s->started);
	json_number(json, "duration_ns", s->duration);
	json_number(json, "schema_version", s->schema_version);
	json_object(json, "totals");
	json_number(json, "processes", s->processes);
	json_number(json, "threads", s->threads);
	json_number(json, "events", s->events);
	json_sums(json, &s->sums);
	json_number(json, "typed_allocs", s->typed_allocs);
	json_number(json, "types", s->types);
	json_number(json, "labels", s->labels);
	json_number(json, "vtables", s->vtables);
	json_number(json, "sites", s->sites);
	json_number(json, "stacks", s->stacks);
	json_number(json, "peak_bytes", s->peak_bytes);
	json_number(json, "peak_time_ns", s->peak_at);
	json_real(json, "allocs_per_second", rate(s));
	json_end(json);
	json_processes(ctl, "processes", &page->processes, page->processes.count);
	json_levels(ctl, &page->types);
	json_types(ctl, "types", &page->types, TYPES_BY_BLOCK, ctl_limit(ctl, page->types.count, USUAL));
	return json_sites(ctl, store, "sites", &page->sites, ctl_limit(ctl, page->sites.count, USUAL), false);
}

struct shiny_err *cmd_report(struct ctl *ctl)
{
	struct store *store;
	struct page page = {0};
	struct shiny_err *err = store_open(ctl->options.operands[0], &store);

	if (err)
		return err;
	err = page_load(store, ctl->options.text[OPT_PROCESS], CTL_JSON(ctl), &page);
	if (!err && CTL_JSON(ctl)) {
		ctl_document(ctl);
		err = json_page(ctl, store, &page);
	} else if (!err) {
		print_page(ctl, &page);
	}
	page_deinit(&page);
	if (err) {
		store_close(store);
		return err;
	}
	return ctl_end(ctl, store, "types");
}
