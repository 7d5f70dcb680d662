/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "activity.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/units.h"
#include "../../store/contents.h"
#include "../replay/page_count.h"
#include "../replay/process_ends.h"
#include "../totals/process_names.h"

/* The sums of a process, or of all. */
struct activity_tally {
	struct activity_series series;
	size_t room;               /* of series.points */
	struct activity_point now; /* live, and counts since the last interval's end */
	bool seen, ended, closed;  /* closed: has the point of the interval in which it ended */
};
struct recorder {
	const struct groups *groups; /* types, call sites */
	struct phase_log *log;       /* NULL: phases have no rows */
	const struct replay *replay; /* during the pass */
	bool with_pages;             /* with pages, lines and types */
	struct page_counts pages;
	struct activity_tally total, *processes; /* by process id - 1; NULL: not begun */
	size_t process_count;
	struct process_ends ends;
	uint64_t interval, duration, edge; /* edge: end of the current interval */
	size_t at, count;                  /* interval numbers */
};

/* ---- counting ---- */

static void begin(struct recorder *r, const struct replay *replay)
{
	if (r->processes)
		return;
	r->process_count = replay->process_count;
	r->processes = mem_zero(replay->process_count + 1, sizeof(*r->processes));
	r->replay = replay;
	r->total.seen = true;
	process_ends_init(&r->ends, replay);
}

static struct activity_tally *tally_of(struct recorder *r, const struct replay_process *p)
{
	struct activity_tally *t;

	begin(r, p->replay);
	t = &r->processes[p->id - 1];
	if (!t->seen) {
		t->seen = true;
		t->series = (struct activity_series){
			.process = p->id, .start = p->start, .end = p->end, .first = r->at
		};
	}
	return t;
}

static uint32_t type_of(void *context, uint32_t process, const struct life *life)
{
	const struct recorder *r = context;

	return groups_find(r->groups, &r->replay->processes[process - 1], life);
}

static void look(struct activity_tally *t, uint64_t time)
{
	const struct estimated *live = &t->now.live;
	struct estimated *most = &t->now.most;

	if (live->bytes > most->bytes) {
		most->bytes = live->bytes;
		most->bytes_variance = live->bytes_variance;
	}
	if (live->blocks > most->blocks) {
		most->blocks = live->blocks;
		most->blocks_variance = live->blocks_variance;
	}
	if (live->bytes > t->series.peak.bytes) {
		t->series.peak = *live;
		t->series.peak_time = time;
	}
}

static void born(struct activity_tally *t, const struct estimated *block, uint64_t birth,
		 bool live, uint64_t kept)
{
	if (birth >= kept)
		estimated_merge(&t->now.began, block);
	if (!live)
		return;
	estimated_merge(&t->now.live, block);
	look(t, birth > kept ? birth : kept);
}

static void died(struct activity_tally *t, const struct estimated *block, bool live)
{
	estimated_merge(&t->now.ended, block);
	if (live)
		estimated_unmerge(&t->now.live, block);
}

static void activity_on_birth(void *context, const struct replay_process *p,
			      const struct life *life)
{
	struct recorder *r = context;
	struct activity_tally *t = tally_of(r, p);
	struct estimated block = { 0 };

	estimated_add(&block, life->size, replay_weight(p, life));
	born(t, &block, life->birth, !t->ended, p->replay->kept);
	born(&r->total, &block, life->birth, !t->ended, p->replay->kept);
	if (r->with_pages)
		page_counts_add(&r->pages, p->id, life);
}

static void activity_on_death(void *context, const struct replay_process *p,
			      const struct life *life, const struct life_death *death)
{
	struct recorder *r = context;
	struct activity_tally *t = tally_of(r, p);
	struct estimated block = { 0 };

	/* an inherited one counts as a free only */
	estimated_add(&block, life->inherited ? 0 : life->size, replay_weight(p, life));
	if (life->inherited && death->end != LIFE_NEVER) {
		died(t, &block, false);
		died(&r->total, &block, false);
	}
	if (life->inherited)
		return;
	if (r->log)
		phase_log_add(r->log, life->birth, death->time, phase_stays(p, death),
			      groups_find(&r->groups[0], p, life),
			      groups_find(&r->groups[1], p, life), life->size);
	if (death->end == LIFE_NEVER) {
		page_counts_last(&r->pages);
		return;
	}
	died(t, &block, !t->ended);
	died(&r->total, &block, !t->ended);
	if (r->with_pages)
		page_counts_remove(&r->pages, p->id, life);
}

