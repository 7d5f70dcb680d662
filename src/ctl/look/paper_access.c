/* SPDX-License-Identifier: Apache-2.0 */
/* paper_access.c: see paper_access.h. */
#include "paper_access.h"

#include <stdlib.h>

#include "../../analysis/totals/session_facts.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"

struct shiny_err *paper_access_load(struct store *store, const struct filter *filter,
				    bool full_names, struct paper_access *out)
{
	struct touched touched;

	*out = (struct paper_access){ 0 };
	SHINY_TRY(session_duration(store, &out->duration));
	SHINY_TRY(touched_load(store, filter, &touched));
	out->pages_recorded = touched.recorded;
	for (unsigned i = 0; i < PAPER_USE_POINTS; i++)
		touched_sum(&touched, out->duration / PAPER_USE_POINTS * (i + 1), &out->points[i]);
	touched_deinit(&touched);
	return cold_load(store, filter, GROUP_TYPE, NULL, full_names, COLD_TIMES, &out->cold);
}

void paper_access_deinit(struct paper_access *a)
{
	cold_deinit(&a->cold);
}

/* ---- text ---- */

void paper_print_z(const struct style *style, const struct paper_access *a)
{
	struct cold_zombies z = cold_zombies(&a->cold);

	if (!a->cold.recorded) {
		fputs("Z needs accesses, which are not recorded (SHINY_ACCESS=watch)\n",
		      style->out);
		return;
	}
	fprintf(style->out,
		"Z zombies, not used within %s: about %s (%s\xe2\x80\x93%s) of the %s persistent "
		"blocks of watched types\n",
		units_time(UNITS_BUF, cold_times[a->cold.within]),
		units_count(UNITS_BUF, (uint64_t)z.about), units_count(UNITS_BUF, (uint64_t)z.low),
		units_count(UNITS_BUF, (uint64_t)z.high), units_count(UNITS_BUF, z.known));
}

void paper_print_zombies(const struct style *style, const struct pages *p)
{
	const struct pages_sums *t = &p->total;
	uint64_t pages = t->fates[PAGE_ZOMBIE];

	if (!p->touched.processes)
		return;
	fprintf(style->out,
		"Z, untouched for %s: %s of %s on average; %s and %s of 2 MiB hold nothing else\n",
		units_time(UNITS_BUF, p->touched.least),
		units_noun(UNITS_NOUN_BUF, t->zombies, "block"),
		units_bytes(UNITS_BUF, t->zombies ? t->zombie_bytes / t->zombies : 0),
		units_noun(UNITS_NOUN_BUF, pages, "page"),
		units_noun(UNITS_NOUN_BUF, t->fate_ranges[PAGE_ZOMBIE], "range"));
}

static uint64_t types_used(const struct cold *c)
{
	uint64_t used = 0;

	for (size_t i = 0; i < c->count; i++)
		used += c->rows[i].reads + c->rows[i].writes > 0;
	return used;
}

void paper_print_types(const struct style *style, const struct paper_access *a)
{
	if (a->cold.recorded)
		fprintf(style->out, "of %s that were watched, blocks of %s were seen in use\n",
			units_noun(UNITS_NOUN_BUF, a->cold.count, "type"),
			units_count(UNITS_BUF, types_used(&a->cold)));
}

static void print_use_share(const struct style *style, const char *what, const struct cold *c,
			    const struct use_share *share)
{
	if (!(share->watches > 0))
		return;
	fprintf(style->out, "%-12s %s (%s\xe2\x80\x93%s) of those that are live, within %s\n", what,
		units_share(UNITS_BUF, share->share, 1), units_share(UNITS_BUF, share->low, 1),
		units_share(UNITS_BUF, share->high, 1),
		units_time(UNITS_BUF, cold_times[c->within]));
}

