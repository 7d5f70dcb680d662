/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: see objects.h. */
#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/lower_bound.h"

enum {
	HEADER_MOST = 256,
	GUARD_BYTES = 4096,
	PAGE_SHIFT = 17,
	GRANULE_SHIFT = 3,
	WORDS = 1 << (PAGE_SHIFT - GRANULE_SHIFT - 6),
	KINDS_MAX = 1 << SHINY_OBJECT_INDEX_BITS
};

struct object_page {
	uint64_t number; /* address >> PAGE_SHIFT */
	uint64_t starts[WORDS], ends[WORDS];
};

void objects_deinit(struct objects *o)
{
	for (size_t i = 0; i < o->page_room; i++)
		free(o->pages[i]);
	free(o->pages);
	free(o->large.at);
	free(o->kinds.at);
	free(o->vtables);
	*o = (struct objects){ 0 };
}

/* ---- pages ---- */

static struct object_page **page_slot(const struct objects *o, uint64_t number)
{
	size_t i = hash_mix(number) & (o->page_room - 1);

	while (o->pages[i] && o->pages[i]->number != number)
		i = (i + 1) & (o->page_room - 1);
	return &o->pages[i];
}

static struct object_page *page_find(struct objects *o, uint64_t number)
{
	struct object_page *page;

	if (o->latest && o->latest->number == number)
		return o->latest;
	page = o->page_room ? *page_slot(o, number) : NULL;
	if (page)
		o->latest = page;
	return page;
}

static void page_grow(struct objects *o)
{
	struct object_page **old = o->pages;
	size_t room = o->page_room;

	o->page_room = room ? room * 2 : 64;
	o->pages = mem_zero(o->page_room, sizeof(*o->pages));
	for (size_t i = 0; i < room; i++)
		if (old[i])
			*page_slot(o, old[i]->number) = old[i];
	free(old);
}

static struct object_page *page_make(struct objects *o, uint64_t number)
{
	struct object_page *page = page_find(o, number);

	if (page)
		return page;
	if ((o->page_count + 1) * 2 > o->page_room)
		page_grow(o);
	page = mem_zero(1, sizeof(*page));
	page->number = number;
	*page_slot(o, number) = page;
	o->page_count++;
	o->latest = page;
	return page;
}

static unsigned granule_of(uint64_t address)
{
	return (unsigned)(address >> GRANULE_SHIFT) & (WORDS * 64 - 1);
}

/* Returns the first set bit in [from, to], both within the page; -1: none. */
static int first_bit(const uint64_t *bits, unsigned from, unsigned to)
{
	for (unsigned w = from / 64; w <= to / 64; w++) {
		uint64_t word = bits[w];

		if (w == from / 64)
			word &= ~UINT64_C(0) << (from % 64);
		if (word) {
			unsigned at = w * 64 + (unsigned)__builtin_ctzll(word);

			return at <= to ? (int)at : -1;
		}
	}
	return -1;
}

/* Returns the last start before `from`, if no end lies between the two; -1: there is none. */
static int open_start(const struct object_page *page, unsigned from)
{
	for (unsigned w = from / 64 + 1; w-- > 0;) {
		uint64_t below = w == from / 64 ? (UINT64_C(1) << (from % 64)) - 1 : ~UINT64_C(0);
		uint64_t starts = page->starts[w] & below, ends = page->ends[w] & below;

		if (!starts && !ends)
			continue;
		/* both in one granule: an object of up to 8 bytes, which has ended */
		if (!starts || (ends && __builtin_clzll(ends) <= __builtin_clzll(starts)))
			return -1;
		return (int)(w * 64 + 63 - (unsigned)__builtin_clzll(starts));
	}
	return -1;
}

/* ---- large objects ---- */

/* Returns the index of the first large object that ends behind `address`. */
static size_t large_behind(const struct objects *o, uint64_t address)
{
	return lower_bound(o->large.count, i, o->large.at[i].end <= address);
}

