/* SPDX-License-Identifier: Apache-2.0 */
#include "page_count.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

enum page_change_kind { PAGE_BLOCK_ADD, PAGE_BLOCK_REMOVE, PAGE_SPACE_EMPTY, PAGE_SPACE_END };
struct page_change {
	uint64_t address, size; /* of a block; else 0 */
	uint32_t process, group;
	enum page_change_kind kind;
};

enum { GROUP_SHIFT = 4, GROUP_PAGES = 1 << GROUP_SHIFT, RANGE_GROUPS = RANGE_PAGES / GROUP_PAGES };

size_t page_counts_most = 1 << 18;

enum { WORD_BITS = 64, WORDS_LEAST = 64 };
/* Distance, in blocks, of the prefetch of a life, even if it no longer waits: a branch would be
 * mispredicted. */
enum { AHEAD = 64 };

struct page_group { /* a page with the first or last page of a block */
	uint16_t pages[GROUP_PAGES];
	uint8_t lines[GROUP_PAGES][PAGE_LINES]; /* blocks begin at least 8 bytes apart: 9 on a line,
						 * unless some overlap */
};
struct page_count_range {
	uint32_t blocks; /* blocks with their first or last byte here */
	struct page_group *groups[RANGE_GROUPS];
};

static struct page_count_range *range_at(struct page_count *space, uint64_t number)
{
	struct page_count_range *range = range_map_find(&space->map, number);

	if (!range) {
		range_map_afford(&space->map, 0, RANGE_MAP_BYTES + sizeof(*range));
		range = mem_zero(1, sizeof(*range));
		range_map_put(&space->map, number, range);
	}
	return range;
}

/* Counts a block more (step 1) or less (-1) on lines `first` to `last` of a page. */
static void count_lines(struct page_count *space, struct page_count_range *range, uint64_t page,
			unsigned first, unsigned last, int step)
{
	struct page_group **place = &range->groups[page % RANGE_PAGES >> GROUP_SHIFT],
			  *group = *place;
	unsigned in_group = page % GROUP_PAGES;
	uint8_t *lines;

	if (!group) {
		range_map_afford(&space->map, 0, sizeof(*group));
		group = *place = mem_zero(1, sizeof(*group));
	}
	lines = group->lines[in_group];
	if (step > 0) {
		space->pages += group->pages[in_group]++ == 0;
		for (unsigned i = first; i <= last; i++)
			space->lines += lines[i]++ == 0;
	} else {
		space->pages -= --group->pages[in_group] == 0;
		for (unsigned i = first; i <= last; i++)
			space->lines -= --lines[i] == 0;
	}
}

static void count_block(struct page_count *space, uint64_t address, uint64_t size, int step)
{
	uint64_t last = block_last(address, size), first_page = address >> PAGE_SHIFT,
		 last_page = last >> PAGE_SHIFT;
	uint64_t first_range = address >> RANGE_SHIFT, last_range = last >> RANGE_SHIFT;
	unsigned first_line = address >> LINE_SHIFT & (PAGE_LINES - 1),
		 last_line = last >> LINE_SHIFT & (PAGE_LINES - 1);
	struct page_count_range *range;

	if (!range_map_afford(&space->map, 0, 0))
		return;
	range = range_at(space, first_range);
	if (step > 0)
		space->ranges += range->blocks++ == 0;
	else
		space->ranges -= --range->blocks == 0;
	count_lines(space, range, first_page, first_line,
		    first_page == last_page ? last_line : PAGE_LINES - 1, step);
	if (first_page == last_page)
		return;
	if (first_range != last_range) {
		uint64_t between = last_range - first_range - 1;

		range = range_at(space, last_range);
		if (step > 0)
			space->ranges += between + (range->blocks++ == 0);
		else
			space->ranges -= between + (--range->blocks == 0);
	}
	count_lines(space, range, last_page, 0, last_line, step);
	if (step > 0) {
		space->pages += last_page - first_page - 1;
		space->lines += (last_page - first_page - 1) * PAGE_LINES;
	} else {
		space->pages -= last_page - first_page - 1;
		space->lines -= (last_page - first_page - 1) * PAGE_LINES;
	}
}

static struct page_count *space_of(struct page_counts *counts, uint32_t process)
{
	if (process > counts->count) {
		size_t more = process * 2;

		counts->spaces = mem_resize(counts->spaces, more, sizeof(*counts->spaces));
		memset(counts->spaces + counts->count, 0,
		       (more - counts->count) * sizeof(*counts->spaces));
		counts->count = more;
	}
	return &counts->spaces[process - 1];
}

/* Adds a space's counts to the totals; sign -1: subtracts them. */
static void sum_up(struct page_counts *counts, const struct page_count *space, uint64_t sign)
{
	counts->pages += sign * space->pages;
	counts->lines += sign * space->lines;
	counts->ranges += sign * space->ranges;
	counts->blocks += sign * space->blocks;
	counts->bytes += sign * space->bytes;
}

static void change(struct page_counts *counts, struct page_count *space,
		   const struct page_change *c, int step)
{
	sum_up(counts, space, -UINT64_C(1));
	count_block(space, c->address, c->size, step);
	space->blocks += (uint64_t)step;
	space->bytes += step > 0 ? c->size : -c->size;
	sum_up(counts, space, 1);
	if (c->group && live_groups_count(&space->groups, c->group, step))
		live_groups_count(&counts->groups, c->group, step);
}

static void empty_range(void *value)
{
	struct page_count_range *range = value;

	for (size_t i = 0; i < RANGE_GROUPS; i++)
		free(range->groups[i]);
}

