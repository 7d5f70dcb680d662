/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes.c: see sizes.h.
 *
 * A block is counted when it ends, at the latest with the recording: its size is final then, and
 * its lifetime known. Nearly all blocks have up to SMALL bytes, and find their class by one look-up
 * in a table that is filled as sizes come.
 */
#define _GNU_SOURCE
#include "sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/text.h"

enum { SMALL = 8192, SMALL_STEP = 4 }; /* no class of any allocator ends between two multiples of
                                        * SMALL_STEP */

struct sizes_count {
	struct groups types, sites;
	struct size_classes allocators;
	struct sizes_row *by_type, *by_site; /* one for each group */
	VEC(struct sizes_row) classes;
	struct hash_table index;				 /* index of the classes */
	uint32_t small[SIZE_ALLOCATORS][SMALL / SMALL_STEP + 1]; /* index of a class + 1 */
	struct sizes_octave octaves[SIZES_OCTAVES];
	struct { double count, x, y, xx, yy, xy; } logs; /* sums over ended blocks; x: ln(size), y:
							  * ln(lifetime) */
	double log_of[SMALL + 1];
	uint64_t aligned;
};

/* ---- classes ---- */

static struct sizes_row *class_slow(struct sizes_count *c, enum size_allocator allocator,
				    const struct size_room *room)
{
	uint64_t hash = hash_keys(room->slot, (uint64_t)allocator << 1 | room->mapped);
	uint32_t at = hash_table_find(&c->index, hash, i,
				      c->classes.at[i].slot == room->slot &&
					      c->classes.at[i].allocator == allocator &&
					      c->classes.at[i].mapped == room->mapped);

	if (at == HASH_NONE) {
		at = (uint32_t)c->classes.count;
		*vec_push(&c->classes) = (struct sizes_row){ .slot = room->slot,
							     .usable = room->usable,
							     .allocator = allocator,
							     .mapped = room->mapped };
		hash_table_add(&c->index, hash, at);
	}
	return &c->classes.at[at];
}

/* Returns the block's class; *room: its room. */
static struct sizes_row *class_of(struct sizes_count *c, enum size_allocator allocator,
				  const struct life *life, struct size_room *room)
{
	uint64_t size = life->size;
	struct sizes_row *row;
	uint32_t *small;

	if (size > SMALL || allocator == SIZE_UNKNOWN) {
		*room = size_room(allocator, size, life->address);
		row = class_slow(c, allocator, room);
		if (row->usable != room->usable) /* sizes of one slot have different usable bytes */
			row->usable = 0;
		return row;
	}
	small = &c->small[allocator][(size + SMALL_STEP - 1) / SMALL_STEP];
	if (!*small) {
		*room = size_room(allocator, size, life->address);
		*small = (uint32_t)(class_slow(c, allocator, room) - c->classes.at) + 1;
	}
	row = &c->classes.at[*small - 1];
	*room = (struct size_room){ row->slot, row->usable, row->mapped };
	return row;
}

/* ---- counting ---- */

static unsigned octave_of(uint64_t size)
{
	return size <= 8 ? 0 : 61 - (unsigned)__builtin_clzll(size - 1);
}

static void add_born(struct size_sums *sums, uint64_t size, uint64_t blocks,
		     const struct size_room *room)
{
	sums->blocks += blocks;
	sums->bytes += size * blocks;
	sums->usable += room->usable * blocks;
	sums->slots += room->slot * blocks;
}

static void add_live(struct size_sums *sums, uint64_t size, uint64_t blocks,
		     const struct size_room *room)
{
	sums->live += blocks;
	sums->live_bytes += size * blocks;
	sums->live_usable += room->usable * blocks;
	sums->live_slots += room->slot * blocks;
}

static void correlate(struct sizes_count *c, uint64_t size, double blocks, double y)
{
	double x = size <= SMALL ? c->log_of[size] : log((double)size);

	c->logs.count += blocks;
	c->logs.x += x * blocks;
	c->logs.y += y * blocks;
	c->logs.xx += x * x * blocks;
	c->logs.yy += y * y * blocks;
	c->logs.xy += x * y * blocks;
}

static double correlation(const struct sizes_count *c)
{
	double n = c->logs.count, xx = n * c->logs.xx - c->logs.x * c->logs.x,
	       yy = n * c->logs.yy - c->logs.y * c->logs.y;
	double least = 1e-9 * n * n; /* below it n * variance is a rounding error */

	return xx > least && yy > least ? (n * c->logs.xy - c->logs.x * c->logs.y) / sqrt(xx * yy)
					: NAN;
}

