/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_object.c: see apply_object.h.
 *
 * An object ends when its destructor runs (D), when the sweeper puts its memory on a free list or
 * the memory goes back to the system (released), or, if neither was seen, when a later object takes
 * its place (R). The object's header, 8 bytes in front of it, belongs to its place. A later object
 * that begins in the middle of it cuts it short (objects.h): then it is resized, by a REALLOC event
 * to its own address, as when the program resizes it in place. A compacting collection moves
 * objects: a REALLOC event from the old address to the new one, with the same size, and a VPTR
 * event. An end without a call is a FREE event without a stack, whose api says how it ended (enum
 * event_end). The kind of an object is known from the start: its ALLOC has it.
 */
#include "apply_object.h"

#include "apply_block.h"

enum { HEADER_BYTES = 8 };

static uint64_t bytes_of(const struct entry *entry)
{
	return entry->size ? entry->size : 1;
}

static struct entry *object_at(struct process *p, uint64_t address)
{
	struct entry *there = registry_find(&p->registry, address);

	return there && (there->flags & ENTRY_API) == SHINY_API_COLLECTED ? there : NULL;
}

void apply_end_uncalled(struct output *output, struct stream *s, uint64_t address,
			enum block_end how, uint8_t why)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(output, s);
	struct entry old;
	struct event *e;

	if (!registry_remove(&p->registry, address, &old))
		return; /* a lying stream has freed it as a block */
	apply_block_ended(output, s, &old, how, ns);
	e = apply_emit(output, s, ns, EVENT_FREE);
	e->address = address;
	e->size = 0;
	e->api = why;
}

static void end_object(struct output *output, struct stream *s, uint64_t address,
		       enum block_end how, uint8_t why)
{
	objects_remove(&s->process->objects, address);
	apply_end_uncalled(output, s, address, how, why);
}

/* Emits a REALLOC event: the object of `entry` now has `size` bytes, and was at `from` before. */
static void tell_change(struct output *output, const struct stream *s, const struct entry *entry,
			uint64_t from, uint64_t size)
{
	struct event *e = apply_emit(output, s, apply_ns(output, s), EVENT_REALLOC);

	e->address = entry->address;
	e->old_address = from;
	e->size = size;
	e->api = SHINY_API_COLLECTED;
	e->stack = s->process->stats.sites.at[entry->site].stack;
	e->tag = s->process->stats.sites.at[entry->site].tag;
	e->level = entry->flags >> ENTRY_LEVEL_SHIFT;
}

/* Shortens the object at `address` to end at `end`; false: that is impossible. */
static bool cut_object(struct output *output, struct stream *s, uint64_t address, uint64_t end)
{
	struct process *p = s->process;
	struct entry *entry = registry_find(&p->registry, address);

	if (!entry || !objects_cut(&p->objects, address, end))
		return false;
	stats_resize(&p->stats, entry, end - address, apply_ns(output, s), s->head.time);
	entry->size = end - address;
	tell_change(output, s, entry, address, entry->size);
	return true;
}

enum { FETCHED_AT_ONCE = 24 };

/* Prefetches registry entries of the next objects that a sweep ends; returns how many. No record
 * names these objects, so they could not be prefetched earlier, and each would be a cache miss. */
static size_t fetch_objects(struct process *p, uint64_t start, uint64_t end)
{
	uint64_t addresses[FETCHED_AT_ONCE];
	size_t count = objects_list(&p->objects, start, end, addresses, FETCHED_AT_ONCE);

	for (size_t i = 0; i < count; i++)
		registry_prefetch_tags(&p->registry, addresses[i]);
	for (size_t i = 0; i < count; i++)
		registry_prefetch(&p->registry, addresses[i]);
	return count ? count : 1;
}

/* Empties [start, end): ends the objects that begin in it, cuts those that reach into it. */
static void bury(struct output *output, struct stream *s, uint64_t start, uint64_t end,
		 enum block_end how, uint8_t why)
{
	uint64_t address;
	size_t fetched = 0;

	while ((address = objects_find(&s->process->objects, start, end))) {
		if (!fetched)
			fetched = fetch_objects(s->process, address, end);
		fetched--;
		if (address >= start || !cut_object(output, s, address, start))
			end_object(output, s, address, how, why);
	}
}

/* Returns the id of the kind's description; 0: unknown. */
static uint32_t kind_of(struct output *output, struct process *p, uint32_t index)
{
	const struct mapping *m;
	uint64_t place;

	if (!p->objects.vtables)
		return 0;
	if (!p->objects.vtables[index]) {
		place = objects_place(&p->objects, index);
		m = place ? space_find(&p->space, place) : NULL;
		if (m)
			p->objects.vtables[index] =
				ids_vtable(&output->ids, m->module, place - m->bias, true);
	}
	return p->objects.vtables[index];
}

static void tell_kind(struct output *output, const struct stream *s, const struct entry *entry)
{
	struct event *e;

	if (!entry->vtable)
		return;
	e = apply_emit(output, s, apply_ns(output, s), EVENT_VPTR);
	e->address = entry->address;
	e->size = 0;
	e->api = SHINY_VPTR_SETTLED;
	e->vtable = entry->vtable;
}

