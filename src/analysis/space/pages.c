/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.c: see pages.h.
 *
 * A process's blocks are sorted by address, so a page is complete when a block begins behind it,
 * and its blocks are adjacent. Pages inside a large block are equal, and counted as one run.
 */
#define _GNU_SOURCE
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "memory.h"
#include "../replay/page_count.h"
#include "page_moment.h"
#include "../totals/process_names.h"

const uint64_t pages_bucket_up_to[PAGES_BUCKETS] = { 64, 256, 1024, 4096, 16384, UINT64_MAX };
const char *const pages_bucket_names[PAGES_BUCKETS] = { "0 - 64 B",  "65 - 256 B", "257 B - 1 KiB",
							"1 - 4 KiB", "4 - 16 KiB", "over 16 KiB" };

/* ---- a process's pages ---- */

/* A type or site while it is counted. */
struct pinning {
	struct pages_pin pin;
	uint64_t seen; /* serial number of the page that counted it last */
};

struct page_sweep {
	struct pages_process *p;
	uint64_t under;
	struct page_space *space;
	const struct page_block *blocks;
	struct pinning *types, *sites; /* one for each group */
	uint64_t serial;               /* serial number of the page, over all processes, from 1 */
	/* the page being filled */
	uint64_t page;
	size_t from; /* its first block */
	uint64_t lines; /* a bit for each line */
	uint32_t bytes, block_count;
	uint8_t fates, buckets;
	/* the range being filled */
	uint64_t range, range_bytes;
	uint32_t range_pages;
	uint8_t range_fates;
};

static unsigned tenth(uint64_t part, uint64_t all)
{
	unsigned n = (unsigned)(part * PAGES_TENTHS / all);

	return n < PAGES_TENTHS ? n : PAGES_TENTHS - 1;
}

static void end_range(struct page_sweep *s)
{
	struct pages_sums *sums = &s->p->sums;

	if (!s->range_pages)
		return;
	sums->ranges++;
	sums->ranges_by_use[tenth(s->range_bytes, RANGE_BYTES)]++;
	sums->ranges_by_pages[tenth(s->range_pages, RANGE_PAGES)]++;
	sums->fate_ranges[s->range_fates]++;
	s->range_pages = 0;
	s->range_bytes = 0;
	s->range_fates = 0;
}

static void count_ranges(struct page_sweep *s, const struct page_run *run)
{
	for (uint64_t page = run->page, left = run->count; left;) {
		uint64_t n = RANGE_PAGES - page % RANGE_PAGES;

		n = n < left ? n : left;
		if (s->range_pages && s->range != page / RANGE_PAGES)
			end_range(s);
		s->range = page / RANGE_PAGES;
		s->range_pages += (uint32_t)n;
		s->range_bytes += n * run->bytes;
		s->range_fates |= run->fates;
		page += n;
		left -= n;
	}
}

static void emit(struct page_sweep *s, const struct page_run *run, unsigned buckets)
{
	struct pages_sums *sums = &s->p->sums;

	memcpy(rows_push(&s->p->runs, &s->p->run_count, &s->p->run_room, sizeof(*run)), run,
	       sizeof(*run));
	sums->pages += run->count;
	sums->lines += run->count * run->lines;
	sums->by_use[tenth(run->bytes, PAGE_BYTES)] += run->count;
	sums->fates[run->fates] += run->count;
	for (unsigned i = 0; i < PAGES_BUCKETS; i++) {
		struct pages_bucket *bucket = &sums->buckets[i];

		if (!(buckets & 1u << i))
			continue;
		bucket->pages += run->count;
		if (buckets == 1u << i) {
			bucket->alone += run->count;
			bucket->alone_bytes += run->count * run->bytes;
		}
	}
	count_ranges(s, run);
}

/* Returns the bytes of a block on a page. */
static uint64_t bytes_on(const struct page_block *block, uint64_t page)
{
	uint64_t from = page << PAGE_SHIFT, to = from + PAGE_BYTES,
		 end = block->address + block->size;

	from = block->address > from ? block->address : from;
	to = end < to ? end : to;
	return to > from ? to - from : 0;
}

/* Counts a block with this many bytes on the page with this serial number. `alone`: all blocks on
 * it are of this type or site. */
static void count_on(struct pinning *row, uint64_t serial, const struct page_run *run,
		     uint64_t bytes, bool alone)
{
	struct pages_pin *pin = &row->pin;

	if (row->seen != serial) {
		row->seen = serial;
		pin->pages++;
		pin->pinned += run->pinned;
		pin->freed += run->pinned && alone;
		pin->idle += run->pinned && alone ? PAGE_BYTES - run->bytes : 0;
	}
	pin->pinned_bytes += run->pinned ? bytes : 0;
}

