/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "diagnose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/units.h"
#include "../store/contents.h"
#include "access/cold.h"
#include "replay/replay_together.h"
#include "time/lifetimes.h"
#include "time/peak.h"

const char *const symptom_names[SYMPTOMS] = {
	[SYMPTOM_CHURN] = "churn",
	[SYMPTOM_GROWTH] = "growth",
	[SYMPTOM_UTILIZATION] = "utilization",
	[SYMPTOM_HARDWARE] = "hardware",
	[SYMPTOM_SPIKES] = "spikes",
};
const char *const verdict_names[VERDICTS] = {
	[VERDICT_NO] = "no", [VERDICT_YES] = "yes", [VERDICT_UNKNOWN] = "unknown"
};

#define USUAL_HZ 3e9 /* for sessions without the time stamp counter's rate */

/* The analyses and the diagnoses run at the same time: a diagnosis waits for the facts that it
 * needs, and its own passes over the events are shared with analyses that need two. */
struct asking {
	struct store *store;
	const struct filter *filter;
	struct diagnose_known *known;
	bool history, types, full_names, progress;
	/* set when a fact is known, or its analysis failed */
	bool has_streams, has_activity, has_leaks, has_lives, has_pooling;
	struct pooling_constants cost;
	struct site_lives lives;
	struct diagnosis *at; /* indexed by symptom */
};

