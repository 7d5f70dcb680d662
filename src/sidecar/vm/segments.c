/* SPDX-License-Identifier: Apache-2.0 */
/* segments.c: see segments.h. */
#define _GNU_SOURCE
#include "segments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../base/lower_bound.h"

#define NEVER UINT64_MAX

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static uint64_t accessible(const struct piece *p)
{
	return p->prot & (PROT_READ | PROT_WRITE | PROT_EXEC) ? p->end - p->start : 0;
}

void segments_init(struct segments *s, uint32_t *ids)
{
	*s = (struct segments){ .ids = ids };
}

void segments_deinit(struct segments *s)
{
	for (size_t i = 0; i < s->pieces.count; i++)
		if (i + 1 == s->pieces.count ||
		    s->pieces.at[i + 1].segment != s->pieces.at[i].segment)
			free(s->pieces.at[i].segment);
	for (size_t i = 0; i < s->past.count; i++)
		free(s->past.at[i]);
	free(s->pieces.at);
	free(s->past.at);
	*s = (struct segments){ 0 };
}

size_t segments_find(const struct segments *s, uint64_t address)
{
	return lower_bound(s->pieces.count, i, s->pieces.at[i].end <= address);
}

/* ---- pieces ---- */

static void insert(struct segments *s, size_t at, struct piece piece)
{
	(void)vec_push(&s->pieces);
	memmove(&s->pieces.at[at + 1], &s->pieces.at[at],
		(s->pieces.count - 1 - at) * sizeof(*s->pieces.at));
	s->pieces.at[at] = piece;
}

static void erase(struct segments *s, size_t from, size_t to)
{
	memmove(&s->pieces.at[from], &s->pieces.at[to],
		(s->pieces.count - to) * sizeof(*s->pieces.at));
	s->pieces.count -= to - from;
}

/* Splits the piece at `address`; returns the index of the first piece that starts there or
 * later. */
static size_t cut(struct segments *s, uint64_t address)
{
	size_t i = segments_find(s, address);

	if (i < s->pieces.count && s->pieces.at[i].start < address) {
		struct piece behind = s->pieces.at[i];

		s->pieces.at[i].end = behind.start = address;
		insert(s, ++i, behind);
	}
	return i;
}

/* Joins pieces that no longer differ, from the one in front of `from` to the one behind `to`. */
static void join(struct segments *s, size_t from, size_t to)
{
	size_t kept = from ? from - 1 : 0, i = kept + 1;

	for (; i <= to && i < s->pieces.count; i++) {
		struct piece *a = &s->pieces.at[kept], *b = &s->pieces.at[i];

		if (a->segment == b->segment && a->prot == b->prot)
			a->end = b->end;
		else
			s->pieces.at[++kept] = *b;
	}
	if (i > kept + 1 && i <= s->pieces.count)
		erase(s, kept + 1, i);
}

/* ---- segments ---- */

static struct vm_segment *begin(struct segments *s, const struct vm_segment *like, uint64_t start,
				uint64_t end, uint64_t time)
{
	struct vm_segment *g = mem_alloc(sizeof(*g));

	*g = *like;
	g->id = ++*s->ids;
	g->process = s->process;
	g->start = start;
	g->end = end;
	g->born = time;
	g->ended = g->committed = 0;
	g->sampled = false;
	g->changed = true;
	memset(g->last, 0, sizeof(g->last));
	if (!g->origin)
		g->origin = g->id;
	return g;
}

static void end(struct segments *s, struct vm_segment *g, uint64_t time)
{
	g->ended = time > g->born ? time : g->born + 1;
	g->changed = true;
	*vec_push(&s->past) = g;
}

/* Gives the pieces from index `i` on that lie below `to` to `g`, and counts what they commit. */
static void give(struct segments *s, size_t i, uint64_t to, struct vm_segment *g)
{
	g->committed = 0;
	for (; i < s->pieces.count && s->pieces.at[i].start < to; i++) {
		s->pieces.at[i].segment = g;
		g->committed += accessible(&s->pieces.at[i]);
	}
}

/* Replaces `g` by its part [start, stop); the pieces of that part exist. */
static struct vm_segment *rebound(struct segments *s, struct vm_segment *g, uint64_t start,
				  uint64_t stop, uint64_t time)
{
	uint64_t further = g->anonymous ? 0 : start - g->start;
	struct vm_segment *next = g;

	if (g->sampled) {
		next = begin(s, g, start, stop, time);
		end(s, g, time);
	} else {
		g->start = start;
		g->end = stop;
		g->changed = true;
	}
	next->offset += further;
	give(s, segments_find(s, start), stop, next);
	return next;
}

