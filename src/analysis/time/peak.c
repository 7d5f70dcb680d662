/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.c: see peak.h.
 *
 * A moment is known to be the highest when bytes have fallen well below it; until then it may be
 * exceeded at any time. So its live blocks are not copied (there may be a million such moments),
 * but counted when they end: a block lived at the moment if it had been born by then. To be exact
 * also for events of the same nanosecond and late ones, a moment has the number of births so far of
 * each process.
 *
 * A moment is *settled*, that is, these numbers are stored, just before the live blocks change
 * after it. While bytes only rise, the highest moment moves with every block and costs nothing.
 * When a settled one is exceeded, its counts are void: `round` grows by one, and cells of an
 * earlier round are empty. While bytes rise that happens all the time: so ends are first listed,
 * and counted when there are many, or when the moment stays.
 */
#define _GNU_SOURCE
#include "peak.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../replay/process_ends.h"
#include "../totals/process_names.h"

struct peak_cell {	       /* the counts of a group at a moment */
	uint32_t group, round; /* round: not the moment's: the cell is empty */
	struct estimated there;
	uint64_t soon_blocks, soon_bytes;
};
struct peak_end { /* an end of a block that lived at the moment */
	struct group_key key;
	uint32_t tag;
	uint64_t size, blocks; /* size: bytes of each */
	bool soon; /* it ends within `soon` ns */
};
enum { PEAK_ENDS = 256 };
struct moment {
	struct peak_end *ends; /* not counted yet; NULL: never any */
	size_t end_count;
	uint64_t time, newest; /* ns; newest: blocks born later by their clock did not live at it */
	uint64_t blocks, bytes;
	uint64_t order;        /* number of its settling; 0: not settled */
	uint64_t *births;      /* process id - 1 → births so far; undefined if it did not run
			        * then */
	uint64_t own_births;   /* the same for a process's own moment */
	uint32_t round;
	struct peak_cell *cells; /* open addressing; a power of two, or none */
	size_t room, used;     /* used: cells of this round */
};

struct account { /* the state of a process */
	uint64_t blocks, bytes; /* live */
	uint64_t ended;         /* `order` of its end; UINT64_MAX: it runs */
	bool seen;
	struct moment highest;
};
struct peak_tracker {
	const struct groups *groups;
	bool highest_only; /* find only the session's highest: no marks, none of processes */
	struct account *accounts; /* by process id - 1; NULL: not begun */
	uint32_t *running;        /* ids of processes seen that have not ended */
	size_t process_count, running_count;
	struct process_ends ends;
	uint64_t blocks, bytes;   /* live, in all processes */
	uint64_t order, clock;    /* order: number of changes; clock: the highest time so far */
	uint64_t soon, duration;
	struct moment marks[PEAK_MARKS], rising; /* rising: highest since a valley */
	size_t mark_count;
	uint64_t newest;          /* the latest of marks[].newest */
	bool falling;             /* after a peak and before its valley: `rising` is void */
	uint64_t lowest;          /* bytes; the lowest while falling */
};

/* ---- moments ---- */

static struct peak_cell *cell_of(const struct moment *m, uint32_t group)
{
	size_t i = hash_mix(group) & (m->room - 1);

	while (m->cells[i].round == m->round && m->cells[i].group != group)
		i = (i + 1) & (m->room - 1);
	return &m->cells[i];
}

static struct peak_cell *cell_get(struct moment *m, uint32_t group)
{
	struct peak_cell *cell;

	if ((m->used + 1) * 2 > m->room) {
		struct moment larger = *m;

		larger.room = m->room ? m->room * 2 : 16;
		larger.cells = mem_zero(larger.room, sizeof(*larger.cells));
		for (size_t i = 0; i < m->room; i++)
			if (m->cells[i].round == m->round)
				*cell_of(&larger, m->cells[i].group) = m->cells[i];
		free(m->cells);
		*m = larger;
	}
	cell = cell_of(m, group);
	if (cell->round != m->round) {
		*cell = (struct peak_cell){ .group = group, .round = m->round };
		m->used++;
	}
	return cell;
}

