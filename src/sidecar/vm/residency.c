/* SPDX-License-Identifier: Apache-2.0 */
/* residency.c: see residency.h. */
#define _GNU_SOURCE
#include "residency.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/lower_bound.h"
#include "../ring/ring_file.h"

enum { SUPER_PAGE_SHIFT = 21 };

/* ---- parts ---- */

static uint64_t accessible(const struct piece *p, uint64_t start, uint64_t end)
{
	uint64_t from = p->start > start ? p->start : start, to = p->end < end ? p->end : end;

	return p->prot && from < to ? to - from : 0;
}

/* Returns the page counts of these parts; NULL: they were not counted, or other parts were. */
static const uint64_t *counts_of(const struct mappings_sample *sample, const struct part *parts,
				 size_t count)
{
	size_t at = lower_bound(sample->shared.count, i,
				sample->bounds.at[sample->shared.at[i].first] < parts[0].start);
	const struct shared_area *area = at < sample->shared.count ? &sample->shared.at[at] : NULL;

	if (!area || !area->counted || area->ranges != count ||
	    sample->bounds.at[area->first + count] != parts[count - 1].end)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (sample->bounds.at[area->first + i] != parts[i].start)
			return NULL;
	return &sample->counts.at[area->first];
}

/*
 * Divides an area's numbers among its parts. The kernel counts an area as a whole; if it has merged
 * several mappings into one, the area is divided in proportion to the counted pages of its parts:
 * the sum stays the kernel's, to the byte.
 */
static void deal(struct mappings_watch *watch, const struct smaps_area *area, struct part *parts,
		 size_t count)
{
	const uint64_t *counts = count > 1 ? counts_of(&watch->sample, parts, count) : NULL;
	uint64_t pages = 0, done[4] = { 0 }, so_far = 0;
	const uint64_t sums[4] = { area->rss, area->pss, area->private, area->swap };

	for (size_t i = 0; counts && i < count; i++)
		pages += counts[i];
	if (!pages)
		counts = NULL;
	for (size_t i = 0; !counts && i < count; i++)
		pages += (parts[i].end - parts[i].start) / MEMORY_PAGE;
	for (size_t i = 0; i < count; i++) {
		uint64_t *numbers[4] = { &parts[i].rss, &parts[i].pss, &parts[i].private,
					 &parts[i].swap };

		so_far += counts ? counts[i] : (parts[i].end - parts[i].start) / MEMORY_PAGE;
		for (unsigned n = 0; n < 4; n++) {
			uint64_t upto = (uint64_t)((unsigned __int128)sums[n] * so_far / pages);

			*numbers[n] = upto - done[n];
			done[n] = upto;
		}
	}
}

static void want_counted(struct mappings_watch *watch, const struct smaps_area *area,
			 struct part *parts, size_t count)
{
	struct mappings_sample *sample = &watch->sample;

	if (count < 2 || !area->rss ||
	    (area->end - area->start) / MEMORY_PAGE > MEMORY_COUNTED_PAGES)
		return;
	*vec_push(&sample->shared) =
		(struct shared_area){ .first = sample->bounds.count, .ranges = count };
	for (size_t i = 0; i <= count; i++) {
		*vec_push(&sample->bounds) = i < count ? parts[i].start : parts[count - 1].end;
		*vec_push(&sample->counts) = 0;
	}
}

/* Divides the areas into parts, one per segment, and calls `each` with the parts of an area. Omits
 * memory in no segment, which calls were changing. */
static void make_parts(struct mappings_watch *watch, struct process *p,
		       void (*each)(struct mappings_watch *, const struct smaps_area *,
				    struct part *, size_t))
{
	const struct segments *s = &p->memory->segments;

	watch->parts.count = 0;
	for (size_t n = 0; n < watch->sample.smaps.areas.count; n++) {
		const struct smaps_area *area = &watch->sample.smaps.areas.at[n];
		size_t first = watch->parts.count;

		for (size_t i = segments_find(s, area->start);
		     i < s->pieces.count && s->pieces.at[i].start < area->end; i++) {
			const struct piece *piece = &s->pieces.at[i];
			struct part *part = watch->parts.count > first
						    ? &watch->parts.at[watch->parts.count - 1]
						    : NULL;

			if (!part || part->segment != piece->segment) {
				part = vec_push(&watch->parts);
				*part = (struct part){ .start = area->start,
						       .segment = piece->segment };
				if (piece->start > area->start)
					part->start = piece->start;
			}
			part->end = piece->end < area->end ? piece->end : area->end;
			part->committed += accessible(piece, area->start, area->end);
		}
		if (watch->parts.count > first)
			each(watch, area, &watch->parts.at[first], watch->parts.count - first);
	}
}

static struct part *part_of(struct mappings_watch *watch, uint64_t address)
{
	size_t at = lower_bound(watch->parts.count, i, watch->parts.at[i].end <= address);

