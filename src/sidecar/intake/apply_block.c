/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_block.c: see apply_block.h.
 *
 * Which reading of a vptr counts: a block's class is what its word says between the end of its
 * construction and the start of its destruction. SETTLED (a later allocation pushed it out of the
 * nursery) and EXIT lie there; FLUSH may catch a base constructor; FREE finds what the destructors
 * left. So SETTLED = EXIT > FLUSH > FREE, and within a rank the last one wins. The second word is a
 * vptr only behind an array cookie: it counts for new[] of at least 16 bytes, and never against a
 * first word.
 */
#include "apply_block.h"

#include <stdlib.h>

static const uint8_t ranks[4] = { [SHINY_VPTR_SETTLED] = 3,
				  [SHINY_VPTR_FLUSH] = 2,
				  [SHINY_VPTR_EXIT] = 3,
				  [SHINY_VPTR_FREE] = 1 };

enum { DOUBLE_STEPS = 16 << 20 };

static void watched_ended(struct session *session, const struct stream *s,
			  const struct entry *entry, bool moved)
{
	*vec_push(&session->watched_ends) =
		(struct watched_end){ s->process->id, moved, s->head.time, *entry };
}

/* A block that has left the registry has ended, at the head's time. */
static inline void block_ended(struct session *session, struct stream *s, const struct entry *entry,
			       enum block_end how, uint64_t ns)
{
	struct process *p = s->process;
	uint64_t time = s->head.time;
	int64_t age = ticks_scale(&session->ticks, (int64_t)(time - entry->birth));

	stats_end(&p->stats, entry, how, ns, age > 0 ? (uint64_t)age : 0);
	session->frees++;
	if (__builtin_expect(entry->flags & ENTRY_WATCHED, 0))
		watched_ended(session, s, entry, false);
	deaths_add(&p->deaths, entry, time, &session->ticks);
}

void apply_block_ended(struct session *session, struct stream *s, const struct entry *entry,
		       enum block_end how, uint64_t ns)
{
	block_ended(session, s, entry, how, ns);
}

static inline bool begin_block(struct session *session, struct stream *s, const struct entry *entry,
			       uint64_t ns)
{
	struct process *p = s->process;
	struct entry old;

	if (!entry->address) {
		p->noticed.refused++;
		return false;
	}
	if (!registry_put(&p->registry, entry, &old)) {
		p->noticed.refused++;
		return false;
	}
	if (old.address) {
		p->noticed.reused++;
		block_ended(session, s, &old, END_REUSED, ns);
	}
	stats_begin(&p->stats, entry, ns);
	session->allocs++;
	return true;
}

bool apply_block_began(struct session *session, struct stream *s, const struct entry *entry,
		       uint64_t ns)
{
	return begin_block(session, s, entry, ns);
}

/* Without an address where no block can be: it will be refused. */
static struct entry entry_of(const struct raw *raw, uint32_t site, unsigned flags)
{
	return (struct entry){ .address =
				       event_block_fits(raw->address, raw->size) ? raw->address : 0,
			       .birth = raw->time,
			       .size = raw->size & EVENT_BLOCK_MOST,
			       .flags = (raw->api & ENTRY_API) | flags,
			       .site = site };
}

void apply_alloc(struct session *session, struct stream *s)
{
	struct entry entry = entry_of(&s->head, apply_birth_site(s, s->head.stack), 0);
	uint64_t ns = apply_ns(session, s);

	if (begin_block(session, s, &entry, ns))
		apply_emit(session, s, ns, EVENT_ALLOC)->stack =
			s->process->stats.sites.at[entry.site].stack;
}

/* As in `shinyctl mismatches`, of what the registry knows anyway. */
static void compare_with_birth(struct stream *s, const struct entry *old, bool freed)
{
	enum { C, SCALAR, ARRAY, ANY };
	static const uint8_t families[] = {
#define SHINY_API(name, text, family) family,
#include <shiny/wire/api.def>
#undef SHINY_API
	};
	unsigned api = old->flags & ENTRY_API;
	uint8_t got = api < sizeof(families) ? families[api] : ANY;
	uint8_t ended = s->head.api < sizeof(families) ? families[s->head.api] : ANY;

	if (got != ended && got != ANY && ended != ANY)
		s->process->noticed.wrong_frees++;
	else if (freed && s->head.size && s->head.size != old->size)
		s->process->noticed.wrong_sizes++;
}

static bool is_same(void *context, const struct death *death)
{
	struct stream *s = context;
	struct noticed *noticed = &s->process->noticed;
	bool same = death->entry.address == s->head.address;

	noticed->double_frees += same;
	return !same && ++noticed->double_steps < DOUBLE_STEPS;
}

/* A block that is not known: was it freed before? Looking through all that is remembered is worth
 * so much only. */
static void free_of_unknown(struct stream *s)
{
	struct process *p = s->process;

	p->noticed.unknown_frees++;
	deaths_each(&p->deaths, is_same, s);
}