/* Moves the moment to now, with no ends after it. */
static void move(struct moment *m, uint64_t time, uint64_t blocks, uint64_t bytes)
{
	m->time = time;
	m->blocks = blocks;
	m->bytes = bytes;
	if (m->order || !m->round) {
		m->order = 0;
		m->used = 0;
		m->end_count = 0;
		if (!++m->round) { /* once in 2^32 */
			memset(m->cells, 0, m->room * sizeof(*m->cells));
			m->round = 1;
		}
	}
}

/* Settles moments. `unborn`: number of births of process `p` that are under way and do not belong
 * to them. */
static void settle(struct peak_tracker *w, const struct replay_process *p, unsigned unborn)
{
	struct moment *own = &w->accounts[p->id - 1].highest, *m = &w->rising;

	if (own->round && !own->order) {
		own->order = w->order;
		own->newest = w->clock;
		own->own_births = p->births - unborn;
	}
	if (w->falling || !m->round || m->order)
		return;
	m->order = w->order;
	m->newest = w->clock;
	if (!m->births)
		m->births = mem_zero(w->process_count, sizeof(*m->births));
	for (size_t i = 0; i < w->running_count; i++)
		m->births[w->running[i] - 1] = p->replay->processes[w->running[i] - 1].births;
	m->births[p->id - 1] -= unborn;
}

static bool was_born(uint64_t births, const struct life *life)
{
	return life->number <= births;
}

static bool lived_at(const struct peak_tracker *w, const struct moment *m, uint32_t process,
		     const struct life *life)
{
	return m->order && w->accounts[process - 1].ended > m->order &&
	       was_born(m->births[process - 1], life);
}

/* Counts the listed ends. Prefetches groups and cells, which are mostly in no cache. */
static void count_ends(const struct peak_tracker *w, struct moment *m)
{
	enum { AHEAD = 8 };
	uint32_t of[PEAK_ENDS];

	for (size_t i = 0; i < m->end_count; i++) {
		if (i + AHEAD < m->end_count)
			groups_expect(w->groups, &m->ends[i + AHEAD].key);
		of[i] = groups_find_key(w->groups, &m->ends[i].key, m->ends[i].tag);
		if (m->room)
			__builtin_prefetch(&m->cells[hash_mix(of[i]) & (m->room - 1)], 1);
	}
	for (size_t i = 0; i < m->end_count; i++) {
		struct peak_cell *cell = cell_get(m, of[i]);

		const struct peak_end *end = &m->ends[i];

		estimated_add(&cell->there, end->size, end->blocks);
		cell->soon_blocks += end->soon ? end->blocks : 0;
		cell->soon_bytes += end->soon ? end->size * end->blocks : 0;
	}
	m->end_count = 0;
}

/* Adds an end; or if `correct` is not 0, the bytes that a live object has lost since the moment. */
static void put_end(const struct peak_tracker *w, struct moment *m, const struct peak_end *end,
		    uint64_t correct)
{
	if (correct) {
		cell_get(m, groups_find_key(w->groups, &end->key, end->tag))
			->there.bytes += correct;
		return;
	}
	if (!m->ends)
		m->ends = mem_zero(PEAK_ENDS, sizeof(*m->ends));
	if (m->end_count == PEAK_ENDS)
		count_ends(w, m);
	m->ends[m->end_count++] = *end;
}

/* ---- the session's peaks ---- */

static void confirm(struct peak_tracker *w)
{
	struct moment *place = &w->marks[0], freed;

	if (w->mark_count < PEAK_MARKS) {
		place = &w->marks[w->mark_count++];
	} else {
		for (size_t i = 1; i < PEAK_MARKS; i++)
			if (w->marks[i].bytes < place->bytes)
				place = &w->marks[i];
		if (place->bytes >= w->rising.bytes)
			return;
	}
	freed = *place;
	*place = w->rising;
	w->rising = freed; /* keeps its tables; move() empties them */
	if (place->newest > w->newest)
		w->newest = place->newest;
}