/* Counts an object's growth in place as allocated bytes, and its shrinking as freed bytes. */
static void resized(struct activity_tally *t, uint64_t before, uint64_t after)
{
	t->now.began.bytes += after > before ? after - before : 0;
	t->now.ended.bytes += before > after ? before - after : 0;
}

static void activity_on_resize(void *context, const struct replay_process *p,
			       const struct life *life, uint64_t before)
{
	struct recorder *r = context;
	struct activity_tally *t = tally_of(r, p);

	if (life->inherited)
		return;
	resized(t, before, life->size);
	resized(&r->total, before, life->size);
	if (t->ended)
		return;
	t->now.live.bytes += life->size - before;
	r->total.now.live.bytes += life->size - before;
	look(t, r->edge - r->interval); /* the event has no time: take the interval's begin */
	look(&r->total, r->edge - r->interval);
	if (r->with_pages)
		page_counts_resize(&r->pages, p->id, life, before);
}

static void on_move(void *context, const struct replay_process *p, const struct life *life,
		    uint64_t before)
{
	struct recorder *r = context;

	if (!life->inherited && r->with_pages && !tally_of(r, p)->ended)
		page_counts_move(&r->pages, p->id, life, before);
}

static void on_vtable(void *context, const struct replay_process *p, const struct life *life,
		      uint32_t before)
{
	struct recorder *r = context;

	if (!life->inherited && r->pages.group_of && !tally_of(r, p)->ended)
		page_counts_vtable(&r->pages, p->id, life, before);
}

/* Subtracts all that the process holds. */
static void leave(struct recorder *r, struct activity_tally *t)
{
	estimated_unmerge(&r->total.now.live, &t->now.live);
	t->now.live = (struct estimated){ 0 };
}

/* ---- intervals ---- */

static void add_up(struct activity_series *s, const struct activity_point *p)
{
	estimated_merge(&s->began, &p->began);
	estimated_merge(&s->ended, &p->ended);
}

static void put_point(struct activity_tally *t, uint64_t types, uint64_t pages, uint64_t lines)
{
	struct activity_series *s = &t->series;

	if (s->count == t->room) {
		t->room = t->room ? t->room * 2 : 16;
		s->points = mem_resize(s->points, t->room, sizeof(*s->points));
	}
	t->now.types = types;
	t->now.pages = pages;
	t->now.lines = lines;
	add_up(s, &t->now);
	s->points[s->count++] = t->now;
	t->now = (struct activity_point){ .live = t->now.live, .most = t->now.live };
}

static void put_points(struct recorder *r)
{
	page_counts_settle(&r->pages);
	for (size_t i = 0; i < r->process_count; i++) {
		struct activity_tally *t = &r->processes[i];
		const struct page_count *space = page_counts_of(&r->pages, (uint32_t)i + 1);

		if (t->seen && !t->closed)
			put_point(t, space ? space->groups.live : 0,
				  space ? space->pages : 0, space ? space->lines : 0);
		t->closed = t->ended;
	}
	put_point(&r->total, r->pages.groups.live, r->pages.pages, r->pages.lines);
	r->at++;
	r->edge += r->interval;
}

static uint64_t activity_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct recorder *r = context;
	const struct replay_process *p;
	uint64_t next;

	begin(r, replay);
	while ((p = process_ends_take(&r->ends, replay, moment))) {
		struct activity_tally *t = &r->processes[p->id - 1];

		if (!t->seen || t->ended)
			continue;
		leave(r, t);
		t->ended = true;
		if (r->with_pages)
			page_counts_end(&r->pages, p->id);
	}
	if (moment >= r->edge)
		put_points(r);
	next = process_ends_time(&r->ends, replay);
	return r->at >= r->count ? UINT64_MAX : next < r->edge ? next : r->edge;
}

