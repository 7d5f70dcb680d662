/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_series.c: an observer of replay.h that keeps page_count.h up to date.
 */
#include "page_series.h"

static uint64_t moment_of(const struct page_series *s, size_t i)
{
	return (uint64_t)((unsigned __int128)s->duration * (i + 1) / s->count);
}

static void series_birth(void *context, const struct replay_process *process,
			 const struct life *life)
{
	page_counts_add(&((struct page_series *)context)->counts, process->id, life);
}

static void series_death(void *context, const struct replay_process *process,
			 const struct life *life, const struct life_death *death)
{
	struct page_counts *counts = &((struct page_series *)context)->counts;

	if (death->end != LIFE_NEVER)
		page_counts_remove(counts, process->id, life);
	else
		page_counts_last(counts);
}

static void series_resize(void *context, const struct replay_process *process,
			  const struct life *life, uint64_t before)
{
	page_counts_resize(&((struct page_series *)context)->counts, process->id, life, before);
}

static void series_move(void *context, const struct replay_process *process,
			const struct life *life, uint64_t before)
{
	page_counts_move(&((struct page_series *)context)->counts, process->id, life, before);
}

static void series_fork(void *context, const struct replay_process *parent,
			const struct replay_process *child)
{
	page_counts_inherit(&((struct page_series *)context)->counts, child);
}

/* At the last moment, processes that ended since the one before still count: most sessions end with
 * their processes. */
static uint64_t series_moment(void *context, const struct replay *replay, uint64_t now)
{
	struct page_series *s = context;
	struct page_counts *counts = &s->counts;
	uint64_t ended = s->done + 1 == s->count ? s->last : now;

	for (size_t i = 0; i < replay->process_count; i++)
		if (replay->processes[i].early && replay->processes[i].end <= ended)
			page_counts_end(counts, replay->processes[i].id);
	page_counts_settle(counts);
	s->last = now;
	while (s->done < s->count && moment_of(s, s->done) <= now)
		s->points[s->done++] =
			(struct pages_point){ now,	     counts->blocks, counts->bytes,
					      counts->pages, counts->lines,  counts->ranges };
	return s->done < s->count ? moment_of(s, s->done) : UINT64_MAX;
}

struct replay_observer page_series_begin(struct page_series *series, struct pages_point *points,
					 uint64_t duration)
{
	series->points = points;
	series->duration = duration;
	return (struct replay_observer){ .context = series,
					 .birth = series_birth,
					 .death = series_death,
					 .resize = series_resize,
					 .move = series_move,
					 .fork = series_fork,
					 .moment = series_moment,
					 .untyped = true,
					 .first_moment = series->count ? moment_of(series, 0) : 0 };
}

void page_series_deinit(struct page_series *series)
{
	page_counts_deinit(&series->counts);
}
