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
	struct cold *c = &out->cold;
	struct touched touched;
	uint64_t duration;

	*out = (struct paper_access){ 0 };
	SHINY_TRY(session_duration(store, &duration));
	SHINY_TRY(touched_load(store, filter, &touched));
	out->pages_recorded = touched.recorded;
	for (unsigned i = 0; i < PAPER_USE_POINTS; i++) {
		struct paper_use_point *point = &out->points[i];

		point->time = duration / PAPER_USE_POINTS * (i + 1);
		touched_sum(&touched, point->time, &point->sums);
	}
	touched_deinit(&touched);
	SHINY_TRY(cold_load(store, filter, GROUP_TYPE, NULL, full_names, COLD_TIMES, c));
	out->zombies = cold_zombies(c);
	out->within = cold_times[c->within];
	out->objects = c->blocks[c->within];
	out->bytes = c->bytes[c->within];
	for (size_t i = 0; i < c->count; i++)
		out->types_used += c->rows[i].reads + c->rows[i].writes > 0;
	return NULL;
}

void paper_access_deinit(struct paper_access *a)
{
	cold_deinit(&a->cold);
}

/* ---- text ---- */

void paper_print_z(const struct style *style, const struct paper_access *a)
{
	const struct cold_zombies *z = &a->zombies;

	if (!a->cold.recorded) {
		fputs("Z needs accesses, which are not recorded (SHINY_ACCESS=watch)\n",
		      style->out);
		return;
	}
	fprintf(style->out,
		"Z zombies, not used within %s: about %s (%s\xe2\x80\x93%s) of the %s persistent "
		"blocks of watched types\n",
		units_time(UNITS_BUF, a->within), units_count(UNITS_BUF, (uint64_t)z->about),
		units_count(UNITS_BUF, (uint64_t)z->low), units_count(UNITS_BUF, (uint64_t)z->high),
		units_count(UNITS_BUF, z->known));
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

void paper_print_types(const struct style *style, const struct paper_access *a)
{
	if (a->cold.recorded)
		fprintf(style->out, "of %s that were watched, blocks of %s were seen in use\n",
			units_noun(UNITS_NOUN_BUF, a->cold.count, "type"),
			units_count(UNITS_BUF, a->types_used));
}

static void print_use_share(const struct style *style, const char *what, uint64_t within,
			    const struct use_share *share)
{
	if (!(share->watches > 0))
		return;
	fprintf(style->out, "%-12s %s (%s\xe2\x80\x93%s) of those that are live, within %s\n", what,
		units_share(UNITS_BUF, share->share, 1), units_share(UNITS_BUF, share->low, 1),
		units_share(UNITS_BUF, share->high, 1), units_time(UNITS_BUF, within));
}

void paper_print_in_use(const struct style *style, const struct paper_access *a)
{
	uint64_t values[PAPER_USE_POINTS] = { 0 }, most = 0, least_time = 0, most_time = 0;
	char *bars;

	if (!a->cold.recorded && !a->pages_recorded) {
		fputs("accesses are not recorded (SHINY_ACCESS=watch,pages)\n", style->out);
		return;
	}
	print_use_share(style, "objects", a->within, &a->objects);
	print_use_share(style, "bytes", a->within, &a->bytes);
	for (unsigned i = 0; i < PAPER_USE_POINTS; i++) {
		const struct touched_sums *p = &a->points[i].sums;

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

/* ---- fields ---- */

FIELD_SKIP(has_no_z, struct paper_access, !r->cold.recorded || !r->zombies.known)
FIELD_SKIP(is_unknown, struct use_share, !(r->watches > 0))
FIELD_SKIP(is_unread, struct paper_use_point, !r->sums.processes)

/* clang-format off */
#define ACCESS struct paper_access
static const struct field z_fields[] = {
	{ FIELD_TIME("within_ns", ACCESS, within), .help = "they are not used for so long" },
	{ FIELD_REAL("about", ACCESS, zombies.about), .help = "the estimated number of blocks" },
	{ FIELD_REAL("low", ACCESS, zombies.low), .help = "the lower end of its 95 % interval" },
	{ FIELD_REAL("high", ACCESS, zombies.high), .help = "the upper end" },
	{ FIELD_COUNT("of", ACCESS, zombies.known), .help = "persistent blocks of watched types" },
	FIELD_LAST
};
const struct field paper_z_fields[] = {
	{ FIELD_SAME_OBJECT("zombies", z_fields), .skip = has_no_z,
	  .help = "state Z; null: not known" },
	FIELD_LAST
};
static const struct field share_fields[] = {
	{ FIELD_REAL("share", struct use_share, share), .help = "the share that is used" },
	{ FIELD_REAL("low", struct use_share, low), .help = "the lower end of its 95 % interval" },
	{ FIELD_REAL("high", struct use_share, high), .help = "the upper end" },
	FIELD_LAST
};
#define POINT struct paper_use_point
static const struct field point_fields[] = {
	{ FIELD_TIME("time_ns", POINT, time), .help = "since the start" },
	{ FIELD_TIME("least_ns", POINT, sums.least), .help = "the shortest reading" },
	{ FIELD_TIME("most_ns", POINT, sums.most), .help = "the longest reading" },
	{ FIELD_COUNT("pages", POINT, sums.pages), .help = "pages in mappings with live blocks" },
	{ FIELD_COUNT("touched", POINT, sums.touched), .help = "those that were touched" },
	FIELD_LAST
};
const struct field paper_in_use_fields[] = {
	{ FIELD_TIME("within_ns", ACCESS, within), .help = "used within that time" },
	{ FIELD_OBJECT("objects", ACCESS, objects, share_fields), .skip = is_unknown,
	  .help = "the live blocks in use; null: not known" },
	{ FIELD_OBJECT("bytes", ACCESS, bytes, share_fields), .skip = is_unknown,
	  .help = "their bytes; null: not known" },
	{ FIELD_COUNT("types_watched", ACCESS, cold.count), .help = "types with a watched block" },
	{ FIELD_COUNT("types_used", ACCESS, types_used), .help = "those seen in use" },
	{ FIELD_ARRAY("pages", ACCESS, points, point_fields), .skip = is_unread,
	  .help = "pages in use at a time" },
	FIELD_LAST
};
/* clang-format on */
