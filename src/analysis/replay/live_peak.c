/* SPDX-License-Identifier: Apache-2.0 */
#include "live_peak.h"

#include <stdlib.h>

#include "../../base/mem.h"

/* Changes a process's live blocks and bytes; differences wrap, so they may be negative. */
static void change(struct live_peak *k, const struct replay_process *p, uint64_t blocks,
		   uint64_t bytes)
{
	if (!k->own) {
		k->own = mem_zero(p->replay->process_count + 1, sizeof(*k->own));
		k->left = mem_zero(p->replay->process_count + 1, sizeof(*k->left));
	}
	k->own[p->id - 1].blocks += blocks;
	k->own[p->id - 1].bytes += bytes;
	if (k->left[p->id - 1])
		return;
	k->now.blocks += blocks;
	k->now.bytes += bytes;
	if (k->now.bytes > k->most.bytes) {
		k->most = k->now;
		k->time = k->clock;
	}
}

static void live_peak_on_birth(void *context, const struct replay_process *p,
			       const struct life *life)
{
	struct live_peak *k = context;

	k->clock = life->birth;
	change(k, p, replay_weight(p, life), life->size * replay_weight(p, life));
}

static void live_peak_on_death(void *context, const struct replay_process *p,
			       const struct life *life, const struct life_death *death)
{
	struct live_peak *k = context;

	if (death->end == LIFE_NEVER || life->inherited)
		return;
	k->clock = death->time;
	change(k, p, -replay_weight(p, life), -life->size * replay_weight(p, life));
}

static void live_peak_on_resize(void *context, const struct replay_process *p,
				const struct life *life, uint64_t before)
{
	if (!life->inherited)
		change(context, p, 0, life->size - before);
}

static uint64_t live_peak_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct live_peak *k = context;
	const struct replay_process *p;

	if (!k->ends.order)
		process_ends_init(&k->ends, replay);
	while ((p = process_ends_take(&k->ends, replay, moment))) {
		if (!k->own)
			continue; /* no event yet */
		k->left[p->id - 1] = true;
		k->now.blocks -= k->own[p->id - 1].blocks;
		k->now.bytes -= k->own[p->id - 1].bytes;
	}
	return process_ends_time(&k->ends, replay);
}

struct replay_observer live_peak_observer(struct live_peak *peak)
{
	return (struct replay_observer){ .context = peak,
					 .birth = live_peak_on_birth,
					 .death = live_peak_on_death,
					 .resize = live_peak_on_resize,
					 .moment = live_peak_on_moment,
					 .untyped = true };
}

void live_peak_deinit(struct live_peak *peak)
{
	process_ends_deinit(&peak->ends);
	free(peak->own);
	free(peak->left);
}

struct shiny_err *live_peak_load(struct store *store, const struct filter *filter,
				 const char *title, uint64_t *bytes, uint64_t *time)
{
	SHINY_CLEANUP(live_peak_deinit) struct live_peak peak = { 0 };
	struct replay_observer observer = live_peak_observer(&peak);
	struct shiny_err *err = replay_run(store, filter, &observer, 1, title);

	*bytes = peak.most.bytes;
	*time = peak.time;
	return err;
}