	return at < watch->parts.count && watch->parts.at[at].start <= address
		       ? &watch->parts.at[at]
		       : NULL;
}

/* ---- evidence ---- */

enum { HITS = 1024, HIT_SHIFT = 16 };

struct counting {
	struct mappings_watch *watch;
	const struct stats *stats;
	struct part *hits[HITS];
	uint64_t blocks, bytes;
};

/* Adds a block to the parts that it lies in: the kernel cuts a block's memory into several areas
 * where madvise or mprotect was called for a piece of it. */
static void count_block(void *context, const struct entry *entry)
{
	struct counting *c = context;
	struct part **hit = &c->hits[(entry->address >> HIT_SHIFT) % HITS], *part = *hit;
	const struct part *behind = c->watch->parts.at + c->watch->parts.count;
	unsigned api = entry->flags & ENTRY_API;
	bool other = api >= SHINY_API_COLLECTED;
	uint64_t at = entry->address, end = at + entry->size;
	uint64_t blocks = stats_weight(c->stats, entry);

	if (!part || at < part->start || at >= part->end)
		part = *hit = part_of(c->watch, at);
	if (!other) {
		c->blocks += blocks;
		c->bytes += entry->size * blocks;
	}
	if (!part)
		return;
	*(other ? &part->other_blocks : &part->malloc_blocks) += blocks;
	for (;; at = part++->end) {
		uint64_t to = end < part->end ? end : part->end;

		*(other ? &part->other_bytes : &part->malloc_bytes) += (to - at) * blocks;
		if (api > SHINY_API_COLLECTED)
			part->heap = (uint8_t)api;
		if (to == end || part + 1 == behind || part[1].start != part->end)
			return;
	}
}

static struct piece *piece_at(const struct segments *s, uint64_t address)
{
	size_t i = segments_find(s, address);

	return address && i < s->pieces.count && s->pieces.at[i].start <= address ? &s->pieces.at[i]
										  : NULL;
}

/* Returns the segment of a thread's stack, from its first accessible page, as long as it was
 * created; splits it off what the kernel has merged it with. NULL: unknown. */
static struct vm_segment *stack_at(struct segments *s, uint64_t address, uint64_t bytes, bool ended,
				   uint64_t now)
{
	const struct piece *piece = piece_at(s, address);
	struct vm_segment *g = piece ? piece->segment : NULL;
	uint64_t start = piece ? piece->start : 0;

	bytes = (bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
	if (!g || !g->anonymous || g->shared || (g->name && !ended))
		return NULL;
	if (bytes && g->source >= SEGMENT_SEEN && address < start + bytes && start + bytes < g->end)
		return segments_split(s, start, start + bytes, now);
	/* glibc caches the stacks of ended threads; but their place may have been reused */
	return ended && g->end - start != bytes ? NULL : g;
}

/* Finds the threads' stacks by their slots, also of ended threads, until the slots are reused. */
static void find_stacks(struct mappings_watch *watch, struct process *p, uint64_t now)
{
	struct segments *s = &p->memory->segments;
	const struct ring_file *ring = p->ring;

	for (uint32_t i = 0, used = ring_threads_used(ring); i < used; i++) {
		const struct shiny_thread *t = &ring->threads[i];
		uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE),
			 tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		uint64_t tls = __atomic_load_n(&t->tls, __ATOMIC_RELAXED);
		bool ended = state != SHINY_SLOT_LIVE;
		struct vm_segment *g;
		struct piece *piece;
		char name[24] = "";

		if (!__atomic_load_n(&t->generation, __ATOMIC_RELAXED) ||
		    state == SHINY_SLOT_CLAIMED ||
		    __atomic_load_n(&t->process_slot, __ATOMIC_RELAXED) != p->slot ||
		    __atomic_load_n(&t->start, __ATOMIC_RELAXED) < p->start)
			continue;
		g = tid == p->namespace_pid ? NULL : /* the main thread's stack has a name */
			    stack_at(s, __atomic_load_n(&t->stack, __ATOMIC_RELAXED),
				     __atomic_load_n(&t->stack_bytes, __ATOMIC_RELAXED), ended,
				     now);
		/* at two samples, as threads are named a little after their start */
		if (g && !(g->thread && g->sampled)) {
			if (!ended)
				process_thread_name(p, tid, name, sizeof(name));
			if (!g->thread || name[0]) {
				g->thread = mappings_text(watch, name[0] ? name : "(ended)");
				g->changed = true;
			}
		}
		piece = piece_at(s, tls);
		if (piece && !piece->segment->thread && piece->segment->anonymous &&
		    piece->segment->source >= SEGMENT_SEEN && !piece->segment->tls)
			piece->segment->tls = piece->segment->changed = true;
	}
}