static void put_row(struct diagnosis *d, size_t n, const char *name, uint64_t blocks,
		    uint64_t bytes, char *text)
{
	d->rows[n] = (struct diagnosis_row){
		.name = mem_text(name), .text = text, .blocks = blocks, .bytes = bytes
	};
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* ---- churn ---- */

static struct shiny_err *clock_rate(struct store *store, double *hz)
{
	uint64_t ticks;

	*hz = USUAL_HZ;
	SHINY_TRY(contents_number(store, "ticks_per_second", &ticks));
	if ((int64_t)ticks > 0)
		*hz = (double)ticks;
	return NULL;
}

/* Adds the call sites most of whose blocks died young, with the age that their blocks reached. With
 * full names other sites group together, and all of them must be followed. */
static struct shiny_err *churn_rows(const struct asking *a, struct diagnosis *d)
{
	SHINY_CLEANUP(lifetimes_deinit) struct lifetimes l = { 0 };
	AUTO_FREE bool *sites =
		a->full_names ? NULL : site_lives_shortest(&a->lives, DIAGNOSE_ROWS);
	struct shiny_err *err;

	if (!a->lives.lives)
		return NULL; /* loading failed, which is reported elsewhere */
	err = lifetimes_load_sites(a->store, a->filter, sites, LIFETIMES_BY_SHORT, a->full_names,
				   a->progress, &l);
	for (size_t i = 0;
	     !err && i < l.count && i < DIAGNOSE_ROWS && l.rows[i].population[POPULATION_SHORT];
	     i++) {
		const struct lifetime_row *row = &l.rows[i];

		put_row(d, i, row->name, row->population[POPULATION_SHORT],
			row->population_bytes[POPULATION_SHORT],
			mem_format("%s of its %s lived less than %s, half of all for %s",
				   units_share(UNITS_BUF, (double)row->population[POPULATION_SHORT],
					       (double)row->began.blocks),
				   units_noun(UNITS_NOUN_BUF, row->began.blocks, "block"),
				   units_time(UNITS_BUF, l.duration / 100),
				   units_time(UNITS_BUF, distribution_quantile(&row->ages, 0.5))));
	}
	return err;
}

static struct shiny_err *ask_churn(void *context)
{
	const struct asking *a = context;
	struct diagnosis *d = &a->at[SYMPTOM_CHURN];
	const struct pooling_constants *cost = &a->cost;
	const struct streams *s = &a->known->streams;
	double hz, seconds, constructions;
	struct shiny_err *err = clock_rate(a->store, &hz);

	replay_await(&a->has_streams);
	seconds = (double)s->duration / 1e9;
	constructions =
		ratio((double)streams_constructions(s, &s->total), (double)s->total.allocations);
	d->value = ratio((double)s->total.allocations * (double)cost->alloc +
				 (double)s->total.deallocations * (double)cost->free,
			 seconds * hz);
	d->threshold = CHURN_SHARE;
	d->measure = mem_format(
		"%s allocations and %s deallocations a second: %s of a core's time, at %" PRIu64
		" and %" PRIu64 " cycles each",
		units_short(UNITS_BUF, ratio((double)s->total.allocations, seconds)),
		units_short(UNITS_BUF, ratio((double)s->total.deallocations, seconds)),
		units_share(UNITS_BUF, d->value, 1), cost->alloc, cost->free);
	d->verdict = d->value >= d->threshold ? VERDICT_YES : VERDICT_NO;
	d->verb = "lifetimes --by site";
	if (!s->recorded)
		d->missing = "constructors (SHINY_CTORS, for programs with symbols): their number "
			     "here is the least that there were";
	if (!err && d->verdict == VERDICT_YES) {
		const struct pooling_row *t = &a->known->pooling.total;

		replay_await(&a->has_lives);
		err = churn_rows(a, d);
		replay_await(&a->has_pooling);
		d->cause = constructions > 1 ? "objects are constructed more often than memory is "
					       "allocated: it is reused in place"
					     : "allocations dominate constructions";
		d->advice = constructions > 1 ? "extend reuse in place to the call sites below"
					      : "a ring, a pool or reuse for the call sites below";
		d->support =
			mem_format("%.2f constructions seen for each allocation; pools would make "
				   "%s of the allocator out of %s, and save %s cycles "
				   "(a model: shinyctl sizes --pooling)",
				   constructions, units_noun(UNITS_NOUN_BUF, t->with.calls, "call"),
				   units_count(UNITS_BUF, t->without.calls),
				   units_short(UNITS_BUF, (double)pooling_saved(t)));
	}
	return err;
}

/* ---- growth ---- */

static uint64_t most_between(const struct activity *activity, double from, double to)
{
	uint64_t most = 0;

	for (size_t i = (size_t)(from * (double)activity->count);
	     i < activity->count && (double)i < to * (double)activity->count; i++) {
		const struct activity_point *point = activity_point_at(activity, i);

		if (point && point->most.bytes > most)
			most = point->most.bytes;
	}
	return most;
}

struct small_count {
	uint64_t small, all; /* bytes live at the session's end */
};

static void count_small(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	struct small_count *c = context;
	uint64_t bytes = life->size * replay_weight(process, life);

	if (death->end != LIFE_NEVER || process->early || life->inherited)
		return;
	c->all += bytes;
	c->small += life->size <= DIAGNOSE_SMALL ? bytes : 0;
}

/* Finds the share of live bytes in small blocks. */
static struct shiny_err *small_share(const struct asking *a, double *share)
{
	struct small_count c = { 0 };
	struct replay_observer observer = { .context = &c, .death = count_small };
	struct shiny_err *err = replay_run(a->store, a->filter, &observer, 1,
					   a->progress ? "measuring every block" : NULL);

	*share = ratio((double)c.small, (double)c.all);
	return err;
}

/* Adds to the measure the live bytes at the end that nothing uses, if accesses were recorded. */
static struct shiny_err *growth_cold(const struct asking *a, struct diagnosis *d)
{
	double cold = 0, low = 0, high = 0;
	struct cold known;
	bool watched = false;
	char *measure;

	SHINY_TRY(cold_watched(a->store, &watched));
	if (!watched)
		return NULL;
	SHINY_TRY(cold_load(a->store, a->filter, GROUP_SITE, NULL, false, COLD_TIMES, &known));
	for (size_t i = 0; i < known.count; i++) {
		cold += known.rows[i].cold;
		low += known.rows[i].cold_low;
		high += known.rows[i].cold_high;
	}
	if (known.watched) {
		measure = mem_format("%s; at the end about %s (%s to %s) that is not used within "
				     "%s",
				     d->measure, units_bytes(UNITS_BUF, (uint64_t)cold),
				     units_bytes(UNITS_BUF, (uint64_t)low),
				     units_bytes(UNITS_BUF, (uint64_t)high),
				     units_time(UNITS_BUF, cold_times[known.within]));
		free(d->measure);
		d->measure = measure;
		d->missing = NULL;
	}
	cold_deinit(&known);
	return NULL;
}

/* Sets why the heap grows if the first `growing` rows of the leaks keep what they allocate; returns
 * false if they free half of it or more. */
static bool growth_kept(const struct asking *a, size_t growing, struct diagnosis *d)
{
	const struct leaks *leaks = &a->known->leaks;
	uint64_t made = 0, blocks = 0, bytes = 0;

	for (size_t i = 0; i < growing; i++) {
		made += leaks->rows[i].made;
		blocks += leaks->rows[i].left.blocks;
		bytes += leaks->rows[i].left.bytes;
	}
	if ((double)(made - blocks) >= KEPT_FREED * (double)made)
		return false;
	d->cause = "a leak, or a cache without bound: what the call sites below make is hardly "
		   "ever freed";
	d->advice = "free it, or bound the cache. A heap snapshot tells which it is (shinyctl tell "
		    "PID snapshot, or SHINY_SNAPSHOT=exit): shinyctl retained --unreachable lists "
		    "what is leaked, shinyctl retainers what keeps the rest";
	d->support = mem_format("they have %s of the live bytes, and freed %s of the %s that they "
				"made",
				units_share(UNITS_BUF, (double)bytes, (double)leaks->left.bytes),
				units_share(UNITS_BUF, (double)(made - blocks), (double)made),
				units_noun(UNITS_NOUN_BUF, made, "block"));
	return true;
}

/* Says why the heap grows by how large its blocks are, as the paper's tree does. */
static struct shiny_err *growth_by_size(const struct asking *a, struct diagnosis *d)
{
	const struct pooling_row *t = &a->known->pooling.total;
	double small;

	SHINY_TRY(small_share(a, &small));
	replay_await(&a->has_pooling);
	d->cause = small >= 0.5 ? "small objects dominate" : "large blocks dominate";
	d->advice = small >= 0.5 ? "see which small blocks churn and which stay; pool by size and "
				   "lifetime"
				 : "ask of the call sites below when what they make ends; shinyctl "
				   "growth tells of buffers";
	d->support = mem_format(
		"%s of the live bytes are in blocks of up to %d bytes; pools would leave %s at the "
		"end instead of %s (a model: shinyctl sizes --pooling)",
		units_share(UNITS_BUF, small, 1), DIAGNOSE_SMALL,
		units_noun(UNITS_NOUN_BUF, t->with.end_pages, "page"),
		units_count(UNITS_BUF, t->without.end_pages));
	return NULL;
}

static struct shiny_err *ask_growth(void *context)
{
	const struct asking *a = context;
	struct diagnosis *d = &a->at[SYMPTOM_GROWTH];
	const struct leaks *leaks = &a->known->leaks;
	uint64_t middle, last;
	size_t growing = 0;

	replay_await(&a->has_activity);
	replay_await(&a->has_leaks);
	middle = most_between(&a->known->activity, 0.45, 0.55);
	last = most_between(&a->known->activity, 0.9, 1);
	while (growing < leaks->count && leaks->rows[growing].grows)
		growing++;
	d->value = ratio((double)last, (double)middle);
	d->threshold = GROWTH_RISE;
	d->measure = mem_format("%s live at most in the middle tenth, %s in the last one; %s %s",
				units_bytes(UNITS_BUF, middle), units_bytes(UNITS_BUF, last),
				units_noun(UNITS_NOUN_BUF, growing, "call site"),
				units_form(growing, "grows", "grow"));
	d->verdict = !middle || !last			   ? VERDICT_UNKNOWN
		     : d->value >= d->threshold && growing ? VERDICT_YES
							   : VERDICT_NO;
	d->verb = "leaks";
	d->missing = "accesses: what is live and never touched again (Z) cannot be told from what "
		     "is used";
	SHINY_TRY(growth_cold(a, d));
	if (d->verdict != VERDICT_YES)
		return NULL;
	if (!growth_kept(a, growing, d))
		SHINY_TRY(growth_by_size(a, d));
	for (size_t i = 0; i < growing && i < DIAGNOSE_ROWS; i++) {
		const struct leak_row *row = &leaks->rows[i];

		put_row(d, i, row->name, row->left.blocks, row->left.bytes,
			mem_format("%s more blocks a second, %s",
				   units_short(UNITS_BUF, row->slope),
				   units_bytes(UNITS_BUF, (uint64_t)row->bytes_slope)));
	}
	return NULL;
}

/* ---- utilization ---- */

static void ask_utilization(const struct asking *a, struct diagnosis *d)
{
	const struct pages *p = &a->known->pages;
	const struct pages_sums *t = &p->total;
	double pinned = ratio((double)t->pinned, (double)t->pages);

	d->value = pages_utilization(t);
	d->threshold = UTILIZATION_LOW;
	d->measure = mem_format(
		"at the peak, live blocks fill %s of the bytes of the %s that they lie on",
		units_share(UNITS_BUF, d->value, 1), units_noun(UNITS_NOUN_BUF, t->pages, "page"));
	d->verdict = !t->pages		       ? VERDICT_UNKNOWN
		     : d->value < d->threshold ? VERDICT_YES
					       : VERDICT_NO;
	d->missing = "accesses: pages that only untouched objects (Z) keep are among the used ones";
	if (p->touched.processes) {
		char *measure =
			mem_format("%s; %s %s only what nobody touched for %s", d->measure,
				   units_noun(UNITS_NOUN_BUF, t->fates[PAGE_ZOMBIE], "page"),
				   units_form(t->fates[PAGE_ZOMBIE], "holds", "hold"),
				   units_time(UNITS_BUF, p->touched.least));

		free(d->measure);
		d->measure = measure;
		d->missing = NULL;
	}
	d->verb = "pages --at peak";
	if (d->verdict == VERDICT_YES) {
		bool scattered = pinned >= SCATTERED;

		d->cause =
			scattered
				? "small survivors are scattered over pages that are otherwise free"
				: "blocks lie on pages that they do not fill";
		d->advice = scattered ? "allocate what stays apart from what goes: by lifetime"
				      : "give the free pages between them back to the system, or "
					"allocate them side by side";
		d->support =
			mem_format("%s, %s, %s a single block or less than %d bytes, %s in all",
				   units_noun(UNITS_NOUN_BUF, t->pinned, "page"),
				   units_share(UNITS_BUF, pinned, 1),
				   units_form(t->pinned, "holds", "hold"), PAGES_UNDER,
				   units_bytes(UNITS_BUF, t->pinned_bytes));
		for (size_t i = 0;
		     i < p->by_site.count && i < DIAGNOSE_ROWS && p->by_site.rows[i].pinned; i++)
			put_row(d, i, p->by_site.rows[i].name, p->by_site.rows[i].blocks,
				p->by_site.rows[i].bytes,
				mem_format("on %s, %s of them alone",
					   units_noun(UNITS_NOUN_BUF, p->by_site.rows[i].pinned,
						      "such page"),
					   units_count(UNITS_BUF, p->by_site.rows[i].freed)));
	}
}

/* ---- hardware ---- */

static void ask_hardware(const struct asking *a, struct diagnosis *d)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < a->known->activity.total.count; i++)
		if (a->known->activity.total.points[i].lines > lines)
			lines = a->known->activity.total.points[i].lines;
	d->verdict = VERDICT_UNKNOWN;
	d->measure =
		mem_format("live blocks lie on %s at most, %s; how often they miss is not known",
			   units_noun(UNITS_NOUN_BUF, lines, "cache line"),
			   units_bytes(UNITS_BUF, lines * 64));
	d->missing = "hardware counters and accesses: perf stat -e "
		     "branch-misses,L1-dcache-load-misses,cache-misses -- PROGRAM tells the misses";
	d->verb = "activity";
}

