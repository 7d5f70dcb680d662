/* SPDX-License-Identifier: Apache-2.0 */
#include "pages_json.h"

#include <stdlib.h>

#include "../base/mem.h"

static void json_tenths(struct json *json, const char *key, const uint64_t tenths[PAGES_TENTHS])
{
	json_array_line(json, key);
	for (unsigned i = 0; i < PAGES_TENTHS; i++)
		json_number(json, NULL, tenths[i]);
	json_end(json);
}

static void json_sets(struct json *json, const char *key, const uint64_t sets[PAGE_SETS])
{
	json_object_line(json, key);
	for (unsigned i = 1; i < PAGE_SETS; i++)
		if (sets[i])
			json_number(json, page_set_names[i], sets[i]);
	json_end(json);
}

static void json_pages_sums(struct json *json, const struct pages_sums *t)
{
	json_number(json, "blocks", t->blocks);
	json_number(json, "bytes", t->bytes);
	json_number(json, "pages", t->pages);
	json_number(json, "lines", t->lines);
	json_number(json, "ranges", t->ranges);
	json_real(json, "utilization", pages_utilization(t));
	json_number(json, "under", t->under);
	json_number(json, "under_bytes", t->under_bytes);
	json_number(json, "single", t->single);
	json_number(json, "single_bytes", t->single_bytes);
	json_number(json, "pinned", t->pinned);
	json_number(json, "pinned_bytes", t->pinned_bytes);
	json_number(json, "overlaps", t->overlaps);
	json_number(json, "overlap_bytes", t->overlap_bytes);
	json_number(json, "sampled", t->sampled);
	json_number(json, "committed", t->committed);
	json_number(json, "resident", t->resident);
	json_number(json, "sample_live", t->sample_live);
	json_tenths(json, "by_use", t->by_use);
	json_tenths(json, "ranges_by_use", t->ranges_by_use);
	json_tenths(json, "ranges_by_pages", t->ranges_by_pages);
	json_sets(json, "ever", t->ever);
	json_sets(json, "ever_ranges", t->ever_ranges);
	json_sets(json, "fates", t->fates);
	json_sets(json, "fate_ranges", t->fate_ranges);
	json_array(json, "sizes");
	for (unsigned i = 0; i < PAGES_BUCKETS; i++) {
		const struct pages_bucket *bucket = &t->buckets[i];

		json_object_line(json, NULL);
		if (i + 1 < PAGES_BUCKETS)
			json_number(json, "up_to", pages_bucket_up_to[i]);
		else
			json_null(json, "up_to");
		json_number(json, "blocks", bucket->blocks);
		json_number(json, "bytes", bucket->bytes);
		json_number(json, "pages", bucket->pages);
		json_number(json, "alone", bucket->alone);
		json_number(json, "alone_bytes", bucket->alone_bytes);
		json_number(json, "reclaimable", bucket->reclaimable);
		json_end(json);
	}
	json_end(json);
}

/* `t` NULL: unknown. */
static void json_zombies(struct json *json, const struct pages_sums *t)
{
	if (!t) {
		json_null(json, "zombies");
		return;
	}
	json_object_line(json, "zombies");
	json_number(json, "blocks", t->zombies);
	json_number(json, "bytes", t->zombie_bytes);
	json_number(json, "pages", t->fates[PAGE_ZOMBIE]);
	json_number(json, "ranges", t->fate_ranges[PAGE_ZOMBIE]);
	json_end(json);
}

static void json_touched(struct json *json, const struct touched_sums *u)
{
	if (!u->processes) {
		json_null(json, "touched");
		return;
	}
	json_object_line(json, "touched");
	json_number(json, "processes", u->processes);
	json_number(json, "least_ns", u->least);
	json_number(json, "most_ns", u->most);
	json_number(json, "pages", u->pages);
	json_number(json, "touched", u->touched);
	json_number(json, "untouched_mappings", u->idle_pages);
	json_end(json);
}