/*
 * True if the list of large objects holds it: an object of half a page with its header has a page
 * of its own (cppgc's kLargeObjectSizeThreshold), unless it was resized to that in place.
 */
static bool is_large(uint64_t start, uint64_t bytes)
{
	return bytes >= (1 << (PAGE_SHIFT - 1)) - 8 ||
	       start >> PAGE_SHIFT != (start + bytes - 1) >> PAGE_SHIFT;
}

/*
 * True if the object has its own page: it is then at the beginning, behind a small header; in other
 * pages a bitmap of 2 KiB precedes the objects. Builds before 2022 leave 4 KiB in front of both.
 */
static bool has_own_page(uint64_t start)
{
	uint64_t at = start % (1 << PAGE_SHIFT);

	return at < HEADER_MOST || (at >= GUARD_BYTES && at < GUARD_BYTES + HEADER_MOST);
}

/* Returns the index of the large object that begins at `start`; o->large.count: none. */
static size_t large_at(const struct objects *o, uint64_t start)
{
	size_t at = large_behind(o, start);

	return at < o->large.count && o->large.at[at].start == start ? at : o->large.count;
}

/* ---- objects ---- */

void objects_add(struct objects *o, uint64_t start, uint64_t bytes)
{
	struct object_page *page;
	unsigned from = granule_of(start), to = granule_of(start + bytes - 1);

	if (is_large(start, bytes)) {
		size_t at = large_behind(o, start);

		(void)vec_push(&o->large);
		memmove(&o->large.at[at + 1], &o->large.at[at],
			(o->large.count - 1 - at) * sizeof(*o->large.at));
		o->large.at[at] = (struct object_range){ start, start + bytes };
		return;
	}
	page = page_make(o, start >> PAGE_SHIFT);
	page->starts[from / 64] |= UINT64_C(1) << (from % 64);
	page->ends[to / 64] |= UINT64_C(1) << (to % 64);
}

void objects_remove(struct objects *o, uint64_t start)
{
	size_t at = large_at(o, start);
	unsigned from = granule_of(start);
	struct object_page *page;
	int last;

	if (at < o->large.count) {
		memmove(&o->large.at[at], &o->large.at[at + 1],
			(o->large.count - 1 - at) * sizeof(*o->large.at));
		o->large.count--;
		return;
	}
	page = page_find(o, start >> PAGE_SHIFT);
	if (!page || !(page->starts[from / 64] >> (from % 64) & 1))
		return;
	page->starts[from / 64] &= ~(UINT64_C(1) << (from % 64));
	/* the first end behind is its own, as objects do not overlap */
	last = first_bit(page->ends, from, WORDS * 64 - 1);
	if (last >= 0)
		page->ends[last / 64] &= ~(UINT64_C(1) << (last % 64));
}

bool objects_cut(struct objects *o, uint64_t start, uint64_t end)
{
	if (large_at(o, start) < o->large.count && has_own_page(start))
		return false;
	objects_remove(o, start);
	objects_add(o, start, end - start);
	return true;
}

/* Searches the objects of one page; [start, end) lies in that page. */
static uint64_t find_in_page(const struct object_page *page, uint64_t start, uint64_t end)
{
	unsigned from = granule_of(start), to = granule_of(end - 1);
	int at = open_start(page, from);

	if (at < 0)
		at = first_bit(page->starts, from, to);
	return at < 0 ? 0 : page->number << PAGE_SHIFT | (uint64_t)at << GRANULE_SHIFT;
}