/* Removes [from, to) from `g`. */
static void release(struct segments *s, struct vm_segment *g, uint64_t from, uint64_t to,
		    uint64_t time)
{
	uint64_t start = g->start, stop = g->end;
	size_t i = cut(s, from), k = cut(s, to);
	struct vm_segment *right;

	erase(s, i, k);
	if (from == start && to == stop) {
		end(s, g, time);
	} else if (from == start) {
		rebound(s, g, to, stop, time);
	} else if (to == stop) {
		rebound(s, g, start, from, time);
	} else {
		right = begin(s, g, to, stop, g->sampled ? time : g->born);
		if (!right->anonymous)
			right->offset += to - start;
		give(s, segments_find(s, to), stop, right);
		rebound(s, g, start, from, time);
	}
}

void segments_unmap(struct segments *s, uint64_t start, uint64_t stop, uint64_t begun,
		    uint64_t time)
{
	while (start < stop) {
		size_t i = segments_find(s, start);
		struct vm_segment *g = i < s->pieces.count && s->pieces.at[i].start < stop
					       ? s->pieces.at[i].segment
					       : NULL;
		uint64_t next;

		if (!g)
			return;
		next = g->end;
		if (g->mapped <= begun)
			release(s, g, g->start > start ? g->start : start,
				g->end < stop ? g->end : stop, time);
		start = next;
	}
}

/* Adds a segment, removing all that it overlaps. */
static struct vm_segment *put(struct segments *s, const struct vm_segment *what, uint64_t start,
			      uint64_t stop, unsigned prot, uint64_t time)
{
	struct vm_segment *g;

	segments_unmap(s, start, stop, NEVER, time);
	g = begin(s, what, start, stop, time);
	insert(s, segments_find(s, start), (struct piece){ start, stop, g, (uint8_t)prot });
	g->committed = accessible(&s->pieces.at[segments_find(s, start)]);
	return g;
}

static struct vm_segment *at_address(const struct segments *s, uint64_t address)
{
	size_t i = segments_find(s, address);

	return i < s->pieces.count && s->pieces.at[i].start <= address ? s->pieces.at[i].segment
								       : NULL;
}

void segments_map(struct segments *s, const struct vm_segment *what, uint64_t time)
{
	struct vm_segment *there = at_address(s, what->start), fresh = *what;

	if (what->start >= what->end)
		return;
	if (there && what->flags & MAP_FIXED && what->anonymous && !what->shared &&
	    there->anonymous && !there->shared && there->start <= what->start &&
	    what->end <= there->end && what->end - what->start < there->end - there->start) {
		segments_protect(s, what->start, what->end, what->prot, NEVER);
		return;
	}
	fresh.origin = 0;
	fresh.mapped = time;
	put(s, &fresh, what->start, what->end, what->prot, time);
}

/* Sets the protection of all segments in a range; the kernel's list may have further bits. */
static void set_prot(struct segments *s, uint64_t start, uint64_t stop, unsigned prot,
		     uint64_t begun)
{
	size_t first = cut(s, start), i, last = cut(s, stop);

	for (i = first; i < last; i++) {
		struct piece *p = &s->pieces.at[i];

		if (p->segment->mapped > begun)
			continue;
		p->segment->committed -= accessible(p);
		p->prot = (uint8_t)prot;
		p->segment->committed += accessible(p);
	}
	join(s, first, last);
}

void segments_protect(struct segments *s, uint64_t start, uint64_t stop, unsigned prot,
		      uint64_t begun)
{
	if (start < stop)
		set_prot(s, start, stop, prot & (PROT_READ | PROT_WRITE | PROT_EXEC), begun);
}

/* Extends `g` to `stop`. */
static void extend(struct segments *s, struct vm_segment *g, uint64_t stop, unsigned prot,
		   uint64_t time)
{
	uint64_t from = g->end;
	size_t i;

	segments_unmap(s, from, stop, NEVER, time);
	i = segments_find(s, from);
	insert(s, i, (struct piece){ from, stop, g, (uint8_t)prot });
	g = rebound(s, g, g->start, stop, time);
	join(s, i, i);
}

