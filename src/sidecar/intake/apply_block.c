/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_block.c: see apply_block.h.
 *
 * Which reading of a vptr counts: a block's class is in its first word between the end of its
 * construction and the start of its destruction. SETTLED (a later allocation pushed it out of the
 * nursery) and EXIT are read then, unless a constructor allocates much: its own allocations may
 * push its object out, and the word is that of a base class. Such a reading is doubted
 * (may_be_within()). A reading of the same call site and vtable without doubt proves that the class
 * is the block's, as a new-expression creates objects of one class. FLUSH may catch a base
 * constructor; FREE finds what the destructors left. So SETTLED = EXIT > FLUSH > FREE, and within a
 * rank the last one wins. The second word is a vptr only behind an array cookie: it counts for
 * new[] of at least 16 bytes, and never against a first word.
 */
#include "apply_block.h"

#include "apply_ahead.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t ranks[4] = { [SHINY_VPTR_SETTLED] = 3,
				  [SHINY_VPTR_FLUSH] = 2,
				  [SHINY_VPTR_EXIT] = 3,
				  [SHINY_VPTR_FREE] = 1 };

enum { DOUBLE_STEPS = 16 << 20 };
/* WRAPPERS: most frames of wrappers around the call that allocated a block. FURTHER_ON: bytes of
 * code behind that call in which its constructor may be called, or may be inlined. */
enum { WRAPPERS = 4, FURTHER_ON = 1024 };

static void watched_ended(struct output *output, const struct stream *s, const struct entry *entry,
			  bool moved, uint64_t time)
{
	*vec_push(&output->watched_ends) =
		(struct watched_end){ s->process->id, moved, time, *entry };
}

/* Counts the end of a block that has left the registry, at `time` (ticks; `ns` of the session). */
static inline __attribute__((always_inline)) void
block_ended(struct output *output, struct stream *s, const struct entry *entry, enum block_end how,
	    uint64_t time, uint64_t ns)
{
	struct process *p = s->process;
	int64_t age = ticks_scale(&output->ticks, (int64_t)(time - entry->birth));

	stats_end(&p->stats, entry, how, ns, age > 0 ? (uint64_t)age : 0);
	output->frees += stats_weight(&p->stats, entry);
	if (__builtin_expect(entry->flags & ENTRY_WATCHED, 0))
		watched_ended(output, s, entry, false, time);
	deaths_add(&p->deaths, entry, time, &output->ticks);
}

void apply_block_ended(struct output *output, struct stream *s, const struct entry *entry,
		       enum block_end how, uint64_t ns)
{
	block_ended(output, s, entry, how, s->head.time, ns);
}

/* Ends the block that was at the address of a new one. A pool gives an object without bytes the
 * address of its next one. */
static __attribute__((noinline, cold)) void
block_replaced(struct output *output, struct stream *s, const struct entry *old, uint64_t time,
	       uint64_t ns)
{
	s->process->noticed.reused += old->size || !s->process->within;
	block_ended(output, s, old, END_REUSED, time, ns);
}

static inline __attribute__((always_inline)) bool
begin_block(struct output *output, struct stream *s, const struct entry *entry, uint64_t ns)
{
	struct process *p = s->process;
	bool there = false;
	struct entry *cell =
		entry->address ? registry_enter(&p->registry, entry->address, &there) : NULL;

	if (__builtin_expect(!cell, 0)) {
		p->noticed.refused++;
		return false;
	}
	if (__builtin_expect(there, 0))
		block_replaced(output, s, cell, entry->birth, ns);
	entry_fill(cell, entry);
	stats_begin(&p->stats, entry, ns);
	output->allocs += stats_weight(&p->stats, entry);
	return true;
}

bool apply_block_began(struct output *output, struct stream *s, const struct entry *entry,
		       uint64_t ns)
{
	return begin_block(output, s, entry, ns);
}

/* Returns the entry of a new block; its address is 0, so that it is refused, if no block can be
 * there. */
static inline struct entry entry_of(const struct raw *raw, uint32_t site, unsigned flags)
{
	return (struct entry){ .address =
				       event_block_fits(raw->address, raw->size) ? raw->address : 0,
			       .birth = raw->time,
			       .size = raw->size & EVENT_BLOCK_MOST,
			       .flags = (raw->api & ENTRY_API) | flags,
			       .site = site };
}