void paper_print_in_use(const struct style *style, const struct paper_access *a)
{
	uint64_t values[PAPER_USE_POINTS] = { 0 }, most = 0, least_time = 0, most_time = 0;
	char *bars;

	if (!a->cold.recorded && !a->pages_recorded) {
		fputs("accesses are not recorded (SHINY_ACCESS=watch,pages)\n", style->out);
		return;
	}
	print_use_share(style, "objects", &a->cold, &a->cold.blocks[a->cold.within]);
	print_use_share(style, "bytes", &a->cold, &a->cold.bytes[a->cold.within]);
	for (unsigned i = 0; i < PAPER_USE_POINTS; i++) {
		const struct touched_sums *p = &a->points[i];

		values[i] = p->touched;
		most = p->touched > most ? p->touched : most;
		if (!p->processes)
			continue;
		least_time = !least_time || p->least < least_time ? p->least : least_time;
		most_time = p->most > most_time ? p->most : most_time;
	}
	if (!most_time)
		return;
	bars = bars_text(values, PAPER_USE_POINTS, PAPER_USE_POINTS);
	fprintf(style->out, "%-12s %s%s%s  at most %s, within %s%s%s\n", "pages",
		tint(style, TINT_GOOD), bars, tint_end(style, TINT_GOOD),
		units_count(UNITS_BUF, most), units_time(UNITS_BUF, least_time),
		most_time > least_time ? " to " : "",
		most_time > least_time ? units_time(UNITS_BUF, most_time) : "");
	free(bars);
}

/* ---- JSON ---- */

void paper_json_z(struct json *json, const struct paper_access *a)
{
	struct cold_zombies z = cold_zombies(&a->cold);

	if (!a->cold.recorded || !z.known) {
		json_null(json, "zombies");
		return;
	}
	json_object_line(json, "zombies");
	json_number(json, "within_ns", cold_times[a->cold.within]);
	json_real(json, "about", z.about);
	json_real(json, "low", z.low);
	json_real(json, "high", z.high);
	json_number(json, "of", z.known);
	json_end(json);
}

void paper_json_zombies(struct json *json, const struct pages *p)
{
	if (!p->touched.processes) {
		json_null(json, "zombies");
		return;
	}
	json_object_line(json, "zombies");
	json_number(json, "blocks", p->total.zombies);
	json_number(json, "bytes", p->total.zombie_bytes);
	json_number(json, "pages", p->total.fates[PAGE_ZOMBIE]);
	json_number(json, "ranges", p->total.fate_ranges[PAGE_ZOMBIE]);
	json_end(json);
}

static void json_use_share(struct json *json, const char *key, const struct use_share *share)
{
	if (!(share->watches > 0)) {
		json_null(json, key);
		return;
	}
	json_object_line(json, key);
	json_real(json, "share", share->share);
	json_real(json, "low", share->low);
	json_real(json, "high", share->high);
	json_end(json);
}

void paper_json_in_use(struct json *json, const struct paper_access *a)
{
	if (!a->cold.recorded && !a->pages_recorded) {
		json_null(json, "F12");
		return;
	}
	json_object(json, "F12");
	json_number(json, "within_ns", cold_times[a->cold.within]);
	json_use_share(json, "objects", &a->cold.blocks[a->cold.within]);
	json_use_share(json, "bytes", &a->cold.bytes[a->cold.within]);
	json_number(json, "types_watched", a->cold.count);
	json_number(json, "types_used", types_used(&a->cold));
	json_array(json, "pages");
	for (unsigned i = 0; i < PAPER_USE_POINTS; i++) {
		const struct touched_sums *p = &a->points[i];

		if (!p->processes)
			continue;
		json_object_line(json, NULL);
		json_number(json, "time_ns", a->duration / PAPER_USE_POINTS * (i + 1));
		json_number(json, "least_ns", p->least);
		json_number(json, "most_ns", p->most);
		json_number(json, "pages", p->pages);
		json_number(json, "touched", p->touched);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}