/* ---- spikes ---- */

static struct shiny_err *spike_rows(const struct asking *a, struct diagnosis *d)
{
	struct groups groups = { 0 };
	SHINY_CLEANUP(peak_deinit) struct peaks p = { 0 };

	SHINY_TRY(groups_load(a->store, GROUP_SITE, a->full_names, &groups));
	SHINY_TRY(peak_load_highest(a->store, a->filter, &groups, a->progress, &p));
	if (p.count) {
		const struct peak *peak = &p.peaks[p.highest];

		d->support = mem_format(
			"%s of the peak's %s ended within %s",
			units_share(UNITS_BUF, (double)peak->soon_bytes,
				    (double)peak->there.bytes),
			units_bytes(UNITS_BUF, peak->there.bytes), units_time(UNITS_BUF, p.soon));
		for (size_t i = 0; i < peak->count && i < DIAGNOSE_ROWS; i++)
			put_row(d, i, peak->rows[i].name, peak->rows[i].there.blocks,
				peak->rows[i].there.bytes,
				mem_format("%s of it ended soon",
					   units_share(UNITS_BUF, (double)peak->rows[i].soon_bytes,
						       (double)peak->rows[i].there.bytes)));
	}
	return NULL;
}

static struct shiny_err *ask_spikes(void *context)
{
	const struct asking *a = context;
	struct diagnosis *d = &a->at[SYMPTOM_SPIKES];
	const struct activity_series *s = &a->known->activity.total;
	uint64_t steady;
	double when;
	bool falls;