void segments_move(struct segments *s, uint64_t old, uint64_t old_bytes, uint64_t at,
		   uint64_t bytes, unsigned flags, uint32_t stack, uint64_t begun, uint64_t time)
{
	size_t i = segments_find(s, old);
	struct piece *p = i < s->pieces.count && s->pieces.at[i].start <= old &&
					  s->pieces.at[i].segment->mapped <= begun
				  ? &s->pieces.at[i]
				  : NULL;
	struct vm_segment like = { .anonymous = true };
	unsigned prot = PROT_READ | PROT_WRITE;

	if (p) {
		like = *p->segment;
		prot = p->prot;
		like.offset += like.anonymous ? 0 : old - like.start;
	}
	if (at == old && bytes <= old_bytes) {
		segments_unmap(s, at + bytes, old + old_bytes, begun, time);
		return;
	}
	if (at == old && p && p->segment->end == old + old_bytes) {
		extend(s, p->segment, at + bytes, prot, time);
		return;
	}
	if (at != old && !(flags & MREMAP_DONTUNMAP) && old_bytes)
		segments_unmap(s, old, old + old_bytes, begun, time);
	like.origin = 0;
	like.mapped = time;
	like.stack = stack;
	like.source = SEGMENT_MREMAP;
	like.prot = (uint8_t)prot;
	put(s, &like, at, at + bytes, prot, time);
}

void segments_break(struct segments *s, uint64_t from, uint64_t to, uint32_t stack, uint32_t name,
		    uint64_t time)
{
	const uint64_t page = 4096;
	struct vm_segment *below;

	from = (from + page - 1) / page * page;
	to = (to + page - 1) / page * page;
	if (to <= from) {
		segments_unmap(s, to, from, NEVER, time);
		return;
	}
	below = from ? at_address(s, from - 1) : NULL;
	if (below && below->name == name && below->end == from) {
		extend(s, below, to, PROT_READ | PROT_WRITE, time);
		return;
	}
	put(s,
	    &(struct vm_segment){ .anonymous = true,
				  .source = SEGMENT_BRK,
				  .prot = PROT_READ | PROT_WRITE,
				  .stack = stack,
				  .name = name,
				  .mapped = time },
	    from, to, PROT_READ | PROT_WRITE, time);
}

/* Splits [from, to) of `g` off as a segment; the parts beside it stay mapped. */
static struct vm_segment *part(struct segments *s, struct vm_segment *g, uint64_t from, uint64_t to,
			       uint64_t time)
{
	uint64_t start = g->start, stop = g->end;
	struct vm_segment *right;

	cut(s, from);
	cut(s, to);
	if (to < stop) {
		right = begin(s, g, to, stop, g->sampled ? time : g->born);
		if (!right->anonymous)
			right->offset += to - start;
		give(s, segments_find(s, to), stop, right);
	}
	if (from == start)
		return rebound(s, g, from, to, time);
	right = begin(s, g, from, to, g->sampled ? time : g->born);
	if (!right->anonymous)
		right->offset += from - start;
	give(s, segments_find(s, from), to, right);
	rebound(s, g, start, from, time);
	return right;
}

struct vm_segment *segments_split(struct segments *s, uint64_t start, uint64_t stop, uint64_t time)
{
	struct vm_segment *g = at_address(s, start);

	if (!g || start >= stop || g->end < stop)
		return NULL;
	return start == g->start && stop == g->end ? g : part(s, g, start, stop, time);
}

void segments_name(struct segments *s, uint64_t start, uint64_t stop, uint32_t name, uint64_t time)
{
	while (start < stop) {
		size_t i = segments_find(s, start);
		struct vm_segment *g = i < s->pieces.count && s->pieces.at[i].start < stop
					       ? s->pieces.at[i].segment
					       : NULL;
		uint64_t from, to;

		if (!g)
			return;
		from = g->start > start ? g->start : start;
		to = g->end < stop ? g->end : stop;
		start = g->end;
		if (g->name == name || !g->anonymous)
			continue;
		if (from != g->start || to != g->end)
			g = part(s, g, from, to, time);
		g->name = name;
		g->changed = true;
	}
}

void segments_clone(struct segments *child, const struct segments *parent, uint64_t time)
{
	const struct vm_segment *of = NULL;
	struct vm_segment *copy = NULL;

	for (size_t i = 0; i < parent->pieces.count; i++) {
		const struct piece *p = &parent->pieces.at[i];
		struct piece *to;

		if (p->segment->mapped > time)
			continue;
		if (p->segment != of) {
			of = p->segment;
			copy = begin(child, of, of->start, of->end, time);
			copy->source = SEGMENT_INHERITED;
			copy->committed = of->committed;
			copy->thread = 0;
		}
		to = vec_push(&child->pieces);
		*to = *p;
		to->segment = copy;
	}
}

/* ---- the kernel's list ---- */

static bool fluid(const struct flux *flux, size_t count, uint64_t start, uint64_t stop)
{
	for (size_t i = 0; i < count; i++)
		if (flux[i].start < stop && start < flux[i].end)
			return true;
	return false;
}