static void empty(struct page_counts *counts, struct page_count *space)
{
	sum_up(counts, space, -UINT64_C(1));
	for (size_t i = 0; i < space->map.ranges.count; i++)
		empty_range(space->map.ranges.at[i].value);
	range_map_deinit(&space->map);
	live_groups_empty(&space->groups, &counts->groups);
	*space = (struct page_count){ 0 };
}

static void end(struct page_counts *counts, uint32_t process)
{
	if (process > counts->count)
		return;
	empty(counts, &counts->spaces[process - 1]);
	counts->spaces[process - 1].ended = true;
}

static void apply(void *context, const void *changes, size_t count)
{
	struct page_counts *counts = context;
	const struct page_change *first = changes;

	for (const struct page_change *c = first; c < first + count; c++) {
		struct page_count *space;

		if (c->kind == PAGE_SPACE_END) {
			end(counts, c->process);
			continue;
		}
		space = space_of(counts, c->process);
		if (space->ended)
			continue;
		if (c->kind == PAGE_SPACE_EMPTY)
			empty(counts, space);
		else
			change(counts, space, c, c->kind == PAGE_BLOCK_ADD ? 1 : -1);
	}
}

static void give(struct page_counts *counts, struct page_change what)
{
	if (!counts->queue)
		counts->queue = change_queue_create(sizeof(what), apply, counts);
	change_queue_give(counts->queue, what);
}

static void give_block(struct page_counts *counts, uint32_t process, const struct life *life,
		       enum page_change_kind kind)
{
	uint32_t group =
		counts->group_of ? counts->group_of(counts->context, process, life) : 0;

	give(counts, (struct page_change){ life->address, life->size, process, group, kind });
}

/* ---- blocks that are not counted yet ---- */

static uint64_t *word_of(const struct page_counts *counts, uint32_t place)
{
	return &counts->waits[place / WORD_BITS];
}

static bool is_waiting(const struct page_counts *counts, uint32_t place)
{
	return place / WORD_BITS < counts->words &&
	       (*word_of(counts, place) >> place % WORD_BITS & 1);
}

static void clear_waiting(struct page_counts *counts, uint32_t place)
{
	*word_of(counts, place) &= ~(UINT64_C(1) << place % WORD_BITS);
}

/* Counts the waiting blocks. If a place waits several times, only the last one is valid, so from
 * the back. */
static void count_waiting(struct page_counts *counts)
{
	for (size_t i = counts->waiting.count; i-- > 0;) {
		const struct page_waiting *w = &counts->waiting.at[i];

		if (i >= AHEAD)
			__builtin_prefetch((w - AHEAD)->life);
		if (!is_waiting(counts, w->place))
			continue;
		clear_waiting(counts, w->place);
		give_block(counts, w->process, w->life, PAGE_BLOCK_ADD);
	}
	counts->waiting.count = 0;
}

void page_counts_add(struct page_counts *counts, uint32_t process, const struct life *life)
{
	if (counts->waiting.count >= page_counts_most)
		count_waiting(counts);
	if (life->place / WORD_BITS >= counts->words)
		counts->waits = mem_reach(counts->waits, &counts->words, life->place / WORD_BITS,
					  sizeof(*counts->waits), WORDS_LEAST);
	*word_of(counts, life->place) |= UINT64_C(1) << life->place % WORD_BITS;
	*vec_push(&counts->waiting) = (struct page_waiting){ life, process, life->place };
}

void page_counts_remove(struct page_counts *counts, uint32_t process, const struct life *life)
{
	if (is_waiting(counts, life->place))
		clear_waiting(counts, life->place);
	else
		give_block(counts, process, life, PAGE_BLOCK_REMOVE);
}

/* A waiting block needs no change: it is counted later, as it is then. */
static void change_counted(struct page_counts *counts, uint32_t process, const struct life *life,
			   const struct life *before)
{
	if (is_waiting(counts, life->place))
		return;
	give_block(counts, process, before, PAGE_BLOCK_REMOVE);
	page_counts_add(counts, process, life);
}

void page_counts_resize(struct page_counts *counts, uint32_t process, const struct life *life,
			uint64_t before)
{
	struct life old = *life;

	old.size = before;
	change_counted(counts, process, life, &old);
}

void page_counts_move(struct page_counts *counts, uint32_t process, const struct life *life,
		      uint64_t before)
{
	struct life old = *life;

	old.address = before;
	change_counted(counts, process, life, &old);
}

void page_counts_vtable(struct page_counts *counts, uint32_t process, const struct life *life,
			uint32_t before)
{
	struct life old = *life;

	old.vtable = before;
	change_counted(counts, process, life, &old);
}

void page_counts_inherit(struct page_counts *counts, const struct replay_process *child)
{
	count_waiting(counts);
	give(counts, (struct page_change){ .process = child->id, .kind = PAGE_SPACE_EMPTY });
	replay_each(child, life) give_block(counts, child->id, life, PAGE_BLOCK_ADD);
}

void page_counts_end(struct page_counts *counts, uint32_t process)
{
	give(counts, (struct page_change){ .process = process, .kind = PAGE_SPACE_END });
}

void page_counts_last(struct page_counts *counts)
{
	count_waiting(counts);
}

void page_counts_settle(struct page_counts *counts)
{
	count_waiting(counts);
	if (counts->queue)
		change_queue_settle(counts->queue);
}

const struct page_count *page_counts_of(const struct page_counts *counts, uint32_t process)
{
	return process && process <= counts->count ? &counts->spaces[process - 1] : NULL;
}

void page_counts_deinit(struct page_counts *counts)
{
	change_queue_destroy(counts->queue);
	for (size_t i = 0; i < counts->count; i++)
		empty(counts, &counts->spaces[i]);
	free(counts->spaces);
	live_groups_deinit(&counts->groups);
	free(counts->waiting.at);
	free(counts->waits);
	*counts = (struct page_counts){ 0 };
}