static void count_death(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	struct sizes_count *c = context;
	enum size_allocator allocator = size_allocator_of(&c->allocators, process->id, life->api);
	struct size_room room;
	struct sizes_row *const rows[] = {
		class_of(c, allocator, life, &room),
		&c->by_type[groups_find(&c->types, process, life)],
		&c->by_site[groups_find(&c->sites, process, life)],
	};
	struct sizes_octave *octave = &c->octaves[octave_of(life->size)];
	bool persistent = death->end == LIFE_NEVER,
	     live = persistent && !process->early && !life->inherited;
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0;
	double log_age = persistent || age < 2 ? 0 : log((double)age);
	uint64_t blocks = replay_weight(process, life);

	if (!life->inherited) {
		for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			struct sizes_row *row = rows[i];

			if (!row->sums.blocks || life->size < row->least)
				row->least = life->size;
			if (life->size > row->most)
				row->most = life->size;
			add_born(&row->sums, life->size, blocks, &room);
			row->persistent += persistent ? blocks : 0;
			row->ended += persistent ? 0 : blocks;
			row->log_sum += log_age * (double)blocks;
		}
		add_born(&octave->sums, life->size, blocks, &room);
		distribution_add(&octave->ages, age, blocks, persistent);
		if (!persistent)
			correlate(c, life->size, (double)blocks, log_age);
		c->aligned += (life->api == SHINY_API_MEMALIGN ||
			       life->api == SHINY_API_NEW_ALIGNED ||
			       life->api == SHINY_API_NEW_ARRAY_ALIGNED) *
			      blocks;
	}
	if (live) {
		for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			add_live(&rows[i]->sums, life->size, blocks, &room);
		add_live(&octave->sums, life->size, blocks, &room);
	}
}

/* Adds the bytes that an object gives back in place, as they were requested, too; its end adds its
 * last size. */
static void count_resize(void *context, const struct replay_process *process,
			 const struct life *life, uint64_t before)
{
	struct sizes_count *c = context;
	enum size_allocator allocator = size_allocator_of(&c->allocators, process->id, life->api);
	struct life larger = *life;
	struct size_room had, has;
	struct size_sums *sums[4];

	if (life->inherited || before <= life->size)
		return;
	larger.size = before;
	class_of(c, allocator, &larger, &had);
	sums[0] = &class_of(c, allocator, life, &has)->sums;
	sums[1] = &c->by_type[groups_find(&c->types, process, life)].sums;
	sums[2] = &c->by_site[groups_find(&c->sites, process, life)].sums;
	sums[3] = &c->octaves[octave_of(life->size)].sums;
	for (unsigned i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		sums[i]->bytes += before - life->size;
		sums[i]->usable += had.usable - has.usable;
		sums[i]->slots += had.slot - has.slot;
	}
}

double sizes_geometric_mean(const struct sizes_row *row)
{
	return row->ended ? exp(row->log_sum / (double)row->ended) : 0;
}

/* ---- arranging ---- */

static void add_row(struct sizes_row *to, const struct sizes_row *row)
{
	if (row->sums.blocks && (!to->sums.blocks || row->least < to->least))
		to->least = row->least;
	if (row->most > to->most)
		to->most = row->most;
	to->sums.blocks += row->sums.blocks;
	to->sums.bytes += row->sums.bytes;
	to->sums.usable += row->sums.usable;
	to->sums.slots += row->sums.slots;
	to->sums.live += row->sums.live;
	to->sums.live_bytes += row->sums.live_bytes;
	to->sums.live_usable += row->sums.live_usable;
	to->sums.live_slots += row->sums.live_slots;
	to->ended += row->ended;
	to->persistent += row->persistent;
	to->log_sum += row->log_sum;
}

static uint64_t value_of(const struct sizes_row *row, enum sizes_order order)
{
	switch (order) {
	case SIZES_BY_SLOP: return size_slop(&row->sums);
	case SIZES_BY_BLOCKS: return row->sums.blocks;
	case SIZES_BY_BYTES: return row->sums.bytes;
	default: return size_live_slop(&row->sums);
	}
}

static double mean_size(const struct sizes_row *row)
{
	return row->sums.blocks ? (double)row->sums.bytes / (double)row->sums.blocks
				: (double)row->sums.live_bytes / (double)row->sums.live;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct sizes_row *a = left, *b = right;
	enum sizes_order order = *(enum sizes_order *)context;
	uint64_t x = value_of(a, order), y = value_of(b, order);
	double p = mean_size(a), q = mean_size(b);

	if (order == SIZES_BY_SIZE && p != q)
		return p < q ? -1 : 1;
	if (order != SIZES_BY_SIZE && x != y)
		return x < y ? 1 : -1;
	x = size_slop(&a->sums);
	y = size_slop(&b->sums);
	return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

/* Keeps the rows that have blocks and match, sorted. Takes `rows`, whose names are set. */
static void arrange(struct sizes_rows *out, struct sizes_row *rows, size_t count, const char *match,
		    enum sizes_order order)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if ((!rows[i].sums.blocks && !rows[i].sums.live) ||
		    (match && !text_matches(match, rows[i].name)))
			free(rows[i].name);
		else
			rows[kept++] = rows[i];
	}
	if (kept)
		qsort_r(rows, kept, sizeof(*rows), compare, &order);
	*out = (struct sizes_rows){ rows, kept };
}