void apply_object(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(output, s);
	struct event *e;
	struct entry entry = { .address = s->head.address,
			       .birth = s->head.time,
			       .size = s->head.size,
			       .flags = SHINY_API_COLLECTED | apply_level(s),
			       .site = apply_birth_site(s, s->head.stack),
			       .vtable = kind_of(output, p, s->head.index) };

	if (entry.address < HEADER_BYTES || !event_block_fits(entry.address, s->head.size)) {
		p->noticed.refused++;
		return;
	}
	bury(output, s, entry.address - HEADER_BYTES, entry.address + bytes_of(&entry), END_REUSED,
	     EVENT_END_REUSED);
	if (!apply_block_began(output, s, &entry, ns))
		return;
	objects_add(&p->objects, entry.address, bytes_of(&entry));
	e = apply_emit(output, s, ns, EVENT_ALLOC);
	e->stack = p->stats.sites.at[entry.site].stack;
	e->vtable = entry.vtable;
}

void apply_finalized(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(output, s);
	struct entry old;

	/* born before the recording, or its birth was lost */
	if (!object_at(p, s->head.address) ||
	    !registry_remove(&p->registry, s->head.address, &old)) {
		p->noticed.unknown_frees++;
	} else {
		objects_remove(&p->objects, old.address);
		apply_block_ended(output, s, &old, END_FREED, ns);
	}
	apply_emit(output, s, ns, EVENT_FREE)->stack = apply_stack_id(s, s->head.stack);
}

void apply_swept(struct output *output, struct stream *s)
{
	uint64_t start = s->head.address, end = start + s->head.size;

	if (end > start)
		bury(output, s, start, end, END_RELEASED, EVENT_END_RELEASED);
}

/* The compactor works from the beginning of a space to its end: an object at the target is dead, or
 * was moved before. */
void apply_moved(struct output *output, struct stream *s, uint64_t from, uint64_t to)
{
	struct process *p = s->process;
	struct entry entry, old;

	if (!object_at(p, from)) {
		p->noticed.unknown_frees++; /* born before the recording, or its birth was lost */
		return;
	}
	if (to < HEADER_BYTES || to % HEADER_BYTES || to >= EVENT_SPACE || from == to ||
	    !registry_remove(&p->registry, from, &entry)) {
		p->noticed.refused++;
		return;
	}
	objects_remove(&p->objects, from);
	entry.address = to;
	bury(output, s, to - HEADER_BYTES, to + bytes_of(&entry), END_RELEASED, EVENT_END_RELEASED);
	if (registry_put(&p->registry, &entry, &old)) {
		objects_add(&p->objects, to, bytes_of(&entry));
		tell_change(output, s, &entry, from, entry.size);
		tell_kind(output, s, &entry); /* for readers that follow one address only */
	} else {
		p->noticed.refused++;
		apply_block_ended(output, s, &entry, END_RELEASED, apply_ns(output, s));
	}
	if (old.address) /* a lying stream says that a block of malloc is there */
		apply_block_ended(output, s, &old, END_REUSED, apply_ns(output, s));
}

void apply_resized(struct output *output, struct stream *s)
{
	struct process *p = s->process;
	struct entry *entry = object_at(p, s->head.address);
	uint64_t size = s->head.size;

	if (!entry) {
		p->noticed.unknown_frees++;
		return;
	}
	if (!event_block_fits(entry->address, size)) {
		p->noticed.refused++;
		return;
	}
	if (size == entry->size)
		return;
	objects_remove(&p->objects, entry->address);
	if (size > entry->size)
		bury(output, s, entry->address + bytes_of(entry), entry->address + size, END_REUSED,
		     EVENT_END_REUSED);
	/* bury() has removed entries, which moves others */
	entry = object_at(p, s->head.address);
	if (!entry)
		return;
	stats_resize(&p->stats, entry, size, apply_ns(output, s), s->head.time);
	entry->size = size;
	objects_add(&p->objects, entry->address, bytes_of(entry));
	tell_change(output, s, entry, entry->address, size);
}

void apply_object_kinds(struct stream *s)
{
	struct shiny_object_kinds kinds;

	decode_payload(&s->head, &kinds, sizeof(kinds));
	if (!objects_set_kinds(&s->process->objects, &kinds))
		s->process->noticed.bad_records++;
}

void apply_released(struct output *output, struct stream *s, uint64_t start, uint64_t end)
{
	uint64_t address;

	while ((address = objects_find(&s->process->objects, start, end)))
		end_object(output, s, address, END_RELEASED, EVENT_END_RELEASED);
}

struct dropped {
	VEC(uint64_t) addresses;
	unsigned api;
};

static void add_dropped(void *context, const struct entry *entry)
{
	struct dropped *dropped = context;

	if ((entry->flags & ENTRY_API) != dropped->api)
		return;
	*vec_push(&dropped->addresses) = entry->address;
}

void apply_dropped(struct output *output, struct stream *s)
{
	struct dropped dropped = { .api = s->head.api };

	if (dropped.api == SHINY_API_COLLECTED)
		return; /* a lying stream: objects have a list of their own */
	registry_each(&s->process->registry, add_dropped, &dropped);
	for (size_t i = 0; i < dropped.addresses.count; i++)
		apply_end_uncalled(output, s, dropped.addresses.at[i], END_RELEASED,
				   EVENT_END_RELEASED);
	free(dropped.addresses.at);
}
