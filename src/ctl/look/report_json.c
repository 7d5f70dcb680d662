/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json.c: the front page as JSON; `shinyctl help report` documents the keys.
 */
#include <stdlib.h>

#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "report_page.h"

enum { USUAL = 10 }; /* rows of types and sites */

static void json_rows(struct ctl *ctl, const char *key, const struct hotspot_rows *rows)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < ctl_limit(ctl, rows->count, USUAL); i++) {
		const struct hotspot_row *row = &rows->rows[i];
		char *type = report_type(row, false), *site = report_site(row, false),
		     *full_site = report_site(row, true), *full = report_type(row, true);

		json_object_line(json, NULL);
		json_text(json, "name", type);
		json_text(json, "full_name", full);
		json_text(json, "type", row->type);
		json_text(json, "site", site);
		json_text(json, "full_site", full_site);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "allocs", row->allocs);
		json_number(json, "ended", row->ended);
		if (row->median_ns)
			json_number(json, "median_lifetime_ns", row->median_ns);
		json_end(json);
		free(type);
		free(site);
		free(full_site);
		free(full);
	}
	json_end(json);
}

static void json_components(struct json *json, const struct report_page *page)
{
	json_array(json, "components");
	for (size_t i = 0; i < page->components.names.count && page->owners[i].bytes; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", page->owners[i].name);
		json_number(json, "live_bytes", page->owners[i].bytes);
		json_end(json);
	}
	json_end(json);
}

static void json_hotspots(struct ctl *ctl, const struct report_page *page)
{
	static const char *const others[] = {
		"roles", "live_bytes_over_time", "short_lived_total", "short_lived", "retained",
		"pages"
	};
	const struct hotspots *o = &page->hotspots;
	struct json *json = &ctl->json;

	json_components(json, page);
	json_rows(ctl, "live", &o->live);
	if (page->partial) {
		for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
			json_null(json, others[i]);
		return;
	}
	json_array(json, "roles");
	for (size_t i = 0; i < o->roles.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", o->roles.rows[i].name);
		json_number(json, "processes", o->roles.rows[i].processes);
		json_number(json, "allocs", o->roles.rows[i].allocs);
		json_number(json, "live", o->roles.rows[i].blocks);
		json_number(json, "live_bytes", o->roles.rows[i].bytes);
		json_number(json, "peak_bytes", o->roles.rows[i].peak_bytes);
		json_end(json);
	}
	json_end(json);
	json_array_line(json, "live_bytes_over_time");
	for (size_t i = 0; i < TOTALS_TIMES; i++)
		json_number(json, NULL, page->totals.times[i]);
	json_end(json);
	json_object_line(json, "short_lived_total");
	json_number(json, "within_ns", o->short_lived_ns);
	json_number(json, "blocks", o->short_lived_blocks);
	json_number(json, "bytes", o->short_lived_bytes);
	json_number(json, "of", o->blocks);
	json_end(json);
	json_rows(ctl, "short_lived", &o->short_lived);
	json_rows(ctl, "retained", &o->retained);
	json_object_line(json, "pages");
	json_number(json, "pages", o->pages);
	json_number(json, "live_bytes", o->pages_bytes);
	json_end(json);
}

static void json_headlines(struct json *json, const struct headlines *headlines)
{
	json_array(json, "headlines");
	for (size_t i = 0; i < headlines->count; i++) {
		json_object_line(json, NULL);
		json_text(json, "kind", headlines->rows[i].kind);
		json_text(json, "text", headlines->rows[i].text);
		json_text(json, "verb", headlines->rows[i].verb);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *json_next(struct json *json, const struct report_page *page)
{
	const struct answer kept = { .fields = keepers_fields, .result = &page->keepers };

	json_array(json, "next");
	for (size_t i = 0; i < page->hint_count; i++) {
		json_object_line(json, NULL);
		json_text(json, "verb", page->hints[i].command);
		json_text(json, "text", page->hints[i].text);
		json_end(json);
	}
	json_end(json);
	SHINY_TRY(answer_json(&kept, json));
	json_array(json, "not_seen");
	for (size_t i = 0; i < page->coverage.count; i++) {
		const struct finding *row = &page->coverage.rows[i];

		if (row->state == FINDING_OK)
			continue;
		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_text(json, "text", row->text);
		json_text(json, "advice", row->advice);
		json_end(json);
	}
	json_end(json);
	return NULL;
}

struct shiny_err *report_json(struct ctl *ctl, const struct report_page *page)
{
	const struct answer processes = { .fields = processes_fields,
					  .result = &page->processes,
					  .limit = page->processes.count };
	const struct answer types = { .fields = types_fields,
				      .result = &page->types,
				      .limit = ctl_limit(ctl, page->types.count, USUAL) };
	const struct answer sites = { .fields = sites_fields,
				      .result = &page->sites,
				      .limit = ctl_limit(ctl, page->sites.count, USUAL) };
	const struct totals *s = &page->totals;
	struct json *json = &ctl->json;

	json_text(json, "file", ctl->options.operands[0]);
	json_text(json, "program", s->program);
	json_text(json, "command", s->command);
	json_number(json, "started_ns", s->started);
	json_number(json, "duration_ns", s->duration);
	json_number(json, "schema_version", s->schema_version);
	json_headlines(json, &page->headlines);
	ctl_subset(ctl);
	json_number(json, "from_ns", page->from);
	json_number(json, "length_ns", page->length);
	json_object(json, "totals");
	json_number(json, "processes", s->processes);
	json_number(json, "threads", s->threads);
	json_number_or_null(json, "events", s->events, !page->narrow);
	json_sums(json, &s->sums);
	json_number(json, "typed_allocs", s->typed_allocs);
	json_number(json, "types", s->types);
	json_number(json, "labels", s->labels);
	json_number(json, "vtables", s->vtables);
	json_number(json, "sites", s->sites);
	json_number_or_null(json, "stacks", s->stacks, !page->narrow);
	json_number_or_null(json, "peak_bytes", s->peak_bytes, !page->partial);
	json_number_or_null(json, "peak_time_ns", s->peak_at, !page->partial);
	json_real(json, "allocs_per_second", report_rate(page));
	json_end(json);
	json_hotspots(ctl, page);
	SHINY_TRY(json_next(json, page));
	if (page->partial)
		json_null(json, "processes");
	else
		SHINY_TRY(answer_json_list(&processes, "rows", json, "processes"));
	SHINY_TRY(answer_json_list(&types, "confidence", json, "confidence"));
	SHINY_TRY(answer_json_list(&types, "rows", json, "types"));
	return answer_json_list(&sites, "rows", json, "sites");
}