/* Ends segments between two areas of the list. */
static void clear(struct segments *s, uint64_t start, uint64_t stop, const struct flux *flux,
		  size_t flux_count, uint64_t time)
{
	while (start < stop) {
		size_t i = segments_find(s, start);
		const struct piece *p = i < s->pieces.count && s->pieces.at[i].start < stop
						? &s->pieces.at[i]
						: NULL;
		uint64_t from, to;

		if (!p)
			return;
		from = p->start > start ? p->start : start;
		to = p->end < stop ? p->end : stop;
		start = to;
		if (fluid(flux, flux_count, from, to))
			continue;
		s->corrected += p->segment->source < SEGMENT_SEEN;
		release(s, p->segment, from, to, time);
	}
}

static bool has_file(const struct smaps_area *area)
{
	return area->inode || *area->path == '/';
}

static struct vm_segment seen_as(const struct smaps_area *area, uint64_t start)
{
	return (struct vm_segment){ .source = SEGMENT_SEEN,
				    .shared = area->shared,
				    .anonymous = !has_file(area),
				    .prot = area->prot,
				    .offset = has_file(area) ? area->offset + (start - area->start)
							     : 0,
				    .inode = area->inode,
				    .device = area->device,
				    .file = has_file(area) ? area->text : 0,
				    .name = has_file(area) ? 0 : area->text };
}

/* True if the area can be this segment; then adds what only the list has. */
static bool agrees(struct vm_segment *g, const struct smaps_area *area)
{
	if (g->shared != area->shared)
		return false;
	if (!has_file(area)) {
		if (!g->anonymous)
			return false;
		if (area->text && g->name != area->text &&
		    (!g->name || g->source >= SEGMENT_SEEN)) {
			g->name = area->text;
			g->changed = true;
		}
		return true;
	}
	if (g->anonymous && !g->shared)
		return false;
	if (g->file)
		return g->inode == area->inode && g->device == area->device;
	g->file = area->text;
	g->inode = area->inode;
	g->device = area->device;
	g->changed = true;
	return true;
}

static bool alike(const struct vm_segment *a, const struct vm_segment *b)
{
	return a->source == SEGMENT_SEEN && b->source == SEGMENT_SEEN && a->shared == b->shared &&
	       a->anonymous == b->anonymous && a->name == b->name && a->file == b->file &&
	       a->inode == b->inode && a->thread == b->thread && a->module == b->module &&
	       a->tls == b->tls && a->own == b->own;
}

/* Unites segments known only from the list that are one area of it: the area grew, or was found in
 * steps. */
static void unite(struct segments *s, const struct smaps_area *area, uint64_t time)
{
	for (size_t i = segments_find(s, area->start);
	     i + 1 < s->pieces.count && s->pieces.at[i + 1].start < area->end; i++) {
		struct vm_segment *a = s->pieces.at[i].segment, *b = s->pieces.at[i + 1].segment,
				  *one;

		if (a == b || a->end != b->start || a->start < area->start || b->end > area->end ||
		    !alike(a, b))
			continue;
		one = rebound(s, a, a->start, b->end, time);
		one->blocks |= b->blocks;
		if (b->sampled)
			end(s, b, time);
		else
			free(b);
		join(s, i + 1, i + 1);
		/* continue from `one`, whose pieces may have moved */
		i = segments_find(s, one->start) - 1;
	}
}

static void compare(struct segments *s, const struct smaps_area *area, const struct flux *flux,
		    size_t flux_count, uint64_t time)
{
	uint64_t at = area->start;

	while (at < area->end) {
		size_t i = segments_find(s, at);
		struct piece *p = i < s->pieces.count && s->pieces.at[i].start < area->end
					  ? &s->pieces.at[i]
					  : NULL;
		uint64_t to = !p		   ? area->end
			      : p->start > at	   ? p->start
			      : p->end < area->end ? p->end
						   : area->end;
		struct vm_segment seen = seen_as(area, at);

		if (fluid(flux, flux_count, at, to)) {
			at = to;
			continue;
		}
		if (!p || p->start > at) {
			put(s, &seen, at, to, area->prot, time);
		} else if (!agrees(p->segment, area)) {
			s->corrected += p->segment->source < SEGMENT_SEEN;
			put(s, &seen, at, to, area->prot, time);
		} else if (p->prot != area->prot) {
			s->corrected += p->segment->source < SEGMENT_SEEN;
			set_prot(s, at, to, area->prot, NEVER);
		}
		at = to;
	}
	unite(s, area, time);
}

void segments_observe(struct segments *s, const struct smaps_area *areas, size_t count,
		      const struct flux *flux, size_t flux_count, uint64_t time)
{
	uint64_t from = 0;

	for (size_t i = 0; i < count; i++) {
		clear(s, from, areas[i].start, flux, flux_count, time);
		compare(s, &areas[i], flux, flux_count, time);
		from = areas[i].end;
	}
	clear(s, from, NEVER, flux, flux_count, time);
}