/* Completes the page, whose blocks are s->from up to `to`. */
static void close_page(struct page_sweep *s, size_t to)
{
	struct pages_sums *sums = &s->p->sums;
	struct page_run run = {
		s->page,  1,	s->block_count, s->bytes, (uint8_t)__builtin_popcountll(s->lines),
		s->fates, false
	};
	bool under = run.bytes < s->under, single = run.blocks == 1 && run.bytes < PAGE_BYTES,
	     one_type = true, one_site = true;

	if (!s->block_count)
		return;
	run.pinned = under || single;
	sums->under += under;
	sums->under_bytes += under ? run.bytes : 0;
	sums->single += single;
	sums->single_bytes += single ? run.bytes : 0;
	sums->pinned += run.pinned;
	sums->pinned_bytes += run.pinned ? run.bytes : 0;
	s->serial++;
	for (size_t i = s->from + 1; i < to; i++) {
		one_type &= s->blocks[i].type == s->blocks[s->from].type;
		one_site &= s->blocks[i].site == s->blocks[s->from].site;
	}
	for (size_t i = s->from; i < to; i++) {
		uint64_t bytes = bytes_on(&s->blocks[i], s->page);

		count_on(&s->types[s->blocks[i].type], s->serial, &run, bytes, one_type);
		count_on(&s->sites[s->blocks[i].site], s->serial, &run, bytes, one_site);
	}
	emit(s, &run, s->buckets);
	s->block_count = 0;
}

/* Fills bytes [from, to) of a page with block `index`. from == to: a block of 0 bytes, of which
 * only the address counts. */
static void fill(struct page_sweep *s, size_t index, uint64_t page, unsigned from, unsigned to)
{
	const struct page_block *block = &s->blocks[index];
	unsigned first = from >> LINE_SHIFT, last = (to > from ? to - 1 : from) >> LINE_SHIFT;

	if (s->block_count && s->page != page)
		close_page(s, index);
	if (!s->block_count) {
		s->page = page;
		s->from = index;
		s->bytes = 0;
		s->lines = 0;
		s->fates = s->buckets = 0;
	}
	s->block_count++;
	s->bytes += to - from;
	s->lines |= UINT64_MAX >> (PAGE_LINES - 1 - last) & UINT64_MAX << first;
	s->fates |= block->fate;
	s->buckets |= (uint8_t)(1u << block->bucket);
}

static void sweep_block(struct page_sweep *s, size_t index)
{
	const struct page_block *block = &s->blocks[index];
	uint64_t last = block_last(block->address, block->size),
		 first_page = block->address >> PAGE_SHIFT, last_page = last >> PAGE_SHIFT;
	unsigned from = block->address % PAGE_BYTES;

	if (first_page == last_page) {
		fill(s, index, first_page, from, from + (unsigned)block->size);
		return;
	}
	fill(s, index, first_page, from, PAGE_BYTES);
	close_page(s, index + 1);
	if (last_page > first_page + 1 &&
	    range_map_afford(&s->space->history.map, (last_page - first_page) / RANGE_PAGES + 1,
			     0)) {
		struct page_run run = {
			first_page + 1, last_page - first_page - 1, 1,	  PAGE_BYTES,
			PAGE_LINES,	(uint8_t)block->fate,	    false
		};

		emit(s, &run, 1u << block->bucket);
		s->types[block->type].pin.pages += run.count;
		s->sites[block->site].pin.pages += run.count;
	}
	fill(s, index, last_page, 0, (unsigned)(last % PAGE_BYTES) + 1);
}

/* Adds sums that need no pages, and gives each byte to one block: the one that begins first.
 * Returns the number of blocks with bytes left. */
static size_t part(struct page_sweep *s, struct page_block *blocks, size_t count)
{
	struct pages_sums *sums = &s->p->sums;
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct page_block block = blocks[i];
		struct pages_bucket *bucket;

		while (block.size > pages_bucket_up_to[block.bucket])
			block.bucket++;
		bucket = &sums->buckets[block.bucket];
		sums->blocks++;
		sums->bytes += block.size;
		sums->zombies += block.fate == PAGE_ZOMBIE;
		sums->zombie_bytes += block.fate == PAGE_ZOMBIE ? block.size : 0;
		bucket->blocks++;
		bucket->bytes += block.size;
		s->types[block.type].pin.blocks++;
		s->types[block.type].pin.bytes += block.size;
		s->sites[block.site].pin.blocks++;
		s->sites[block.site].pin.bytes += block.size;
		if (block.address < covered) {
			uint64_t over = covered - block.address;

			sums->overlaps++;
			if (over >= block.size) {
				sums->overlap_bytes += block.size;
				continue;
			}
			sums->overlap_bytes += over;
			block.address = covered;
			block.size -= over;
		}
		covered = block_last(block.address, block.size) + 1;
		blocks[kept++] = block;
	}
	return kept;
}

