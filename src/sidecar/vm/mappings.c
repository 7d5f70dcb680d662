/* SPDX-License-Identifier: Apache-2.0 */
/* mappings.c: see mappings.h. */
#define _GNU_SOURCE
#include "mappings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../symbolizer/sym.h"
#include "mappings_state.h"
#include "owners.h"
#include "../state/output.h"
#include "../state/people.h"

/* ---- calls ---- */

static bool page_range(uint64_t start, uint64_t bytes, uint64_t *end)
{
	*end = (start + bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
	return start % MEMORY_PAGE == 0 && bytes && bytes < UINT64_C(1) << 47 && *end > start &&
	       *end <= UINT64_C(1) << 47;
}

/* Notes a range that a call changed while the list was read, or later: the list may be older or
 * newer there than the call. */
static void fluid(struct mappings_watch *watch, const struct process *p, uint64_t start,
		  uint64_t end, uint64_t time)
{
	if (watch->sampled == p && time >= watch->sample_began)
		*vec_push(&watch->flux) = (struct flux){ start, end };
}

static void mapped(struct mappings_watch *watch, struct process *p, const struct shiny_map *map,
		   uint64_t end, uint32_t stack, uint64_t time)
{
	bool anonymous = map->flags & MAP_ANONYMOUS;
	struct vm_segment what = { .start = map->address,
				   .end = end,
				   .offset = anonymous ? 0 : map->offset,
				   .stack = stack,
				   .flags = map->flags,
				   .prot = map->prot & 7,
				   .source = SEGMENT_MMAP,
				   .shared = (map->flags & MAP_TYPE) != MAP_PRIVATE,
				   .anonymous = anonymous };

	segments_map(&p->memory->segments, &what, time);
	fluid(watch, p, what.start, what.end, time);
}

void mappings_call(struct mappings_watch *watch, struct process *p, const struct shiny_map *map,
		   unsigned call, uint32_t stack, uint64_t time)
{
	struct segments *s = &p->memory->segments;
	char name[SHINY_MAP_NAME_MAX + 1] = "";
	/* 0: early calls, which the library reports all at once */
	uint64_t end, old_end, begun = map->begun ? map->begun : UINT64_MAX;

	switch (call) {
	case SHINY_MAP_MMAP:
		if (page_range(map->address, map->bytes, &end))
			mapped(watch, p, map, end, stack, time);
		break;
	case SHINY_MAP_MUNMAP:
		if (!page_range(map->address, map->bytes, &end))
			break;
		segments_unmap(s, map->address, end, begun, time);
		fluid(watch, p, map->address, end, time);
		break;
	case SHINY_MAP_MREMAP:
		if (!page_range(map->address, map->bytes, &end) || map->old_address % MEMORY_PAGE ||
		    (map->old_bytes && !page_range(map->old_address, map->old_bytes, &old_end)))
			break;
		if (!map->old_bytes)
			old_end = map->old_address;
		segments_move(s, map->old_address, old_end - map->old_address, map->address,
			      end - map->address, map->flags, stack, begun, time);
		fluid(watch, p, map->address, end, time);
		fluid(watch, p, map->old_address, old_end, time);
		break;
	case SHINY_MAP_MPROTECT:
		if (!page_range(map->address, map->bytes, &end))
			break;
		segments_protect(s, map->address, end, map->prot, begun);
		fluid(watch, p, map->address, end, time);
		break;
	case SHINY_MAP_BRK:
		if (map->address >> 47 || map->old_address >> 47)
			break;
		segments_break(s, map->old_address, map->address, stack, watch->heap, time);
		fluid(watch, p, map->address < map->old_address ? map->address : map->old_address,
		      map->address > map->old_address ? map->address + MEMORY_PAGE
						      : map->old_address + MEMORY_PAGE,
		      time);
		break;
	case SHINY_MAP_NAME:
		memcpy(name, map->name, SHINY_MAP_NAME_MAX);
		if (page_range(map->address, map->bytes, &end))
			segments_name(s, map->address, end, mappings_text(watch, name), time);
		break;
	default:
		break;
	}
}

void mappings_fork(struct process *child, const struct process *parent)
{
	segments_clone(&child->memory->segments, &parent->memory->segments, child->fork_at);
	for (size_t i = 0; i < parent->memory->malloc_regions.count; i++)
		*vec_push(&child->memory->malloc_regions) = parent->memory->malloc_regions.at[i];
}

/* ---- owners ---- */

struct judge {
	struct mappings_watch *watch;
	const struct ids *ids;
	struct sym_module **modules; /* NULL: judges without functions */
};

static void facts_of_stack(const struct judge *judge, uint32_t stack, struct owner_facts *facts)
{
	const struct ids *ids = judge->ids;
	const struct id_stack *s =
		stack && stack <= ids->stacks.count ? &ids->stacks.at[stack - 1] : NULL;

	for (uint32_t i = 0; s && i < s->count && i < OWNER_FRAMES; i++) {
		uint32_t frame = ids->stack_frames.at[s->first + i];
		const struct id_place *f = frame ? &ids->frames.at[frame - 1] : NULL;
		struct sym_frame lines[4];
		size_t count;

		if (!f || !f->module)
			continue;
		facts->callers[i] = ids->modules.at[f->module - 1].path;
		if (!judge->modules)
			continue;
		count = sym_frames(judge->modules[f->module], f->vaddr - 1, lines, 4);
		if (count)
			facts->functions[i] = lines[(count < 4 ? count : 4) - 1].function;
	}
}

static void judge_segment(const struct judge *judge, struct vm_segment *g)
{
	struct mappings_watch *watch = judge->watch;
	const struct ids *ids = judge->ids;
	struct owner_facts facts = { .start = g->start,
				     .bytes = g->end - g->start,
				     .own = g->own,
				     .blocks = g->blocks,
				     .heap = g->heap,
				     .call = g->stack != 0,
				     .seen = !g->stack,
				     .name = mappings_text_of(watch, g->name),
				     .file = mappings_text_of(watch, g->file),
				     .thread = mappings_text_of(watch, g->thread),
				     .tls = g->tls,
				     .module = g->module ? ids->modules.at[g->module - 1].path
							 : NULL };
	const char *says;
	unsigned owner;
	uint32_t detail;

	facts_of_stack(judge, g->stack, &facts);
	owner = owners_find(&facts, &says) + 1;
	detail = mappings_text(watch, says);
	if (owner == g->owner && detail == g->detail)
		return;
	g->owner = (uint16_t)owner;
	g->detail = detail;
	g->changed = true;
}

static void judge_if_news(const struct judge *judge, struct vm_segment *g)
{
	if (judge->modules || g->changed || !g->owner)
		judge_segment(judge, g);
}

static void lend_owner(struct vm_segment *to, const struct vm_segment *from)
{
	if (to->owner == from->owner && to->detail == from->detail)
		return;
	to->owner = from->owner;
	to->detail = from->detail;
	to->changed = true;
}

static bool is_guard(const struct vm_segment *g)
{
	return !g->committed && g->anonymous && !g->shared && g->source >= SEGMENT_SEEN &&
	       !g->name && !g->stack;
}

static bool owned_by(const struct vm_segment *g, const char *owner)
{
	return g->owner && !strcmp(owners_name(g->owner - 1u), owner);
}

/*
 * Finds the owners of a process's segments, in order of address: an inaccessible guard in front of
 * a stack or behind malloc's memory has the same owner. Only new and changed segments are judged,
 * as a Chromium has 8,000 of them, and this runs each second.
 */
static void judge_process(const struct judge *judge, const struct process *p)
{
	const struct segments *s = &p->memory->segments;
	struct vm_segment *before = NULL, *guard = NULL;

	for (size_t i = 0; i < s->pieces.count; i++) {
		struct vm_segment *g = s->pieces.at[i].segment;

		if (i && s->pieces.at[i - 1].segment == g)
			continue;
		if (before && before->end != g->start)
			before = guard = NULL;
		if (is_guard(g) && before && owned_by(before, "malloc")) {
			lend_owner(g, before);
		} else if (is_guard(g)) {
			guard = g;
			before = NULL;
			continue;
		} else {
			judge_if_news(judge, g);
		}
		if (guard && owned_by(g, "stacks"))
			lend_owner(guard, g);
		else if (guard)
			judge_if_news(judge, guard);
		guard = NULL;
		before = g;
	}
	if (guard)
		judge_if_news(judge, guard);
}

/* ---- rows ---- */

static void put_segment(struct mappings_watch *watch, struct output *output, struct vm_segment *g)
{
	static const char *const sources[] = { "mmap", "mremap", "brk", "list", "fork" };
	struct store_segment row = { .id = g->id,
				     .process = g->process,
				     .origin = g->origin,
				     .start = g->start,
				     .end = g->end,
				     /* as its first sample's, whatever the rate is now */
				     .born = ticks_ns_then(&output->ticks, g->born),
				     .ended = g->ended ? ticks_ns_then(&output->ticks, g->ended)
						       : 0,
				     .source = sources[g->source],
				     .stack = g->stack,
				     .prot = g->prot,
				     .flags = g->flags,
				     .shared = g->shared,
				     .file = mappings_text_of(watch, g->file),
				     .offset = g->offset,
				     .name = mappings_text_of(watch, g->name),
				     .owner =
					     g->owner ? owners_name(g->owner - 1u) : "unclassified",
				     .detail = mappings_text_of(watch, g->detail) };

	if (row.ended && row.ended <= row.born)
		row.ended = row.born + 1;
	OUTPUT_PUT(output, store_put_segment, &row);
	g->changed = false;
}

/* Moves ended segments from their process to the session. Drops those that no sample and no call
 * showed; of those that lived between two samples, keeps the first MEMORY_BRIEF_MAX. */
static void collect_past(struct mappings_watch *watch, const struct output *output,
			 struct process *p)
{
	struct segments *s = &p->memory->segments;
	struct judge judge = { watch, &output->ids, NULL };

	for (size_t i = 0; i < s->past.count; i++) {
		struct vm_segment *g = s->past.at[i];

		if (!g->sampled &&
		    (g->source >= SEGMENT_SEEN || watch->brief >= MEMORY_BRIEF_MAX)) {
			watch->brief_dropped += g->source < SEGMENT_SEEN;
			free(g);
			continue;
		}
		watch->brief += !g->sampled;
		if (!g->owner)
			judge_segment(&judge, g);
		*vec_push(&watch->past) = g;
	}
	s->past.count = 0;
}

static void put_process(struct mappings_watch *watch, struct output *output,
			const struct process *p)
{
	const struct segments *s = &p->memory->segments;

	for (size_t i = 0; i < s->pieces.count; i++)
		if (s->pieces.at[i].segment->changed)
			put_segment(watch, output, s->pieces.at[i].segment);
	if (p->memory->remainder && p->memory->remainder->changed)
		put_segment(watch, output, p->memory->remainder);
}

static void put_past(struct mappings_watch *watch, struct output *output, size_t from)
{

	for (size_t i = from; i < watch->past.count; i++)
		if (watch->past.at[i]->changed)
			put_segment(watch, output, watch->past.at[i]);
}

static void write_process(struct mappings_watch *watch, struct output *output, struct process *p)
{
	collect_past(watch, output, p);
	judge_process(&(struct judge){ watch, &output->ids, NULL }, p);
	put_process(watch, output, p);
}

void mappings_write(const struct people *people, struct output *output)
{
	size_t before = people->memory->past.count;

	if (!output->store)
		return;
	for (size_t i = 0; i < people->running.count; i++)
		write_process(people->memory, output, people->running.at[i]);
	put_past(people->memory, output, before);
}

void mappings_end(struct mappings_watch *watch, struct output *output, struct process *p)
{
	size_t before = watch->past.count;

	if (watch->sampled == p)
		watch->sampled = NULL;
	if (!output->store)
		return;
	write_process(watch, output, p);
	put_past(watch, output, before);
}

void mappings_finish(const struct people *people, struct output *output,
		     struct sym_module **modules)
{
	struct mappings_watch *watch = people->memory;
	struct judge judge = { watch, &output->ids, modules };

	for (size_t i = 0; i < people->all.count; i++)
		write_process(people->memory, output, people->all.at[i]);
	for (size_t i = 0; i < watch->past.count; i++) {
		struct vm_segment *g = watch->past.at[i];

		/* segments from the kernel's list alone are judged by their neighbours already */
		if (g->stack)
			judge_segment(&judge, g);
	}
	put_past(people->memory, output, 0);
	for (size_t i = 0; i < people->all.count; i++) {
		const struct process *p = people->all.at[i];

		judge_process(&judge, p);
		put_process(people->memory, output, p);
		if (p->memory->segments.corrected)
			OUTPUT_PUT(output, store_put_counter, p->id, "SEGMENTS_CORRECTED", "note",
				   p->memory->segments.corrected,
				   "changes of mapped memory that no call told "
				   "of: /proc/PID/smaps did");
	}
	if (watch->brief_dropped)
		OUTPUT_PUT(output, store_put_counter, 0, "SEGMENTS_BRIEF", "note",
			   watch->brief_dropped,
			   "mappings that came and went between two samples, beyond "
			   "those kept: only their calls are in the session");
	OUTPUT_PUT(output, store_put_number, "memory_period_ns", watch->period);
	OUTPUT_PUT(output, store_put_number, "memory_samples", watch->samples);
	OUTPUT_PUT(output, store_put_number, "memory_cost_ns", watch->cost);
	OUTPUT_PUT(output, store_put_number, "memory_longest_ns", watch->longest);
}