/* Searches all pages of a range: by number, or in the whole table if that has fewer. */
static uint64_t find_in_pages(struct objects *o, uint64_t start, uint64_t end)
{
	uint64_t first = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;

	if (last - first > o->page_room) {
		for (size_t i = 0; i < o->page_room; i++) {
			const struct object_page *page = o->pages[i];
			uint64_t low, high, found;

			if (!page || page->number < first || page->number > last)
				continue;
			low = page->number << PAGE_SHIFT;
			high = low + (UINT64_C(1) << PAGE_SHIFT);
			found = find_in_page(page, start > low ? start : low,
					     end < high ? end : high);
			if (found)
				return found;
		}
		return 0;
	}
	for (uint64_t number = first; number <= last; number++) {
		const struct object_page *page = page_find(o, number);
		uint64_t low = number << PAGE_SHIFT, high = low + (UINT64_C(1) << PAGE_SHIFT),
			 found;

		found = page ? find_in_page(page, start > low ? start : low,
					    end < high ? end : high)
			     : 0;
		if (found)
			return found;
	}
	return 0;
}

uint64_t objects_find(struct objects *o, uint64_t start, uint64_t end)
{
	size_t large;

	if (start >= end)
		return 0;
	large = o->large.count ? large_behind(o, start) : 0;
	if (large < o->large.count && o->large.at[large].start < end)
		return o->large.at[large].start;
	return o->page_count ? find_in_pages(o, start, end) : 0;
}

size_t objects_list(struct objects *o, uint64_t start, uint64_t end, uint64_t *out, size_t most)
{
	const struct object_page *page = page_find(o, start >> PAGE_SHIFT);
	uint64_t number = start >> PAGE_SHIFT, behind = (number + 1) << PAGE_SHIFT;
	unsigned from = granule_of(start), to;
	size_t count = 0;

	if (!page || start >= end)
		return 0;
	to = granule_of((end < behind ? end : behind) - 1);
	for (unsigned w = from / 64; w <= to / 64; w++) {
		uint64_t word = page->starts[w];

		if (w == from / 64)
			word &= ~UINT64_C(0) << (from % 64);
		for (; word; word &= word - 1) {
			unsigned at = w * 64 + (unsigned)__builtin_ctzll(word);

			if (at > to || count == most)
				return count;
			out[count++] = number << PAGE_SHIFT | (uint64_t)at << GRANULE_SHIFT;
		}
	}
	return count;
}

/* ---- kinds ---- */

/* Returns the index of the first range of kinds that does not lie below `index`. */
static size_t kinds_at(const struct objects *o, uint32_t index)
{
	return lower_bound(o->kinds.count, i,
			   o->kinds.at[i].first + o->kinds.at[i].count <= index);
}

bool objects_set_kinds(struct objects *o, const struct shiny_object_kinds *kinds)
{
	size_t at;

	if (!kinds->count || kinds->first >= KINDS_MAX || kinds->count > KINDS_MAX - kinds->first)
		return false;
	at = kinds_at(o, kinds->first);
	if (at < o->kinds.count && o->kinds.at[at].first < kinds->first + kinds->count)
		return o->kinds.at[at].first == kinds->first &&
		       o->kinds.at[at].count == kinds->count &&
		       o->kinds.at[at].place == kinds->place && o->kinds.at[at].step == kinds->step;
	(void)vec_push(&o->kinds);
	memmove(&o->kinds.at[at + 1], &o->kinds.at[at],
		(o->kinds.count - 1 - at) * sizeof(*o->kinds.at));
	o->kinds.at[at] = *kinds;
	if (!o->vtables)
		o->vtables = mem_zero(KINDS_MAX, sizeof(*o->vtables));
	return true;
}

uint64_t objects_place(const struct objects *o, uint32_t index)
{
	size_t at = kinds_at(o, index);

	if (at == o->kinds.count || o->kinds.at[at].first > index)
		return 0;
	return o->kinds.at[at].place +
	       (uint64_t)(index - o->kinds.at[at].first) * o->kinds.at[at].step;
}

void objects_clone_kinds(struct objects *o, const struct objects *parent)
{
	for (size_t i = 0; i < parent->kinds.count; i++)
		objects_set_kinds(o, &parent->kinds.at[i]);
}