	replay_await(&a->has_activity);
	steady = activity_median(&a->known->activity);
	when = ratio((double)s->peak_time, (double)a->known->activity.duration);
	d->value = ratio((double)s->peak.bytes, (double)steady);
	d->threshold = SPIKE;
	falls = d->value < d->threshold || activity_comes_down(&a->known->activity, steady);
	d->measure = mem_format(
		"the peak, %s after %s, is %.2f times the median of live bytes over time, %s%s",
		units_bytes(UNITS_BUF, s->peak.bytes), units_time(UNITS_BUF, s->peak_time),
		d->value, units_bytes(UNITS_BUF, steady), falls ? "" : ", and does not come down");
	d->verdict = !steady				   ? VERDICT_UNKNOWN
		     : d->value >= d->threshold && falls ? VERDICT_YES
							   : VERDICT_NO;
	d->verb = "peak";
	if (d->verdict != VERDICT_YES)
		return NULL;
	if (when < 0.2) {
		d->cause = "it comes with the start";
		d->advice = "a ring for what start-up needs for a short time";
	} else if (when < 0.5) {
		d->cause = "it comes with deferred initialization";
		d->advice = "spread that work over time";
	} else {
		d->cause = "it comes in the steady state";
		d->advice = "tune what collects or caches, and bound the buffers below";
	}
	return spike_rows(a, d);
}