/* Counts mismatches as `shinyctl mismatches` does, from data that the registry has anyway. */
static inline __attribute__((always_inline)) void
compare_with_birth(struct stream *s, const struct raw *raw, const struct entry *old, bool freed)
{
	enum { C, SCALAR, ARRAY, ANY, POOL = ANY };
	static const uint8_t families[] = {
#define SHINY_API(name, text, family) family,
#include <shiny/wire/api.def>
#undef SHINY_API
	};
	unsigned api = old->flags & ENTRY_API;
	uint8_t got = api < sizeof(families) ? families[api] : ANY;
	uint8_t ended = raw->api < sizeof(families) ? families[raw->api] : ANY;

	if (got != ended && got != ANY && ended != ANY)
		s->process->noticed.wrong_frees++;
	else if (freed && raw->size && raw->size != old->size)
		s->process->noticed.wrong_sizes++;
}

struct free_of_none {
	struct noticed *noticed;
	uint64_t address;
};

static bool is_same(void *context, const struct death *death)
{
	const struct free_of_none *free = context;
	bool same = death->entry.address == free->address;

	free->noticed->double_frees += same;
	return !same && ++free->noticed->double_steps < DOUBLE_STEPS;
}

/* Counts a free of an unknown block; searches the remembered deaths for it, up to DOUBLE_STEPS. */
static __attribute__((noinline, cold)) void free_of_unknown(struct stream *s, uint64_t address)
{
	struct process *p = s->process;
	struct free_of_none free = { &p->noticed, address };

	if (key_ids_get(&p->engine_memory, address)) {
		key_ids_set(&p->engine_memory, address, 0);
		return;
	}
	p->noticed.unknown_frees++;
	deaths_each(&p->deaths, is_same, &free);
}

/* Emits an event as apply_emit does, for a record that need not be the stream's head. */
static inline __attribute__((always_inline)) void
tell(struct output *output, const struct stream *s, const struct raw *raw, uint64_t ns,
     enum event_kind kind, uint32_t stack)
{
	if (__builtin_expect(output->next_event == output->events_end, 0))
		output_make_room(output);
	*output->next_event++ = (struct event){ .time = ns,
						.address = raw->address,
						.size = raw->size,
						.process = s->process->id,
						.thread = s->thread.id,
						.stack = stack,
						.tag = s->tag,
						.level = s->level,
						.kind = (uint8_t)kind,
						.api = raw->api };
}

static inline __attribute__((always_inline)) void
apply_alloc(struct output *output, struct stream *s, const struct raw *raw, uint64_t ns)
{
	struct entry entry = entry_of(raw, apply_birth_site(s, raw->stack), apply_level(s));

	s->born = entry.site;
	s->fresh = entry.address;
	if (begin_block(output, s, &entry, ns))
		tell(output, s, raw, ns, EVENT_ALLOC, s->process->stats.sites.at[entry.site].stack);
}

static inline __attribute__((always_inline)) void
apply_free(struct output *output, struct stream *s, const struct raw *raw, uint64_t ns)
{
	const struct entry *old = registry_leave(&s->process->registry, raw->address);

	if (__builtin_expect(old != NULL, 1)) {
		compare_with_birth(s, raw, old, true);
		block_ended(output, s, old, END_FREED, raw->time, ns);
	} else {
		free_of_unknown(s, raw->address);
	}
	tell(output, s, raw, ns, EVENT_FREE, apply_stack_id(s, raw->stack));
}

size_t apply_blocks(struct output *output, struct stream *s, uint64_t until, size_t most)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(output, s);
	struct raw raw = s->head;
	size_t count = 0;

	for (;;) {
		if (raw.kind == SHINY_REC_ALLOC)
			apply_alloc(output, s, &raw, ns);
		else
			apply_free(output, s, &raw, ns);
		if (++count >= most || !until)
			break;
		apply_fetch(s);
		if (!decode_plain(&s->cursor, until, &raw))
			break;
		ns = ticks_ns(&output->ticks, raw.time);
	}
	p->events += count - 1;
	output->total_events += count - 1;
	if (raw.time > p->last)
		p->last = raw.time;
	return count;
}

/* Puts the block of a failed realloc back into the registry: it lives on. */
static void put_back(struct process *p, struct begun_realloc *begun)
{
	struct entry there;

	begun->address = 0;
	if (!begun->block.address)
		return;
	if (registry_remove(&p->registry, begun->block.address, &there))
		p->noticed.broken_reallocs++; /* the records lie: a later block has its address,
					       * and stays */
	else
		there = begun->block;
	if (!registry_add(&p->registry, &there))
		p->noticed.refused++;
	begun->block.address = 0;
}

