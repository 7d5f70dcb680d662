/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_object.c: garbage-collected objects: they begin, some are finalized, most are just no longer there.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * An object ends when its destructor runs (D), when the sweeper puts its memory on a free list or the memory goes back to the system
 * (released), or, where neither was seen, when a later object takes its place (R). The object's own header, 8 bytes in front of it, belongs to its place. A later one that begins in the middle of it has only its rest
 * (objects.h): then it is resized, a REALLOC event to its own address. In the event stream an end that no call made is a FREE without
 * a stack, whose api says which it was (enum event_end). The kind of an object is known when it is made; in the stream a VPTR event behind
 * its ALLOC tells it.
 */
#include "apply.h"

enum { HEADER_BYTES = 8 };

static uint64_t bytes_of(const struct entry *entry)
{
	return entry->size ? entry->size : 1;
}

static void end_object(struct session *session, struct stream *s, uint64_t address, enum block_end how, uint8_t why)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(session, s);
	struct entry old;
	struct event *e;

	objects_remove(&p->objects, address);
	if (!registry_remove(&p->registry, address, &old))
		return; /* a stream that lies has freed it as a block */
	apply_block_ended(session, s, &old, how, ns);
	e = apply_emit(session, s, ns, EVENT_FREE);
	e->address = address;
	e->size = 0;
	e->api = why;
}

/* The object at `address` goes on with what lies in front of `end`. False: it can't. */
static bool cut_object(struct session *session, struct stream *s, uint64_t address, uint64_t end)
{
	struct process *p = s->process;
	struct entry *entry = registry_find(&p->registry, address);
	uint64_t ns = apply_ns(session, s);
	struct event *e;

	if (!entry || !objects_cut(&p->objects, address, end))
		return false;
	stats_resize(&p->stats, entry, end - address, ns);
	entry->size = end - address;
	e = apply_emit(session, s, ns, EVENT_REALLOC);
	e->address = e->old_address = address;
	e->size = end - address;
	e->stack = p->stats.sites.at[entry->site].stack;
	e->tag = p->stats.sites.at[entry->site].tag;
	return true;
}

/* [start, end) is not what it was: what begins there has ended, what reaches into it from the front is cut. */
static void bury(struct session *session, struct stream *s, uint64_t start, uint64_t end, enum block_end how, uint8_t why)
{
	uint64_t address;

	while ((address = objects_find(&s->process->objects, start, end)))
		if (address >= start || !cut_object(session, s, address, start))
			end_object(session, s, address, how, why);
}

/* Id of what describes the kind; 0: nothing is known of it. */
static uint32_t kind_of(struct session *session, struct process *p, uint32_t index)
{
	const struct mapping *m;
	uint64_t place;

	if (!p->objects.vtables)
		return 0;
	if (!p->objects.vtables[index]) {
		place = objects_place(&p->objects, index);
		m = place ? space_find(&p->space, place) : NULL;
		if (m)
			p->objects.vtables[index] = ids_vtable(&session->ids, m->module, place - m->bias, true);
	}
	return p->objects.vtables[index];
}

void apply_object(struct session *session, struct stream *s)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(session, s);
	struct entry entry = { .address = s->head.address, .birth = s->head.time, .size = s->head.size, .flags = SHINY_API_COLLECTED,
			       .site = apply_birth_site(s, s->head.stack), .vtable = kind_of(session, p, s->head.index) };
	struct event *e;

	if (entry.address < HEADER_BYTES || entry.address + entry.size < entry.address) {
		p->noticed.refused++;
		return;
	}
	bury(session, s, entry.address - HEADER_BYTES, entry.address + bytes_of(&entry), END_REUSED, EVENT_END_REUSED);
	if (!apply_block_began(session, s, &entry, ns))
		return;
	objects_add(&p->objects, entry.address, bytes_of(&entry));
	apply_emit(session, s, ns, EVENT_ALLOC)->stack = p->stats.sites.at[entry.site].stack;
	if (!entry.vtable)
		return;
	e = apply_emit(session, s, ns, EVENT_VPTR);
	e->size = 0;
	e->api = SHINY_VPTR_SETTLED;
	e->vtable = entry.vtable;
}

void apply_finalized(struct session *session, struct stream *s)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(session, s);
	struct entry *there = registry_find(&p->registry, s->head.address), old;

	/* made before we looked, or its begin was lost */
	if (!there || (there->flags & ENTRY_API) != SHINY_API_COLLECTED || !registry_remove(&p->registry, s->head.address, &old)) {
		p->noticed.unknown_frees++;
	} else {
		objects_remove(&p->objects, old.address);
		apply_block_ended(session, s, &old, END_FREED, ns);
	}
	apply_emit(session, s, ns, EVENT_FREE)->stack = p->stats.sites.at[apply_site(s, s->head.stack)].stack;
}

void apply_swept(struct session *session, struct stream *s)
{
	uint64_t start = s->head.address, end = start + s->head.size;

	if (end > start)
		bury(session, s, start, end, END_RELEASED, EVENT_END_RELEASED);
}

void apply_object_kinds(struct stream *s)
{
	struct shiny_object_kinds kinds;

	decode_payload(&s->head, &kinds, sizeof kinds);
	if (!objects_set_kinds(&s->process->objects, &kinds))
		s->process->noticed.bad_records++;
}

void apply_released(struct session *session, struct stream *s, uint64_t start, uint64_t end)
{
	uint64_t address;

	while ((address = objects_find(&s->process->objects, start, end)))
		end_object(session, s, address, END_RELEASED, EVENT_END_RELEASED);
}