/* ---- all of them ---- */

static struct shiny_err *know_streams(void *context)
{
	struct asking *a = context;
	struct shiny_err *err = streams_load(a->store, a->filter, a->progress, &a->known->streams);

	a->has_streams = true;
	return err;
}

static struct shiny_err *know_activity(void *context)
{
	struct asking *a = context;
	unsigned flags = (a->types ? 0 : ACTIVITY_NO_TYPES) | (a->progress ? ACTIVITY_PROGRESS : 0);
	struct shiny_err *err = activity_load(a->store, a->filter, 0, flags, &a->known->activity);

	a->has_activity = true;
	return err;
}

static struct shiny_err *know_pooling(void *context)
{
	struct asking *a = context;
	struct shiny_err *err = site_lives_load(a->store, a->filter, false, a->progress, &a->lives);

	a->has_lives = true;
	if (!err)
		err = pooling_load_known(a->store, a->filter, &a->lives, &a->cost, NULL,
					 a->progress ? POOLING_PROGRESS : 0, &a->known->pooling);
	a->has_pooling = true;
	return err;
}

static struct shiny_err *know_leaks(void *context)
{
	struct asking *a = context;
	struct shiny_err *err = leaks_load(a->store, a->filter, GROUP_SITE, NULL, NULL,
					   a->full_names, a->progress, &a->known->leaks);

	a->has_leaks = true;
	return err;
}

static struct shiny_err *know_pages(void *context)
{
	const struct asking *a = context;
	struct pages_ask ask = { .at = PAGES_AT_PEAK,
				 .under = PAGES_UNDER,
				 .history = a->history,
				 .full_names = a->full_names,
				 .progress = a->progress };

	return pages_load(a->store, a->filter, &ask, &a->known->pages);
}

void diagnose_forget(struct diagnose_known *known)
{
	activity_deinit(&known->activity);
	pooling_deinit(&known->pooling);
	streams_deinit(&known->streams);
	leaks_deinit(&known->leaks);
	pages_deinit(&known->pages);
}

struct shiny_err *diagnose_load(struct store *store, const struct filter *filter, unsigned flags,
				struct diagnose_known *known_out, struct diagnoses *out)
{
	struct diagnose_known known = { 0 };
	struct diagnoses diagnoses = { 0 };
	struct asking asking = { .store = store,
				 .filter = filter,
				 .known = &known,
				 .history = flags & DIAGNOSE_HISTORY,
				 .types = flags & DIAGNOSE_TYPES,
				 .full_names = flags & DIAGNOSE_FULL_NAMES,
				 .progress = flags & DIAGNOSE_PROGRESS,
				 .at = diagnoses.at };
	const struct replay_task tasks[] = { { know_pooling, &asking }, { know_pages, &asking },
					     { know_streams, &asking }, { know_activity, &asking },
					     { know_leaks, &asking },	{ ask_churn, &asking },
					     { ask_growth, &asking },	{ ask_spikes, &asking } };
	struct shiny_err *err = pooling_parse(NULL, &asking.cost);

	if (!err)
		err = replay_together(tasks, sizeof(tasks) / sizeof(*tasks));
	site_lives_deinit(&asking.lives);
	if (err) {
		diagnose_deinit(&diagnoses);
		diagnose_forget(&known);
		return err;
	}
	ask_utilization(&asking, &diagnoses.at[SYMPTOM_UTILIZATION]);
	ask_hardware(&asking, &diagnoses.at[SYMPTOM_HARDWARE]);
	for (enum symptom i = 0; i < SYMPTOMS; i++)
		diagnoses.at[i].symptom = i;
	*known_out = known;
	*out = diagnoses;
	return NULL;
}

void diagnose_deinit(struct diagnoses *diagnoses)
{
	for (size_t i = 0; i < SYMPTOMS; i++) {
		struct diagnosis *d = &diagnoses->at[i];

		free(d->measure);
		free(d->support);
		for (size_t n = 0; n < DIAGNOSE_ROWS; n++) {
			free(d->rows[n].name);
			free(d->rows[n].text);
		}
	}
}