void apply_free(struct session *session, struct stream *s)
{
	struct process *p = s->process;
	uint64_t ns = apply_ns(session, s);
	struct entry old;

	if (registry_remove(&p->registry, s->head.address, &old)) {
		compare_with_birth(s, &old, true);
		block_ended(session, s, &old, END_FREED, ns);
	} else {
		free_of_unknown(s);
	}
	apply_emit(session, s, ns, EVENT_FREE)->stack =
		p->stats.sites.at[apply_site(s, s->head.stack)].stack;
}

/* The block that was given to a realloc that did not happen lives on. */
static void put_back(struct stream *s)
{
	struct entry there;

	s->realloc_address = 0;
	if (!s->realloc.address)
		return;
	if (registry_remove(&s->process->registry, s->realloc.address, &there))
		s->process->noticed.broken_reallocs++; /* somebody got its address meanwhile: a lie;
		                                        * the later block stays */
	else
		there = s->realloc;
	if (!registry_add(&s->process->registry, &there))
		s->process->noticed.refused++;
	s->realloc.address = 0;
}

void apply_realloc_begin(struct session *session, struct stream *s)
{
	if (s->realloc_address) {
		s->process->noticed.broken_reallocs++;
		put_back(s);
	}
	s->realloc_address = s->head.address;
	s->realloc_stack = s->head.stack;
	s->realloc.address = 0;
	if (s->head.address &&
	    !registry_remove(&s->process->registry, s->head.address, &s->realloc)) {
		free_of_unknown(s);
		s->realloc.address = 0;
	}
	/* the real realloc reads it: what comes from now on is no use by the program */
	if (s->realloc.address && s->realloc.flags & ENTRY_WATCHED) {
		watched_ended(session, s, &s->realloc, true);
		s->realloc.flags &= ~(unsigned)ENTRY_WATCHED;
	}
}

void apply_realloc_done(struct session *session, struct stream *s)
{
	uint32_t stack = s->head.stack ? s->head.stack : s->realloc_stack;
	struct entry entry = entry_of(&s->head, apply_birth_site(s, stack), ENTRY_REALLOC);
	uint64_t ns = apply_ns(session, s);
	struct event *e;

	if (!s->realloc_address)
		s->process->noticed.broken_reallocs++;
	if (s->realloc.address) {
		/* resized in place or copied: it is still the object that it was, as far as its
		 * class is known */
		entry.vtable = s->realloc.vtable;
		entry.flags |= s->realloc.flags & (ENTRY_READING | ENTRY_SECOND_WORD);
		compare_with_birth(s, &s->realloc, false);
		block_ended(session, s, &s->realloc, END_FREED, ns);
	}
	if (begin_block(session, s, &entry, ns)) {
		e = apply_emit(session, s, ns, EVENT_REALLOC);
		e->old_address = s->realloc_address;
		e->stack = s->process->stats.sites.at[entry.site].stack;
	}
	s->realloc.address = s->realloc_address = 0;
}

void apply_realloc_failed(struct stream *s)
{
	if (!s->realloc_address)
		s->process->noticed.broken_reallocs++;
	put_back(s);
}

void apply_realloc_end(struct stream *s)
{
	if (s->realloc_address)
		put_back(s);
}

void apply_vptr(struct session *session, struct stream *s)
{
	struct process *p = s->process;
	struct entry *entry = registry_find(&p->registry, s->head.address);
	unsigned reading = s->head.api & 3, had;
	bool second = s->head.api & SHINY_VPTR_SECOND_WORD;
	uint32_t vtable;
	struct event *e;

	if (!entry && s->realloc.address == s->head.address)
		entry = &s->realloc;
	if (!entry || !entry->address) {
		p->noticed.unmatched_vptrs++;
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
	had = (entry->flags & ENTRY_READING) >> ENTRY_READING_SHIFT;
	if (entry->vtable && ranks[reading] < ranks[had] &&
	    second == !!(entry->flags & ENTRY_SECOND_WORD))
		return;
	vtable = space_vtable(&p->space, &session->ids, s->head.size);
	if (!vtable)
		return;
	entry->vtable = vtable;
	entry->flags = (entry->flags & ~(unsigned)(ENTRY_READING | ENTRY_SECOND_WORD)) |
		       reading << ENTRY_READING_SHIFT | (second ? ENTRY_SECOND_WORD : 0);
	e = apply_emit(session, s, apply_ns(session, s), EVENT_VPTR);
	e->size = 0;
	e->vtable = vtable;
}

void apply_named(struct session *session, struct stream *s)
{
	struct process *p = s->process;
	struct entry *entry = registry_find(&p->registry, s->head.address);
	const struct mapping *m = space_find(&p->space, s->head.size);
	struct event *e;

	if (!entry || !m) {
		p->noticed.unmatched_vptrs++;
		return;
	}
	entry->vtable = ids_vtable(&session->ids, m->module, s->head.size - m->bias, true);
	entry->flags &= ~(unsigned)(ENTRY_READING | ENTRY_SECOND_WORD);
	e = apply_emit(session, s, apply_ns(session, s), EVENT_VPTR);
	e->size = 0;
	e->api = SHINY_VPTR_SETTLED;
	e->vtable = entry->vtable;
}