/* Updates the live bytes of the session and of `account`. */
static void look(struct peak_tracker *w, struct account *account, uint64_t time)
{
	struct moment *m = &w->rising;

	if (!w->highest_only &&
	    account->bytes > (account->highest.round ? account->highest.bytes : 0))
		move(&account->highest, time, account->blocks, account->bytes);
	if (w->falling) {
		if (w->bytes < w->lowest)
			w->lowest = w->bytes;
		if ((double)w->lowest >= (1 - PEAK_FALL) * (double)w->bytes)
			return;
		w->falling = false;
		m->order = 1; /* its counts are void */
		move(m, time, w->blocks, w->bytes);
	} else if (w->bytes > (m->round ? m->bytes : 0)) {
		move(m, time, w->blocks, w->bytes);
	} else if (!w->highest_only && m->round &&
		   (double)w->bytes < (1 - PEAK_FALL) * (double)m->bytes) {
		confirm(w);
		w->falling = true;
		w->lowest = w->bytes;
	}
}

/* ---- lives ---- */

static void begin(struct peak_tracker *w, const struct replay *replay)
{
	if (w->accounts)
		return;
	w->process_count = replay->process_count;
	w->accounts = mem_zero(replay->process_count + 1, sizeof(*w->accounts));
	w->running = mem_zero(replay->process_count + 1, sizeof(*w->running));
	process_ends_init(&w->ends, replay);
}

static struct account *account_of(struct peak_tracker *w, const struct replay_process *p)
{
	struct account *a;

	begin(w, p->replay);
	a = &w->accounts[p->id - 1];
	if (!a->seen) {
		a->seen = true;
		a->ended = UINT64_MAX;
		w->running[w->running_count++] = p->id;
	}
	return a;
}

static void now(struct peak_tracker *w, uint64_t time)
{
	w->order++;
	if (time > w->clock)
		w->clock = time;
}

static void peak_on_birth(void *context, const struct replay_process *p, const struct life *life)
{
	struct peak_tracker *w = context;
	struct account *a = account_of(w, p);
	uint64_t blocks = replay_weight(p, life);

	now(w, life->birth);
	if (a->ended != UINT64_MAX)
		return;
	if (!life->size)
		settle(w, p, 1);
	a->blocks += blocks;
	a->bytes += life->size * blocks;
	w->blocks += blocks;
	w->bytes += life->size * blocks;
	look(w, a, life->birth);
}

static bool is_soon(const struct peak_tracker *w, const struct moment *m,
		    const struct life_death *death)
{
	if (!death || (death->end == LIFE_NEVER && m->time + w->soon > w->duration))
		return false;
	return death->time <= m->time + w->soon;
}

/* Counts the block for each moment at which it lived; `death` NULL: it lives on. */
static void count_all(struct peak_tracker *w, const struct replay_process *p,
		      const struct life *life, const struct life_death *death, uint64_t correct)
{
	struct moment *own = &w->accounts[p->id - 1].highest, *of[PEAK_MARKS + 2];
	struct peak_end end = { .tag = life->tag,
				.blocks = replay_weight(p, life),
				.size = life->size };
	size_t count = 0;

	for (size_t i = 0; life->birth <= w->newest && i < w->mark_count; i++)
		if (lived_at(w, &w->marks[i], p->id, life))
			of[count++] = &w->marks[i];
	if (!w->falling && life->birth <= w->rising.newest && lived_at(w, &w->rising, p->id, life))
		of[count++] = &w->rising;
	if (own->order && life->birth <= own->newest && was_born(own->own_births, life))
		of[count++] = own;
	if (count)
		end.key = groups_key(w->groups, p, life);
	for (size_t i = 0; i < count; i++) {
		end.soon = is_soon(w, of[i], death);
		put_end(w, of[i], &end, correct);
	}
}

static void peak_on_death(void *context, const struct replay_process *p, const struct life *life,
			  const struct life_death *death)
{
	struct peak_tracker *w = context;
	struct account *a = account_of(w, p);
	bool goes_on = death->next && death->next->address && !death->next->outside;
	uint64_t blocks = replay_weight(p, life);

	if (life->inherited)
		return;
	now(w, death->time);
	settle(w, p, death->next != NULL);
	count_all(w, p, life, death, 0);
	if (death->end == LIFE_NEVER || a->ended != UINT64_MAX)
		return;
	a->blocks -= blocks;
	a->bytes -= life->size * blocks;
	w->blocks -= blocks;
	w->bytes -= life->size * blocks;
	if (!goes_on) /* else its new block's birth follows, and both are one change */
		look(w, a, death->time);
}