/* ---- loading ---- */

uint64_t activity_usual_interval(uint64_t duration)
{
	for (uint64_t tens = 1;; tens *= 10)
		for (unsigned i = 0; i < 3; i++) {
			uint64_t interval = tens * (const unsigned[]){ 1, 2, 5 }[i];

			if (duration / interval < ACTIVITY_USUAL ||
			    (duration / interval == ACTIVITY_USUAL && duration % interval == 0))
				return interval;
		}
}

static struct shiny_err *set_intervals(struct activity *a, uint64_t interval)
{
	a->interval = interval ? interval : activity_usual_interval(a->duration);
	a->count = a->duration / a->interval + (a->duration % a->interval != 0);
	if (!a->count)
		a->count = 1;
	if (a->count > ACTIVITY_INTERVALS_MAX)
		return shiny_err(SHINY_ERR_USAGE,
				 "activity: intervals of %s make %s of them in %s: more than %s",
				 units_time(UNITS_BUF, a->interval),
				 units_count(UNITS_BUF, a->count),
				 units_time(UNITS_BUF, a->duration),
				 units_count(UNITS_BUF, ACTIVITY_INTERVALS_MAX));
	return NULL;
}

static struct shiny_err *record(struct store *store, const struct filter *filter,
				const struct groups groups[2], struct phase_log *log,
				unsigned flags, struct activity *a)
{
	struct recorder r = { .groups = groups,
			      .log = log,
			      .with_pages = !(flags & ACTIVITY_NO_PAGES),
			      .pages = { .group_of = flags & ACTIVITY_NO_TYPES ? NULL : type_of,
					 .context = &r },
			      .interval = a->interval,
			      .edge = a->interval,
			      .duration = a->duration,
			      .count = a->count };
	struct replay_observer observer = { .context = &r,
					    .birth = activity_on_birth,
					    .death = activity_on_death,
					    .resize = activity_on_resize,
					    .move = on_move,
					    .vtable = on_vtable,
					    .moment = activity_on_moment,
					    .untyped = !log };
	SHINY_CLEANUP(process_names_deinit) struct process_names names = { 0 };
	struct shiny_err *err = process_names_load(store, &names);

	range_maps_begin(store);
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 flags & ACTIVITY_PROGRESS ? "counting what is live" : NULL);
	if (!err) {
		page_counts_settle(&r.pages);
		err = range_maps_end(store);
	}
	while (!err && r.at < r.count) /* the last one, and those after all events */
		put_points(&r);
	a->total = r.total.series;
	a->kept = r.replay ? r.replay->kept : 0;
	a->total.end = a->duration;
	a->processes = mem_zero(r.process_count + 1, sizeof(*a->processes));
	for (size_t i = 0; i < r.process_count; i++) {
		struct activity_tally *t = &r.processes[i];

		if (!t->seen)
			continue;
		add_up(&t->series, &t->now); /* late events, after the process's end */
		t->series.pid = i + 1 < names.count ? names.of[i + 1].pid : 0;
		t->series.name = process_names_take(&names, (uint32_t)i + 1);
		a->processes[a->process_count++] = t->series;
	}
	free(r.processes);
	process_ends_deinit(&r.ends);
	page_counts_deinit(&r.pages);
	return err;
}

static void fill_phase(const struct activity *a, struct phase *phase)
{
	const struct activity_point *points = a->total.points, *end = &points[phase->last];

	phase->begin = phase->first * a->interval;
	phase->end = (phase->last + 1) * a->interval < a->duration ? (phase->last + 1) * a->interval
								   : a->duration;
	if (phase->first)
		phase->at_begin = points[phase->first - 1].live;
	phase->at_end = end->live;
	for (size_t i = phase->first; i <= phase->last; i++) {
		estimated_merge(&phase->began, &points[i].began);
		estimated_merge(&phase->ended, &points[i].ended);
		if (points[i].most.bytes > phase->most.bytes)
			phase->most = points[i].most;
	}
}

