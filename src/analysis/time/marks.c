/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c: see marks.h. */
#include "marks.h"

#include <stdlib.h>
#include <string.h>

#include "../../store/contents.h"
#include "../replay/replay.h"
#include "../replay/process_ends.h"

struct mark_counter {
	struct marks *marks;
	size_t at; /* index of the row being counted */
	struct process_ends ends;
	bool began;
	uint64_t live, live_bytes;
};

static void raise_peak(struct mark_counter *c)
{
	struct mark_row *row = &c->marks->rows[c->at];

	if (c->live_bytes > row->peak_bytes)
		row->peak_bytes = c->live_bytes;
}

static void marks_on_birth(void *context, const struct replay_process *process,
			   const struct life *life)
{
	struct mark_counter *c = context;
	uint64_t blocks = replay_weight(process, life);

	c->live += blocks;
	c->live_bytes += life->size * blocks;
	c->marks->rows[c->at].allocs += blocks;
	c->marks->rows[c->at].bytes += life->size * blocks;
	raise_peak(c);
}

static void marks_on_death(void *context, const struct replay_process *process,
			   const struct life *life, const struct life_death *death)
{
	struct mark_counter *c = context;
	uint64_t blocks = replay_weight(process, life);

	if (death->end == LIFE_NEVER)
		return; /* counted after the pass */
	c->marks->rows[c->at].frees += blocks;
	if (life->inherited)
		return;
	c->live -= blocks;
	c->live_bytes -= life->size * blocks;
}

static void marks_on_resize(void *context, const struct replay_process *process,
			    const struct life *life, uint64_t old)
{
	struct mark_counter *c = context;

	(void)process;
	if (life->inherited)
		return;
	c->live_bytes += life->size - old;
	if (life->size > old)
		c->marks->rows[c->at].bytes += life->size - old;
	raise_peak(c);
}

/* Blocks born at the mark come after it, as in filter_time(). */
static uint64_t before(const struct mark_row *row)
{
	return row->time ? row->time - 1 : 0;
}

static uint64_t marks_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct mark_counter *c = context;
	struct marks *m = c->marks;
	const struct replay_process *gone;
	uint64_t next;

	if (!c->began) {
		process_ends_init(&c->ends, replay);
		c->began = true;
	}
	while (c->at + 1 < m->count && before(&m->rows[c->at + 1]) <= moment) {
		struct mark_row *row = &m->rows[++c->at];

		row->live = c->live;
		row->live_bytes = row->peak_bytes = c->live_bytes;
	}
	while ((gone = process_ends_take(&c->ends, replay, moment)))
		replay_each(gone, life)
		{
			uint64_t blocks = life->inherited ? 0 : replay_weight(gone, life);

			c->live -= blocks;
			c->live_bytes -= life->size * blocks;
		}
	next = process_ends_time(&c->ends, replay);
	if (c->at + 1 < m->count && before(&m->rows[c->at + 1]) < next)
		next = before(&m->rows[c->at + 1]);
	return next;
}

static struct shiny_err *count(struct store *store, const struct filter *filter, bool progress,
			       struct marks *marks)
{
	struct mark_counter c = { .marks = marks };
	struct replay_observer observer = { .context = &c,
					    .birth = marks_on_birth,
					    .death = marks_on_death,
					    .resize = marks_on_resize,
					    .moment = marks_on_moment };
	struct shiny_err *err =
		replay_run(store, filter, &observer, 1, progress ? "following blocks" : NULL);

	process_ends_deinit(&c.ends);
	marks->live = c.live;
	marks->live_bytes = c.live_bytes;
	return err;
}

static struct shiny_err *read_marks(struct store *store, const struct filter *filter,
				    struct marks *marks)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(store, &q,
					     "SELECT s.ns, s.name, s.process, p.pid, t.tid FROM "
					     "mark s LEFT JOIN process p ON p.id = s.process "
					     "LEFT JOIN thread t ON t.id = s.thread WHERE %s OR "
					     "s.process = 0 ORDER BY s.ns, s.id",
					     filter->where);

	QUERY_EACH (q, err) {
		struct mark_row *mark =
			rows_push(&marks->rows, &marks->count, &marks->room, sizeof(*mark));

		mark->name = query_copy(q, 1);
		mark->time = (uint64_t)query_number(q, 0);
		mark->process = (uint32_t)query_number(q, 2);
		mark->pid = (uint32_t)query_number(q, 3);
		mark->tid = (uint32_t)query_number(q, 4);
	}
	return err;
}

struct shiny_err *marks_read(struct store *store, const struct filter *filter, struct marks *out)
{
	SHINY_CLEANUP(marks_deinit) struct marks marks = { 0 };
	uint64_t duration = 0;
	struct shiny_err *err;

	rows_push(&marks.rows, &marks.count, &marks.room, sizeof(*marks.rows));
	err = read_marks(store, filter, &marks);
	if (!err)
		err = session_duration(store, &duration);
	for (size_t i = 0; i < marks.count; i++) {
		uint64_t next = i + 1 < marks.count ? marks.rows[i + 1].time : duration;

		marks.rows[i].length = next > marks.rows[i].time ? next - marks.rows[i].time : 0;
	}
	if (err)
		return err;
	*out = shiny_steal(marks);
	return NULL;
}

struct shiny_err *marks_load(struct store *store, const struct filter *filter, bool progress,
			     struct marks *out)
{
	struct marks marks;
	struct shiny_err *err = marks_read(store, filter, &marks);

	if (err)
		return err;
	err = contents_has_events(store, &marks.counted);
	for (size_t i = 0; i < marks.count; i++)
		marks.rows[i].counted = marks.counted;
	if (!err && marks.counted)
		err = count(store, filter, progress, &marks);
	if (err) {
		marks_deinit(&marks);
		return err;
	}
	*out = marks;
	return NULL;
}

void marks_number(struct marks *marks)
{
	for (size_t i = 1; i < marks->count; i++) {
		uint32_t before = 0, all = 0;

		for (size_t k = 1; k < marks->count; k++)
			if (strcmp(marks->rows[k].name, marks->rows[i].name) == 0) {
				all++;
				before += k <= i;
			}
		marks->rows[i].number = all > 1 ? before : 0;
	}
}

void marks_deinit(struct marks *marks)
{
	rows_free(marks->rows, marks->count, name);
}
