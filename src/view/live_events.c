/* SPDX-License-Identifier: Apache-2.0 */
#include "live_events.h"

#include <stdlib.h>

#include "../analysis/replay/process_ends.h"
#include "../base/mem.h"

struct live_stream {
	live_event_fn *each;
	void *context;
	struct process_ends ends;
	bool *ended; /* process id - 1 → it has ended; NULL: not begun */
};

static void begin_stream(struct live_stream *s, const struct replay *replay)
{
	if (s->ended)
		return;
	s->ended = mem_zero(replay->process_count + 1, sizeof(*s->ended));
	process_ends_init(&s->ends, replay);
}

static void tell(struct live_stream *s, enum live_kind kind, const struct replay_process *p,
		 const struct life *life, uint64_t time, uint64_t before, uint32_t freed_by)
{
	uint64_t blocks = replay_weight(p, life);

	s->each(s->context,
		&(struct live_event){ .kind = kind,
				      .time = time,
				      .told = time > p->replay->now ? time : p->replay->now,
				      .size = life->size * blocks,
				      .blocks = (uint32_t)blocks,
				      .before = before,
				      .life = life,
				      .freed_by = freed_by,
				      .process = p->id,
				      .type = replay_type(p, life) });
}

static void live_events_on_birth(void *context, const struct replay_process *p,
				 const struct life *life)
{
	struct live_stream *s = context;

	begin_stream(s, p->replay);
	tell(s, LIVE_BEGINS, p, life, life->birth, 0, 0);
	if (s->ended[p->id - 1])
		tell(s, LIVE_GONE, p, life, life->birth, 0, 0);
}

static void live_events_on_death(void *context, const struct replay_process *p,
				 const struct life *life, const struct life_death *death)
{
	struct live_stream *s = context;

	begin_stream(s, p->replay);
	if (life->inherited || s->ended[p->id - 1])
		return;
	tell(s,
	     death->end != LIFE_NEVER ? LIVE_ENDS
	     : p->early		      ? LIVE_GONE
				      : LIVE_REMAINS,
	     p, life, death->time, 0, death->stack);
}

static void live_events_on_resize(void *context, const struct replay_process *p,
				  const struct life *life, uint64_t before)
{
	struct live_stream *s = context;

	begin_stream(s, p->replay);
	if (!life->inherited && !s->ended[p->id - 1])
		tell(s, LIVE_RESIZED, p, life, p->replay->now, before, 0);
}

static void on_vtable(void *context, const struct replay_process *p, const struct life *life,
		      uint32_t before)
{
	struct live_stream *s = context;
	uint32_t type = replay_find_type(p, life->stack, before);

	begin_stream(s, p->replay);
	if (!life->inherited && !s->ended[p->id - 1] && type != replay_type(p, life))
		tell(s, LIVE_TYPED, p, life, p->replay->now, type, 0);
}

static uint64_t live_events_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct live_stream *s = context;
	const struct replay_process *p;

	begin_stream(s, replay);
	while ((p = process_ends_take(&s->ends, replay, moment))) {
		replay_each(p, life) if (!life->inherited)
			tell(s, LIVE_GONE, p, life, p->end, 0, 0);
		s->ended[p->id - 1] = true;
	}
	return process_ends_time(&s->ends, replay);
}

struct shiny_err *live_events_each(struct store *store, const struct filter *filter,
				   const char *title, const struct replay_rows *by_place,
				   live_event_fn *each, void *context)
{
	struct live_stream stream = { .each = each, .context = context };
	struct replay_observer observer = { .context = &stream,
					    .birth = live_events_on_birth,
					    .death = live_events_on_death,
					    .resize = live_events_on_resize,
					    .vtable = on_vtable,
					    .moment = live_events_on_moment,
					    .by_place = by_place };
	struct shiny_err *err = replay_run(store, filter, &observer, 1, title);

	process_ends_deinit(&stream.ends);
	free(stream.ended);
	return err;
}