static void count_ever(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES])
{
	struct pages_sums *sums = context;
	unsigned all = 0;

	for (unsigned i = 0; i < RANGE_PAGES; i++) {
		sums->ever[sets[i]] += sets[i] != 0;
		all |= sets[i];
	}
	sums->ever_ranges[all]++;
}

static void sweep_process(struct page_sweep *s, struct pages_process *p, struct page_space *space)
{
	size_t count;

	s->p = p;
	s->space = space;
	s->blocks = space->blocks;
	count = part(s, space->blocks, space->count);
	for (size_t i = 0; i < count; i++)
		sweep_block(s, i);
	close_page(s, count);
	end_range(s);
	for (unsigned i = 0; i < PAGES_BUCKETS; i++) {
		struct pages_bucket *bucket = &p->sums.buckets[i];

		bucket->reclaimable =
			bucket->alone - (bucket->alone_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	}
	p->history = space->history;
	space->history = (struct page_history){ 0 };
	page_history_each(&p->history, count_ever, &p->sums);
}

/* ---- loading ---- */

static void add_sums(struct pages_sums *to, const struct pages_sums *from)
{
	/* all members are sums */
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)from;

	_Static_assert(sizeof(*to) % sizeof(*sum) == 0, "pages_sums holds uint64_t only");
	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += more[i];
}

/* Adds what an owner has for live blocks: all of malloc's, of others what has some. */
static void add_sample(struct pages_sums *to, const struct memory_owner *owner)
{
	for (size_t i = 0; i < owner->count; i++) {
		const struct memory_sums *sums = &owner->details[i].sums;

		if (!sums->live_bytes && strcmp(owner->owner, "malloc") != 0)
			continue;
		to->committed += sums->committed;
		to->resident += sums->rss;
		to->sample_live += sums->live_bytes;
	}
}

static struct shiny_err *load_samples(struct store *store, const struct filter *filter,
				      struct pages *pages)
{
	struct memory_history memory;
	struct shiny_err *err =
		memory_load(store, filter, pages->at == PAGES_AT_END ? MEMORY_LAST : MEMORY_AT,
			    pages->time, &memory);

	if (err)
		return err;
	for (size_t i = 0; i < pages->count; i++) {
		struct pages_process *p = &pages->processes[i];

		for (size_t k = 0; k < memory.count; k++) {
			const struct memory_process *sample = &memory.processes[k];

			if (sample->id != p->id || !sample->owner_count)
				continue;
			p->sample_time = sample->time;
			p->sums.sampled = 1;
			for (size_t o = 0; o < sample->owner_count; o++)
				add_sample(&p->sums, &sample->owners[o]);
		}
	}
	memory_deinit(&memory);
	return NULL;
}

ORDER_BY(by_pages, struct pages_process, ORDER_DOWN(sums.pages) ?: ORDER_UP(id))

static struct shiny_err *load_processes(struct store *store, struct page_moment *moment,
					struct page_sweep *sweep, struct pages *out)
{
	SHINY_CLEANUP(process_names_deinit) struct process_names names = { 0 };
	struct shiny_err *err = process_names_load(store, &names);

	for (size_t i = 0; !err && i < moment->count; i++) {
		struct page_space *space = &moment->spaces[i];
		struct pages_process *p;

		if (space->ended || (!space->count && !space->history.map.ranges.count))
			continue;
		p = rows_push(&out->processes, &out->count, &out->room, sizeof(*p));
		p->id = (uint32_t)i + 1;
		p->pid = i + 1 < names.count ? names.of[i + 1].pid : 0;
		p->name = process_names_take(&names, p->id);
		p->touched = touched_at(moment->touched, p->id,
					out->at == PAGES_AT_END ? TOUCHED_LAST : out->time);
		sweep_process(sweep, p, space);
		free(space->blocks);
		space->blocks = NULL;
		space->count = 0;
	}
	return err;
}

ORDER_BY(by_pins, struct pages_pin,
	 ORDER_DOWN(idle) ?: ORDER_DOWN(pinned) ?: ORDER_DOWN(pages) ?: ORDER_TEXT(name))