struct history_runs { /* adjacent pages with the same states */
	struct json *json;
	uint64_t page, count;
	unsigned set;
};

static void end_run(struct history_runs *runs)
{
	if (runs->count && runs->set) {
		json_object_line(runs->json, NULL);
		json_address(runs->json, "address", runs->page * PAGE_BYTES);
		json_number(runs->json, "pages", runs->count);
		json_text(runs->json, "states", page_set_names[runs->set]);
		json_end(runs->json);
	}
	runs->count = 0;
}

static void see_range(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES])
{
	struct history_runs *runs = context;

	for (unsigned i = 0; i < RANGE_PAGES; i++) {
		uint64_t page = range * RANGE_PAGES + i;

		if (!runs->count || runs->set != sets[i] || runs->page + runs->count != page) {
			end_run(runs);
			runs->page = page;
			runs->set = sets[i];
		}
		runs->count++;
	}
}

static void json_map(struct json *json, const struct pages_process *p)
{
	struct history_runs runs = { .json = json };

	json_array(json, "live");
	for (size_t i = 0; i < p->run_count; i++) {
		const struct page_run *run = &p->runs[i];

		json_object_line(json, NULL);
		json_address(json, "address", run->page * PAGE_BYTES);
		json_number(json, "pages", run->count);
		json_number(json, "blocks", run->blocks);
		json_number(json, "bytes", run->bytes);
		json_number(json, "lines", run->lines);
		json_text(json, "fates", page_set_names[run->fates]);
		json_bool(json, "pinned", run->pinned);
		json_end(json);
	}
	json_end(json);
	json_array(json, "ever_map");
	page_history_each(&p->history, see_range, &runs);
	end_run(&runs);
	json_end(json);
}

static void json_pins(struct json *json, const char *key, const struct pages_pins *pins,
		      size_t limit)
{
	json_array(json, key);
	for (size_t i = 0; i < pins->count && i < limit; i++) {
		const struct pages_pin *row = &pins->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "pages", row->pages);
		json_number(json, "pinned", row->pinned);
		json_number(json, "pinned_bytes", row->pinned_bytes);
		json_number(json, "alone", row->freed);
		json_number(json, "idle", row->idle);
		json_end(json);
	}
	json_end(json);
}

void json_pages(struct json *json, const struct pages *p, uint64_t under, size_t limit, bool map)
{
	static const char *const moments[] = {
		[PAGES_AT_END] = "end", [PAGES_AT_PEAK] = "peak", [PAGES_AT_TIME] = "time"
	};

	json_text(json, "at", moments[p->at]);
	json_number(json, "at_ns", p->time);
	json_number(json, "duration_ns", p->duration);
	json_number(json, "less_than", under);
	json_touched(json, &p->touched);
	json_object(json, "total");
	json_pages_sums(json, &p->total);
	json_zombies(json, p->touched.processes ? &p->total : NULL);
	json_end(json);
	json_array(json, "processes");
	for (size_t i = 0; i < p->count; i++) {
		const struct pages_process *process = &p->processes[i];

		json_object(json, NULL);
		json_number(json, "id", process->id);
		json_number(json, "pid", process->pid);
		json_text(json, "name", process->name);
		json_number(json, "sample_ns", process->sample_time);
		json_pages_sums(json, &process->sums);
		json_zombies(json, process->touched ? &process->sums : NULL);
		if (map)
			json_map(json, process);
		json_end(json);
	}
	json_end(json);
	json_pins(json, "types", &p->by_type, limit);
	json_pins(json, "sites", &p->by_site, limit);
	json_array(json, "points");
	for (size_t i = 0; i < p->point_count; i++) {
		const struct pages_point *point = &p->points[i];

		json_object_line(json, NULL);
		json_number(json, "at_ns", point->time);
		json_number(json, "blocks", point->blocks);
		json_number(json, "bytes", point->bytes);
		json_number(json, "pages", point->pages);
		json_number(json, "lines", point->lines);
		json_number(json, "ranges", point->ranges);
		json_end(json);
	}
	json_end(json);
}