static void take_names(const struct groups *groups, struct sizes_row *rows)
{
	for (size_t i = 0; i < groups->count; i++) {
		rows[i].name = mem_text(groups->names[i]);
	}
	rows[0].unknown = true;
}

static void finish(struct sizes *out, struct sizes_count *c, const char *match,
		   enum sizes_order order)
{
	memcpy(out->octaves, c->octaves, sizeof(out->octaves));
	memset(c->octaves, 0, sizeof(c->octaves));
	for (unsigned i = 0; i < SIZES_OCTAVES; i++)
		out->octaves[i].up_to = UINT64_C(8) << i;
	for (size_t i = 0; i < c->classes.count; i++) {
		struct sizes_row *row = &c->classes.at[i];

		row->is_class = true;
		row->name =
			mem_format("%s %llu%s", size_allocator_names[row->allocator],
				   (unsigned long long)row->slot, row->mapped ? ", mapped" : "");
		add_row(&out->total, row);
		add_row(&out->allocators[row->allocator], row);
	}
	for (unsigned i = 0; i < SIZE_ALLOCATORS; i++)
		out->allocators[i].name = mem_text(size_allocator_names[i]);
	out->aligned = c->aligned;
	out->correlation = correlation(c);
	take_names(&c->types, c->by_type);
	take_names(&c->sites, c->by_site);
	arrange(&out->classes, c->classes.at, c->classes.count, NULL, order);
	arrange(&out->types, c->by_type, c->types.count, match, order);
	arrange(&out->sites, c->by_site, c->sites.count, match, order);
	c->classes.at = c->by_type = c->by_site = NULL;
	out->smallest_count = sizes_extremes(out, false, SIZES_EXTREMES, out->smallest);
	out->largest_count = sizes_extremes(out, true, SIZES_EXTREMES, out->largest);
}

static void counting_free(struct sizes_count *c)
{
	groups_deinit(&c->types);
	groups_deinit(&c->sites);
	size_classes_deinit(&c->allocators);
	for (unsigned i = 0; i < SIZES_OCTAVES; i++)
		distribution_deinit(&c->octaves[i].ages);
	free(c->by_type);
	free(c->by_site);
	free(c->classes.at);
	hash_table_deinit(&c->index);
	free(c);
}

struct shiny_err *sizes_load(struct store *store, const struct filter *filter, const char *match,
			     enum sizes_order order, bool full_names, bool progress,
			     struct sizes *out)
{
	struct sizes_count *c = mem_zero(1, sizeof(*c));
	struct replay_observer observer = { .context = c,
					    .death = count_death,
					    .resize = count_resize };
	struct sizes sizes = { 0 };
	struct shiny_err *err = session_duration(store, &sizes.duration);

	for (unsigned i = 2; i <= SMALL; i++)
		c->log_of[i] = log(i);
	if (!err)
		err = size_classes_load(store, &c->allocators);
	if (!err)
		err = groups_load(store, GROUP_TYPE, full_names, &c->types);
	if (!err)
		err = groups_load(store, GROUP_SITE, full_names, &c->sites);
	if (!err) {
		c->by_type = mem_zero(c->types.count, sizeof(*c->by_type));
		c->by_site = mem_zero(c->sites.count, sizeof(*c->by_site));
		err = replay_run(store, filter, &observer, 1,
				 progress ? "measuring every block" : NULL);
	}
	if (!err) {
		finish(&sizes, c, match, order);
		*out = sizes;
	}
	counting_free(c);
	return err;
}

static void group_free(struct sizes_rows *rows)
{
	rows_free(rows->rows, rows->count, name);
}

void sizes_deinit(struct sizes *s)
{
	group_free(&s->classes);
	group_free(&s->types);
	group_free(&s->sites);
	for (unsigned i = 0; i < SIZE_ALLOCATORS; i++)
		free(s->allocators[i].name);
	for (unsigned i = 0; i < SIZES_OCTAVES; i++)
		distribution_deinit(&s->octaves[i].ages);
	*s = (struct sizes){ 0 };
}

size_t sizes_extremes(const struct sizes *sizes, bool largest, size_t room,
		      const struct sizes_row **out)
{
	const struct size_sums *all = &sizes->total.sums;
	size_t count = 0;

	for (size_t i = 0; i < sizes->types.count; i++) {
		const struct sizes_row *row = &sizes->types.rows[i];

		if (row->unknown || !row->sums.blocks ||
		    (row->sums.blocks * SIZES_NOTABLE < all->blocks &&
		     row->sums.bytes * SIZES_NOTABLE < all->bytes))
			continue;
		for (size_t k = 0; k < room; k++) { /* insertion sort, the most extreme first */
			const struct sizes_row *moved;

			if (k < count && (largest ? mean_size(out[k]) >= mean_size(row)
						  : mean_size(out[k]) <= mean_size(row)))
				continue;
			moved = k < count ? out[k] : NULL;
			out[k] = row;
			if (!moved) {
				count = k + 1;
				break;
			}
			row = moved;
		}
	}
	return count;
}