static void peak_on_resize(void *context, const struct replay_process *p, const struct life *life,
			   uint64_t before)
{
	struct peak_tracker *w = context;
	struct account *a = account_of(w, p);

	if (before == life->size || life->inherited)
		return;
	now(w, w->clock);
	settle(w, p, 0);
	count_all(w, p, life, NULL, before - life->size);
	if (a->ended != UINT64_MAX)
		return;
	a->bytes += life->size - before;
	w->bytes += life->size - before;
	look(w, a, w->clock);
}

static uint64_t peak_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct peak_tracker *w = context;
	const struct replay_process *p;

	begin(w, replay);
	while ((p = process_ends_take(&w->ends, replay, moment))) {
		struct account *a = account_of(w, p);

		now(w, p->end);
		settle(w, p, 0);
		a->ended = ++w->order;
		for (size_t i = 0; i < w->running_count; i++)
			if (w->running[i] == p->id) {
				w->running[i] = w->running[--w->running_count];
				break;
			}
		w->blocks -= a->blocks;
		w->bytes -= a->bytes;
		a->blocks = a->bytes = 0;
		look(w, a, p->end);
	}
	return process_ends_time(&w->ends, replay);
}

/* ---- rows ---- */

static int by_bytes(const void *left, const void *right)
{
	const struct peak_row *a = left, *b = right;

	if (a->there.bytes != b->there.bytes)
		return a->there.bytes < b->there.bytes ? 1 : -1;
	return a->name && b->name ? strcmp(a->name, b->name)
				  : (a->group > b->group) - (a->group < b->group);
}

/*
 * A size that changed after the peak is corrected in the object's row. If its type became known in
 * between, that row can fall below zero: sets it to 0, and subtracts the rest from other rows, so
 * that the sum stays exact.
 */
static void balance(struct peak *peak)
{
	uint64_t debt = 0;

	for (size_t i = 0; i < peak->count; i++)
		if ((int64_t)peak->rows[i].there.bytes < 0) {
			debt -= peak->rows[i].there.bytes;
			peak->rows[i].there.bytes = 0;
		}
	for (size_t i = 0; debt && i < peak->count; i++) {
		uint64_t part = peak->rows[i].there.bytes < debt ? peak->rows[i].there.bytes : debt;

		peak->rows[i].there.bytes -= part;
		debt -= part;
	}
}

static void take(const struct moment *m, const struct groups *groups, struct peak *peak)
{
	*peak = (struct peak){ .time = m->time,
				 .there = { .blocks = m->blocks, .bytes = m->bytes },
				 .rows = mem_zero(m->used + 1, sizeof(*peak->rows)) };
	for (size_t i = 0; i < m->room; i++) {
		const struct peak_cell *cell = &m->cells[i];

		if (cell->round == m->round && (cell->there.blocks || cell->there.bytes))
			peak->rows[peak->count++] =
				(struct peak_row){
					.group = cell->group,
					.name = groups->names ? groups->names[cell->group] : NULL,
					.there = cell->there,
					.soon_blocks = cell->soon_blocks,
					.soon_bytes = cell->soon_bytes };
	}
	balance(peak);
	for (size_t i = 0; i < peak->count; i++) {
		struct peak_row *row = &peak->rows[i];

		if (row->soon_bytes > row->there.bytes)
			row->soon_bytes = row->there.bytes;
		/* the rows add up to the peak */
		peak->there.blocks_variance += row->there.blocks_variance;
		peak->there.bytes_variance += row->there.bytes_variance;
		peak->soon_blocks += row->soon_blocks;
		peak->soon_bytes += row->soon_bytes;
	}
	if (peak->count)
		qsort(peak->rows, peak->count, sizeof(*peak->rows), by_bytes);
}

ORDER_BY(by_time, struct moment, ORDER_UP(order))
ORDER_BY(by_process_bytes, struct peak, ORDER_DOWN(there.bytes) ?: ORDER_UP(process))