void apply_realloc_begin(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	struct begun_realloc *begun = &s->realloc;

	if (begun->address) {
		p->noticed.broken_reallocs++;
		put_back(p, begun);
	}
	begun->address = s->head.address;
	begun->stack = s->head.stack;
	begun->block.address = 0;
	if (s->head.address && !registry_remove(&p->registry, s->head.address, &begun->block)) {
		free_of_unknown(s, s->head.address);
		begun->block.address = 0;
	}
	/* the real realloc reads the block: later accesses are no use by the program */
	if (begun->block.address && begun->block.flags & ENTRY_WATCHED) {
		watched_ended(output, s, &begun->block, true, s->head.time);
		begun->block.flags &= ~(unsigned)ENTRY_WATCHED;
	}
}

void apply_realloc_done(struct output *output, struct stream *s)
{
	struct begun_realloc *begun = &s->realloc;
	uint32_t stack = s->head.stack ? s->head.stack : begun->stack;
	struct entry entry = entry_of(&s->head, apply_birth_site(s, stack),
				      ENTRY_REALLOC | apply_level(s));
	uint64_t ns = apply_ns(output, s);
	struct event *e;

	if (!begun->address)
		s->process->noticed.broken_reallocs++;
	if (begun->block.address) {
		/* resized in place or copied: the object and its known class are the same */
		entry.vtable = begun->block.vtable;
		entry.flags |= begun->block.flags & ENTRY_OF_VTABLE;
		compare_with_birth(s, &s->head, &begun->block, false);
		block_ended(output, s, &begun->block, END_FREED, s->head.time, ns);
	}
	if (begin_block(output, s, &entry, ns)) {
		e = apply_emit(output, s, ns, EVENT_REALLOC);
		e->old_address = begun->address;
		e->stack = s->process->stats.sites.at[entry.site].stack;
	}
	begun->block.address = begun->address = 0;
}

void apply_realloc_failed(struct stream *s)
{
	if (!s->realloc.address)
		s->process->noticed.broken_reallocs++;
	put_back(s->process, &s->realloc);
}

void apply_realloc_end(struct stream *s)
{
	if (s->realloc.address)
		put_back(s->process, &s->realloc);
	for (struct process *heap = s->process->above; heap && s->move.address; heap = heap->above)
		if (heap->heap == (s->move.block.flags & ENTRY_API))
			put_back(heap, &s->move);
}

/*
 * True if stack `by` may be inside the constructor of a block that was allocated with stack
 * `birth`: both share the outer frames up to the function that allocated the block, or one of its
 * nearest callers (which used a wrapper), and `by` is at most FURTHER_ON bytes further on in that
 * function.
 */
static bool may_be_within(const struct ids *ids, uint32_t birth, uint32_t by)
{
	const struct id_stack none = { 0 }, *b = birth ? &ids->stacks.at[birth - 1] : &none,
			      *p = by ? &ids->stacks.at[by - 1] : &none;
	const uint32_t *from = &ids->stack_frames.at[b->first],
		       *to = &ids->stack_frames.at[p->first];

	for (uint32_t i = 0; i < WRAPPERS && i < b->count; i++) {
		uint32_t outer = b->count - i - 1; /* frames outside of this one */
		const struct id_place *made, *now;

		if (outer >= p->count)
			continue;
		made = &ids->frames.at[from[i] - 1];
		now = &ids->frames.at[to[p->count - outer - 1] - 1];
		if (made->module == now->module && now->vaddr - made->vaddr - 1 < FURTHER_ON &&
		    !memcmp(from + i + 1, to + p->count - outer, outer * sizeof(*from)))
			return true;
	}
	return false;
}

static bool is_doubted(const struct output *output, const struct stream *s,
		       const struct entry *entry)
{
	const struct stats *stats = &s->process->stats;

	return may_be_within(&output->ids, stats->sites.at[entry->site].stack,
			     stats->sites.at[s->born].stack);
}

void apply_reading(struct entry *entry, uint32_t vtable, unsigned api)
{
	entry->vtable = vtable;
	entry->flags = (entry->flags & ~(unsigned)ENTRY_OF_VTABLE) |
		       (api & 3u) << ENTRY_READING_SHIFT |
		       (api & SHINY_VPTR_SECOND_WORD ? ENTRY_SECOND_WORD : 0) |
		       (api & EVENT_VPTR_DOUBTED ? ENTRY_DOUBTED : 0);
}