static void arrange(struct groups *groups, const struct pinning *rows, const char *match,
		    struct pages_pins *out)
{
	out->rows = mem_zero(groups->count + 1, sizeof(*out->rows));
	for (size_t i = 0; i < groups->count; i++) {
		if (!rows[i].pin.blocks || (match && !text_matches(match, groups->names[i])))
			continue;
		out->rows[out->count] = rows[i].pin;
		out->rows[out->count++].name = mem_text(groups->names[i]);
	}
	qsort(out->rows, out->count, sizeof(*out->rows), by_pins);
}

static struct shiny_err *find_moment(struct store *store, const struct pages_ask *ask,
				     struct pages *out)
{
	struct shiny_err *err = session_duration(store, &out->duration);

	out->at = ask->at == PAGES_AT_SHARE ? PAGES_AT_TIME : ask->at;
	out->time = ask->at == PAGES_AT_SHARE  ? (uint64_t)((double)out->duration * ask->share)
		    : ask->at == PAGES_AT_TIME ? ask->time
					       : out->duration;
	if (!err && out->time > out->duration)
		err = shiny_err(SHINY_ERR_USAGE, "pages: the session ends after %.3f s",
				(double)out->duration / 1e9);
	return err;
}

/* Pins are counted after all pages. */
static struct shiny_err *load_pages(struct store *store, const struct filter *filter,
				    const struct pages_ask *ask, struct page_moment *moment,
				    struct groups *types, struct groups *sites, struct pages *out)
{
	struct page_sweep sweep = { .under = ask->under,
				    .types = mem_zero(types->count + 1, sizeof(*sweep.types)),
				    .sites = mem_zero(sites->count + 1, sizeof(*sweep.sites)) };
	struct shiny_err *err = load_processes(store, moment, &sweep, out);

	if (!err)
		err = load_samples(store, filter, out);
	if (!err) {
		arrange(types, sweep.types, ask->match, &out->by_type);
		arrange(sites, sweep.sites, ask->match, &out->by_site);
		for (size_t i = 0; i < out->count; i++)
			add_sums(&out->total, &out->processes[i].sums);
		if (out->count)
			qsort(out->processes, out->count, sizeof(*out->processes), by_pages);
	}
	free(sweep.types);
	free(sweep.sites);
	return err;
}

struct shiny_err *pages_load(struct store *store, const struct filter *filter,
			     const struct pages_ask *ask, struct pages *out)
{
	SHINY_CLEANUP(pages_deinit) struct pages pages = { .under = ask->under };
	struct groups types = { 0 }, sites = { 0 };
	struct touched touched = { 0 };
	struct page_moment moment = { .history = ask->history,
				      .types = &types,
				      .sites = &sites,
				      .touched = &touched };
	struct page_series series = { .count = ask->points };
	struct replay_observer observer;
	struct shiny_err *err = find_moment(store, ask, &pages);

	if (!err)
		err = groups_load(store, GROUP_TYPE, ask->full_names, &types);
	if (!err)
		err = groups_load(store, GROUP_SITE, ask->full_names, &sites);
	if (!err)
		err = touched_load(store, filter, &touched);
	if (!err) {
		moment.when = pages.at == PAGES_AT_END	  ? PAGE_WHEN_END
			      : pages.at == PAGES_AT_PEAK ? PAGE_WHEN_PEAK
							  : PAGE_WHEN_TIME;
		moment.time = pages.time;
		pages.points = mem_zero(series.count + 1, sizeof(*pages.points));
		observer = page_series_begin(&series, pages.points, pages.duration);
		range_maps_begin(store);
		err = page_moment_run(store, filter, &moment, &observer, ask->points != 0,
				      ask->progress);
		if (!err)
			page_counts_settle(&series.counts);
		pages.point_count = series.done;
		pages.time = moment.time;
		touched_sum(&touched, pages.at == PAGES_AT_END ? TOUCHED_LAST : pages.time,
			    &pages.touched);
	}
	if (!err && !range_maps_spent())
		err = load_pages(store, filter, ask, &moment, &types, &sites, &pages);
	if (!err)
		err = range_maps_end(store);
	page_series_deinit(&series);
	page_moment_deinit(&moment);
	touched_deinit(&touched);
	groups_deinit(&types);
	groups_deinit(&sites);
	if (err)
		return err;
	*out = shiny_steal(pages);
	return NULL;
}

static void pins_deinit(struct pages_pins *pins)
{
	rows_free(pins->rows, pins->count, name);
}

void pages_deinit(struct pages *pages)
{
	for (size_t i = 0; i < pages->count; i++) {
		free(pages->processes[i].name);
		free(pages->processes[i].runs);
		page_history_deinit(&pages->processes[i].history);
	}
	free(pages->processes);
	pins_deinit(&pages->by_type);
	pins_deinit(&pages->by_site);
	free(pages->points);
	*pages = (struct pages){ 0 };
}