static void arrange(struct peak_tracker *w, struct process_names *names, struct peaks *out)
{
	struct moment all[PEAK_MARKS + 1];
	size_t count = w->mark_count;

	for (size_t i = 0; i < count; i++)
		count_ends(w, &w->marks[i]);
	count_ends(w, &w->rising);
	memcpy(all, w->marks, count * sizeof(*all));
	if (!w->falling && w->rising.round)
		all[count++] = w->rising;
	qsort(all, count, sizeof(*all), by_time);
	for (size_t i = 0; i < count; i++)
		out->most = all[i].bytes > out->most ? all[i].bytes : out->most;
	out->peaks = mem_zero(count + 1, sizeof(*out->peaks));
	for (size_t i = 0; i < count; i++) {
		if ((double)all[i].bytes < PEAK_SHARE * (double)out->most)
			continue;
		take(&all[i], w->groups, &out->peaks[out->count++]);
		out->peaks[out->count - 1].number = out->count;
		if (out->peaks[out->count - 1].there.bytes > out->peaks[out->highest].there.bytes)
			out->highest = out->count - 1;
	}
	out->peaks[out->highest].highest = true;
	out->processes = mem_zero(w->process_count + 1, sizeof(*out->processes));
	for (size_t i = 0; i < w->process_count; i++) {
		struct peak *peak = &out->processes[out->process_count];

		if (!w->accounts[i].highest.round)
			continue;
		count_ends(w, &w->accounts[i].highest);
		take(&w->accounts[i].highest, w->groups, peak);
		peak->process = (uint32_t)i + 1;
		peak->pid = i + 1 < names->count ? names->of[i + 1].pid : 0;
		peak->process_name = process_names_take(names, (uint32_t)i + 1);
		out->process_count++;
	}
	if (out->process_count)
		qsort(out->processes, out->process_count, sizeof(*out->processes),
		      by_process_bytes);
}

/* ---- loading ---- */

static void moment_deinit(struct moment *m)
{
	free(m->ends);
	free(m->births);
	free(m->cells);
}

static void peak_tracker_deinit(struct peak_tracker *w)
{
	for (size_t i = 0; i < PEAK_MARKS; i++)
		moment_deinit(&w->marks[i]);
	moment_deinit(&w->rising);
	for (size_t i = 0; w->accounts && i < w->process_count; i++)
		moment_deinit(&w->accounts[i].highest);
	free(w->accounts);
	free(w->running);
	process_ends_deinit(&w->ends);
}

static struct shiny_err *load(struct store *store, const struct filter *filter,
			      struct groups *groups, uint64_t soon, bool highest_only,
			      bool progress, struct peaks *out)
{
	SHINY_CLEANUP(peak_deinit) struct peaks peaks = { .groups = *groups };
	struct peak_tracker w = { .groups = &peaks.groups, .highest_only = highest_only };
	struct replay_observer observer = { .context = &w,
					    .birth = peak_on_birth,
					    .death = peak_on_death,
					    .resize = peak_on_resize,
					    .moment = peak_on_moment };
	struct process_names names = { 0 };
	struct shiny_err *err = session_duration(store, &peaks.duration);

	*groups = (struct groups){ 0 };
	peaks.soon = soon ? soon : (uint64_t)((double)peaks.duration * PEAK_SOON);
	w.soon = peaks.soon;
	w.duration = peaks.duration;
	if (!err)
		err = process_names_load(store, &names);
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 progress ? "looking for peaks" : NULL);
	if (!err)
		arrange(&w, &names, &peaks);
	process_names_deinit(&names);
	peak_tracker_deinit(&w);
	if (err)
		return err;
	*out = shiny_steal(peaks);
	return NULL;
}

struct shiny_err *peak_load(struct store *store, const struct filter *filter, struct groups *groups,
			    uint64_t soon, bool progress, struct peaks *out)
{
	return load(store, filter, groups, soon, false, progress, out);
}

struct shiny_err *peak_load_highest(struct store *store, const struct filter *filter,
				    struct groups *groups, bool progress, struct peaks *out)
{
	return load(store, filter, groups, 0, true, progress, out);
}

void peak_deinit(struct peaks *peaks)
{
	for (size_t i = 0; i < peaks->count; i++)
		free(peaks->peaks[i].rows);
	for (size_t i = 0; i < peaks->process_count; i++) {
		free(peaks->processes[i].rows);
		free(peaks->processes[i].process_name);
	}
	free(peaks->peaks);
	free(peaks->processes);
	groups_deinit(&peaks->groups);
	*peaks = (struct peaks){ 0 };
}