static void find_phases(struct activity *a)
{
	struct phase_sample *samples = mem_zero(a->count, sizeof(*samples));
	struct phase_range ranges[PHASES_MAX];

	for (size_t i = 0; i < a->count; i++)
		samples[i] = (struct phase_sample){ a->total.points[i].live.bytes,
						    a->total.points[i].most.bytes };
	a->phase_count = phases_find(0, samples, a->count, ranges);
	a->phases = mem_zero(a->phase_count, sizeof(*a->phases));
	for (size_t i = 0; i < a->phase_count; i++) {
		a->phases[i] = (struct phase){ .number = i + 1,
					       .kind = ranges[i].kind,
					       .first = ranges[i].first,
					       .last = ranges[i].last };
		fill_phase(a, &a->phases[i]);
	}
	free(samples);
}

struct shiny_err *activity_load(struct store *store, const struct filter *filter, uint64_t interval,
				unsigned flags, struct activity *out)
{
	SHINY_CLEANUP(activity_deinit) struct activity a = { 0 };
	struct groups groups[2] = { 0 };
	struct phase_log *log = NULL;
	bool rows = flags & ACTIVITY_PHASE_ROWS;
	struct shiny_err *err = session_duration(store, &a.duration);
	uint64_t sample = 0;

	if (!err)
		err = set_intervals(&a, interval);
	if (!err && !(flags & ACTIVITY_NO_TYPES))
		err = groups_load(store, GROUP_TYPE, flags & ACTIVITY_FULL_NAMES, &groups[0]);
	if (!err && rows)
		err = groups_load(store, GROUP_SITE, false, &groups[1]);
	if (!err)
		err = contents_sample(store, &sample, NULL);
	/* a block of a sample counts as many, for which the log has no room */
	if (!err && rows && !sample)
		log = phase_log_create(a.interval, a.count,
				       (const size_t[]){ groups[0].count, groups[1].count });
	if (!err)
		err = record(store, filter, groups, log, flags, &a);
	if (!err && flags & (ACTIVITY_PHASES | ACTIVITY_PHASE_ROWS))
		find_phases(&a);
	if (!err && rows)
		err = phase_rows_load(store, filter, groups, log, flags & ACTIVITY_PROGRESS,
				      a.phases, a.phase_count);
	phase_log_destroy(log);
	groups_deinit(&groups[0]);
	groups_deinit(&groups[1]);
	if (err)
		return err;
	*out = shiny_steal(a);
	return NULL;
}

static void series_deinit(struct activity_series *s)
{
	free(s->name);
	free(s->points);
}

void activity_deinit(struct activity *a)
{
	series_deinit(&a->total);
	for (size_t i = 0; i < a->process_count; i++)
		series_deinit(&a->processes[i]);
	free(a->processes);
	for (size_t i = 0; i < a->phase_count; i++)
		for (unsigned k = 0; k < PHASE_ROWS; k++) {
			free(a->phases[i].types[k].name);
			free(a->phases[i].sites[k].name);
		}
	free(a->phases);
	*a = (struct activity){ 0 };
}

/* ---- the course of live bytes ---- */

uint64_t activity_median(const struct activity *activity)
{
	uint64_t *values = mem_zero(activity->count + 1, sizeof(*values)), middle;

	for (size_t i = 0; i < activity->count; i++) {
		const struct activity_point *point = activity_point_at(activity, i);

		values[i] = point ? point->live.bytes : 0;
	}
	qsort(values, activity->count, sizeof(*values), order_numbers);
	middle = values[activity->count / 2];
	free(values);
	return middle;
}

static bool is_above(const struct activity *activity, size_t interval, uint64_t bytes)
{
	const struct activity_point *point = activity_point_at(activity, interval);

	return interval < activity->count && point && point->most.bytes > bytes;
}

bool activity_comes_down(const struct activity *activity, uint64_t steady)
{
	size_t at = (size_t)(activity->total.peak_time / activity->interval), first = at, last = at,
	       down = 0;
	uint64_t middle = steady + (activity->total.peak.bytes - steady) / 2;

	while (first && is_above(activity, first - 1, middle))
		first--;
	while (is_above(activity, last + 1, middle))
		last++;
	while (last + down + 1 < activity->count && !is_above(activity, last + down + 1, middle))
		down++;
	return down >= last - first + 1;
}