void apply_said(struct output *output, struct stream *s, struct entry *entry, uint32_t vtable)
{
	struct event *e;

	if (entry->vtable == vtable && entry->flags & ENTRY_GIVEN)
		return; /* one function of an allocator has called another */
	entry->vtable = vtable;
	entry->flags = (entry->flags & ~(unsigned)ENTRY_OF_VTABLE) | ENTRY_GIVEN;
	e = apply_emit(output, s, apply_ns(output, s), EVENT_VPTR);
	e->address = entry->address;
	e->size = 0;
	e->api = SHINY_VPTR_SETTLED;
	e->vtable = vtable;
}

/* The head's word is the address of a type object: one in a module has its name in the file, and
 * any other was named before it had objects. */
static void apply_type_object(struct output *output, struct stream *s, struct entry *entry)
{
	struct process *p = s->process;
	uint32_t vtable = space_vtable(&p->space, &output->ids, s->head.size);

	if (!vtable)
		vtable = key_ids_get(&p->type_names, s->head.size);
	if (vtable)
		apply_said(output, s, entry, vtable);
}

void apply_vptr(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	struct entry *entry = registry_find(&p->registry, s->head.address);
	unsigned reading = s->head.api & 3, had, told;
	bool second = s->head.api & SHINY_VPTR_SECOND_WORD;
	uint32_t vtable;
	struct event *e;

	if (!entry && s->realloc.block.address == s->head.address)
		entry = &s->realloc.block;
	if (!entry || !entry->address) {
		p->noticed.unmatched_vptrs++;
		return;
	}
	if (s->head.api & SHINY_VPTR_TYPE_OBJECT) {
		apply_type_object(output, s, entry);
		return;
	}
	if (second) {
		unsigned api = entry->flags & ENTRY_API;

		if (entry->size < 16 ||
		    (api != SHINY_API_NEW_ARRAY && api != SHINY_API_NEW_ARRAY_ALIGNED &&
		     api != SHINY_API_EITHER_ALLOC))
			return;
		if (entry->vtable && !(entry->flags & ENTRY_SECOND_WORD))
			return;
	}
	if (entry->flags & ENTRY_GIVEN)
		return;
	had = (entry->flags & ENTRY_READING) >> ENTRY_READING_SHIFT;
	if (entry->vtable && ranks[reading] < ranks[had] &&
	    second == !!(entry->flags & ENTRY_SECOND_WORD))
		return;
	vtable = space_vtable(&p->space, &output->ids, s->head.size);
	if (!vtable)
		return;
	told = reading | (second ? SHINY_VPTR_SECOND_WORD : 0);
	if (reading == SHINY_VPTR_SETTLED && is_doubted(output, s, entry))
		told |= EVENT_VPTR_DOUBTED;
	apply_reading(entry, vtable, told);
	e = apply_emit(output, s, apply_ns(output, s), EVENT_VPTR);
	e->size = 0;
	e->api = (uint8_t)told;
	e->vtable = vtable;
}

/* A name that the program made when it ran is in no module, and stays unknown. */
void apply_named(struct output *output, struct stream *s)
{
	enum { HEADER = 128 }; /* most bytes before an object in its block: talloc has 96 */
	struct process *p = s->process;
	uint64_t address = s->head.address;
	struct entry *entry = registry_find(&p->registry, address);
	const struct mapping *m = space_find(&p->space, s->head.size);

	if (!entry) /* an object without bytes stands at the end of its block */
		entry = registry_containing(&p->registry, (address - 1) & -UINT64_C(16),
					    HEADER - 16);
	if (!entry)
		p->noticed.unmatched_vptrs++;
	else if (m)
		apply_said(output, s, entry,
			   ids_vtable(&output->ids, m->module, s->head.size - m->bias, true));
}

/* A GObject's block begins with its private data, of less than 64 KiB. The key of an Objective-C
 * class in a module is its address there, where its name is. */
void apply_typed(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	struct entry *entry = registry_containing(&p->registry, s->head.address, UINT16_MAX);
	const struct mapping *m = space_find(&p->space, s->head.size);
	uint32_t vtable =
		m ? ids_vtable(&output->ids, m->module, s->head.size - m->bias, true)
		  : key_ids_get(&p->type_names, s->head.size);

	if (!entry || !vtable)
		p->noticed.unmatched_vptrs++;
	else
		apply_said(output, s, entry, vtable);
}