/* Finds modules' memory that is no mapping of a file: .bss, which the kernel may have merged with
 * the loader's next mapping. */
static void find_modules(struct process *p, uint64_t now)
{
	struct segments *s = &p->memory->segments;

	for (size_t i = 0; i < s->pieces.count; i++) {
		struct vm_segment *g = s->pieces.at[i].segment;
		const struct mapping *m = g->sampled || g->module || g->shared
						  ? NULL
						  : space_find(&p->space, g->start);
		uint64_t end = m ? (m->end + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE : 0;

		if (m && g->end > end && g->source >= SEGMENT_SEEN)
			g = segments_split(s, g->start, end, now);
		if (!m || !g || g->end > end)
			continue;
		g->module = m->module;
		g->changed = true;
	}
}

/* Marks [start, end) as the library's own: the kernel may list a mapping in parts. */
static void own_range(struct segments *s, uint64_t start, uint64_t end, uint64_t now)
{
	while (start < end) {
		size_t i = segments_find(s, start);
		struct vm_segment *g = i < s->pieces.count ? s->pieces.at[i].segment : NULL;
		uint64_t to;

		if (!g || g->start >= end)
			return;
		to = g->end < end ? g->end : end;
		g = segments_split(s, g->start > start ? g->start : start, to, now);
		if (g && !g->own)
			g->own = g->changed = true;
		start = to;
	}
}

static void find_own(struct process *p, uint64_t now)
{
	struct segments *s = &p->memory->segments;

	for (unsigned i = 0; i < SHINY_OWN && p->ring->header; i++) {
		uint64_t start = __atomic_load_n(&p->ring->header->own[i].start, __ATOMIC_RELAXED);
		uint64_t end = __atomic_load_n(&p->ring->header->own[i].end, __ATOMIC_RELAXED);

		if (start < end && end < UINT64_MAX - MEMORY_PAGE)
			own_range(s, start / MEMORY_PAGE * MEMORY_PAGE,
				  (end + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE, now);
	}
	for (size_t i = 0; i < s->pieces.count; i++)
		if (s->pieces.at[i].segment->inode == p->ring->inode &&
		    s->pieces.at[i].segment->shared && !s->pieces.at[i].segment->own)
			s->pieces.at[i].segment->own = s->pieces.at[i].segment->changed = true;
}

static bool is_pool(const struct mappings_watch *watch, const struct vm_segment *g)
{
	return g->name && (g->name == watch->pools[0] || g->name == watch->pools[1]);
}

/* True if a block of malloc, or a piece of one, lies in the part. */
static bool has_malloc(const struct part *part)
{
	return part->malloc_blocks || part->malloc_bytes;
}

/* Notes whose blocks lie in the segment. */
static void note_blocks(const struct part *part, struct vm_segment *g)
{
	if (has_malloc(part) && g->anonymous && !g->blocks)
		g->blocks = g->changed = true;
	if (part->heap && g->anonymous && !g->heap) {
		g->heap = part->heap;
		g->changed = true;
	}
}

/*
 * Finds malloc's parts: whole segments with its blocks; in PartitionAlloc's pools super pages, each
 * of which has one owner while it is used.
 */
static void find_malloc(struct mappings_watch *watch, struct mappings *m)
{
	size_t old = 0, old_count = m->malloc_regions.count;
	uint64_t *before = mem_alloc((old_count + 1) * sizeof(*before));

	if (old_count)
		memcpy(before, m->malloc_regions.at, old_count * sizeof(*before));
	m->malloc_regions.count = 0;
	for (size_t i = 0; i < watch->parts.count; i++) {
		const struct part *part = &watch->parts.at[i];
		uint64_t region = part->start >> SUPER_PAGE_SHIFT;
		bool there = m->malloc_regions.count &&
			     m->malloc_regions.at[m->malloc_regions.count - 1] == region;

		if (!is_pool(watch, part->segment)) {
			note_blocks(part, part->segment);
			continue;
		}
		while (old < old_count && before[old] < region)
			old++;
		if (!there && part->rss &&
		    (has_malloc(part) || (old < old_count && before[old] == region)))
			*vec_push(&m->malloc_regions) = region;
	}
	free(before);
}

static bool is_malloc(const struct mappings_watch *watch, const struct mappings *m,
		      const struct part *part, size_t *region)
{
	uint64_t of = part->start >> SUPER_PAGE_SHIFT;

	if (!is_pool(watch, part->segment))
		return part->segment->blocks;
	while (*region < m->malloc_regions.count && m->malloc_regions.at[*region] < of)
		++*region;
	return *region < m->malloc_regions.count && m->malloc_regions.at[*region] == of;
}

void residency_observe(struct mappings_watch *watch, struct process *p, uint64_t now)
{
	struct smaps *smaps = &watch->sample.smaps;

	for (size_t i = 0; i < smaps->areas.count; i++)
		smaps->areas.at[i].text = mappings_text(watch, smaps->areas.at[i].path);
	segments_observe(&p->memory->segments, smaps->areas.at, smaps->areas.count, watch->flux.at,
			 watch->flux.count, now);
	find_own(p, now);
	find_modules(p, now);
	find_stacks(watch, p, now);
	make_parts(watch, p, want_counted);
}

void residency_count(struct mappings_watch *watch, struct process *p)
{
	struct counting counting = { .watch = watch, .stats = &p->stats };

	make_parts(watch, p, deal);
	registry_each(&p->registry, count_block, &counting);
	watch->live_blocks = counting.blocks;
	watch->live_bytes = counting.bytes;
	find_malloc(watch, p->memory);
}

/* ---- rows ---- */

static void put_portions(struct output *output, struct vm_segment *g, const struct portion *now,
			 uint64_t ns)
{
	for (unsigned i = 0; i < PORTIONS; i++) {
		struct store_residency row = { .segment = g->id,
					       .malloc = i == PORTION_MALLOC,
					       .time = ns,
					       .committed = now[i].committed,
					       .rss = now[i].rss,
					       .pss = now[i].pss,
					       .private_bytes = now[i].private,
					       .swap = now[i].swap,
					       .live_blocks = now[i].live_blocks,
					       .live_bytes = now[i].live_bytes };

		if (!memcmp(&now[i], &g->last[i], sizeof(now[i])))
			continue;
		OUTPUT_PUT(output, store_put_residency, &row);
		g->last[i] = now[i];
	}
}

static void add_part(struct portion *to, const struct part *part, bool malloc)
{
	to->committed += part->committed;
	to->rss += part->rss;
	to->pss += part->pss;
	to->private += part->private;
	to->swap += part->swap;
	to->live_blocks += malloc ? part->malloc_blocks : part->other_blocks;
	to->live_bytes += malloc ? part->malloc_bytes : part->other_bytes;
}

/* Writes the memory in no segment: in flux, or of a process that is not readable. */
static void put_remainder(struct mappings_watch *watch, struct output *output, struct process *p,
			  const struct portion *rest, uint64_t now, uint64_t ns)
{
	struct mappings *m = p->memory;
	struct portion portions[PORTIONS] = { [PORTION_OTHER] = *rest };

	if (!m->remainder && (rest->rss || rest->swap || rest->pss || rest->private)) {
		m->remainder = mem_zero(1, sizeof(*m->remainder));
		*m->remainder = (struct vm_segment){ .id = ++watch->ids,
						     .process = p->id,
						     .born = now,
						     .source = SEGMENT_SEEN,
						     .anonymous = true,
						     .changed = true,
						     .sampled = true };
		m->remainder->origin = m->remainder->id;
	}
	if (m->remainder)
		put_portions(output, m->remainder, portions, ns);
}

void residency_put(struct mappings_watch *watch, struct output *output, struct process *p,
		   uint64_t now)
{
	struct mappings *m = p->memory;
	const struct smaps *all = &watch->sample.smaps;
	uint64_t ns = ticks_ns_then(&output->ticks, now);
	struct portion rest = {
		.rss = all->rss, .pss = all->pss, .private = all->private, .swap = all->swap
	};
	struct store_memory row = { .process = p->id,
				    .time = ns,
				    .areas = all->areas.count,
				    .rss = all->rss,
				    .pss = all->pss,
				    .private_bytes = all->private,
				    .swap = all->swap,
				    .live_blocks = watch->live_blocks,
				    .live_bytes = watch->live_bytes };
	size_t region = 0;

	for (size_t i = 0; i < m->segments.pieces.count;) {
		struct vm_segment *g = m->segments.pieces.at[i].segment;
		struct portion portions[PORTIONS] = { 0 };

		for (; i < m->segments.pieces.count && m->segments.pieces.at[i].segment == g; i++)
			;
		for (struct part *part = part_of(watch, g->start);
		     part && part < watch->parts.at + watch->parts.count && part->start < g->end;
		     part++) {
			bool malloc = is_malloc(watch, m, part, &region);

			if (part->segment != g)
				continue;
			add_part(&portions[malloc ? PORTION_MALLOC : PORTION_OTHER], part, malloc);
			rest.rss -= part->rss;
			rest.pss -= part->pss;
			rest.private -= part->private;
			rest.swap -= part->swap;
		}
		if (watch->sample.error)
			portions[PORTION_OTHER].committed = g->committed;
		g->sampled = true;
		put_portions(output, g, portions, ns);
	}
	put_remainder(watch, output, p, &rest, now, ns);
	row.cost = watch->sample_cost;
	OUTPUT_PUT(output, store_put_memory, &row);
	row.cost = 0;
	m->seen = row;
	m->before = watch->sample_still;
	m->before.events = p->events;
}
