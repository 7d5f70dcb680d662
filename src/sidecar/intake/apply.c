/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.c: one record, in order, into its process's live blocks, aggregates and the event stream.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Which reading of a vptr counts: a block's class is what its word says between the end of its
 * construction and the start of its destruction. SETTLED (a later allocation pushed it out of the
 * nursery) and EXIT lie there; FLUSH may catch a base constructor; FREE finds what the destructors
 * left. So SETTLED = EXIT > FLUSH > FREE, and within a rank the last one wins. The second word is a
 * vptr only behind an array cookie: it counts for new[] of at least 16 bytes, and never against a
 * first word.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apply.h"
#include "../proc/proc.h"

static const uint8_t ranks[4] = { [SHINY_VPTR_SETTLED] = 3,
				  [SHINY_VPTR_FLUSH] = 2,
				  [SHINY_VPTR_EXIT] = 3,
				  [SHINY_VPTR_FREE] = 1 };

enum { DOUBLE_STEPS = 16 << 20 };

static void remember_death(struct process *p, const struct entry *entry, uint64_t time,
			   const struct ticks *ticks)
{
	/* two seconds' worth of deaths, at most DEATHS_MAX: grown while the oldest one is younger
	 * than that */
	if (p->deaths_count == p->deaths_room) {
		const struct death *oldest = p->deaths_room ? &p->deaths[p->deaths_at] : NULL;

		if (p->deaths_room < DEATHS_MAX &&
		    (!oldest || ticks_scale(ticks, (int64_t)(time - oldest->time)) < 2000000000)) {
			size_t room = p->deaths_room ? p->deaths_room * 2 : 256;
			struct death *larger = mem_alloc(room * sizeof(*larger));

			for (size_t i = 0; i < p->deaths_count; i++)
				larger[i] = p->deaths[(p->deaths_at + i) % p->deaths_room];
			free(p->deaths);
			p->deaths = larger;
			p->deaths_room = room;
			p->deaths_at = 0;
		} else {
			if (oldest->time > p->deaths_lost)
				p->deaths_lost = oldest->time;
			if (++p->deaths_at == p->deaths_room)
				p->deaths_at = 0;
			p->deaths_count--;
		}
	}
	{
		size_t at = p->deaths_at + p->deaths_count++;

		p->deaths[at < p->deaths_room ? at : at - p->deaths_room] =
			(struct death){ *entry, time };
	}
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
	remember_death(p, entry, time, &session->ticks);
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

static void apply_alloc(struct session *session, struct stream *s)
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

/* A block that is not known: was it freed before? Looking through all that is remembered is worth
 * so much only. */
static void free_of_unknown(struct stream *s)
{
	struct process *p = s->process;

	p->noticed.unknown_frees++;
	for (size_t i = p->deaths_count; i-- > 0 && p->noticed.double_steps < DOUBLE_STEPS;
	     p->noticed.double_steps++)
		if (p->deaths[(p->deaths_at + i) % p->deaths_room].entry.address ==
		    s->head.address) {
			p->noticed.double_frees++;
			return;
		}
}

static void apply_free(struct session *session, struct stream *s)
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

static void apply_realloc_begin(struct stream *s)
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
}

static void apply_realloc_done(struct session *session, struct stream *s)
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

static void apply_vptr(struct session *session, struct stream *s)
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

/* The allocator was told the block's type: the text stands in a module, and speaks for the block as
 * a vtable does. */
static void apply_named(struct session *session, struct stream *s)
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

/* The frames of the definition at the head, into s->defined. False: it leans on one that this chunk
 * does not have. */
static bool define(struct stream *s)
{
	uint64_t fresh[SHINY_FRAMES_MAX], kept[SHINY_FRAMES_MAX];
	bool like = s->head.kind == SHINY_REC_STACK_LIKE;
	uint64_t aux = s->head.size;
	uint32_t count = like ? SHINY_LIKE_FRAMES(aux) : (uint32_t)aux,
		 inner = like ? SHINY_LIKE_INNER(aux) : count;
	uint32_t skip = like ? SHINY_LIKE_SKIP(aux) : 0, shared = like ? SHINY_LIKE_KEPT(aux) : 0;

	if (skip + shared > s->defined_count) {
		s->defined_count = 0;
		return false;
	}
	decode_payload(&s->head, fresh, sizeof(fresh));
	memcpy(kept, s->defined + skip, shared * sizeof(*kept));
	memcpy(s->defined, fresh, inner * sizeof(*fresh));
	memcpy(s->defined + inner, kept, shared * sizeof(*kept));
	memcpy(s->defined + inner + shared, fresh + inner,
	       (count - inner - shared) * sizeof(*fresh));
	s->defined_count = count;
	return true;
}

static void apply_stack(struct session *session, struct stream *s)
{
	uint32_t frames[SHINY_FRAMES_MAX], count, stack;
	uint32_t **page;

	if (!define(s)) {
		s->process->noticed.bad_records++;
		return;
	}
	count = s->defined_count;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = space_frame(&s->process->space, &session->ids, s->defined[i]);
	stack = ids_stack(&session->ids, frames, count);
	if (!s->stacks)
		s->stacks = mem_zero(STACK_PAGES, sizeof(*s->stacks));
	page = &s->stacks[s->head.stack / STACK_PAGE];
	if (!*page)
		*page = mem_zero(STACK_PAGE, sizeof(**page));
	(*page)[s->head.stack % STACK_PAGE] = stats_site(&s->process->stats, stack) + 1;
}

struct mapped {
	struct errand errand;
	uint32_t pid;
	uint64_t address;
	char path[SHINY_PATH_MAX + 1];
};

static void read_mapped(struct errand *errand)
{
	struct mapped *mapped = (struct mapped *)errand;

	proc_mapped_path(mapped->pid, mapped->address, mapped->path, sizeof(mapped->path));
}

/* Replaces a path that the process could only guess, where /proc answers in time. */
static void ask_path(struct session *session, uint32_t pid, uint64_t address,
		     char path[SHINY_PATH_MAX + 1])
{
	struct mapped *mapped = mem_zero(1, sizeof(*mapped));

	*mapped = (struct mapped){ .errand = { .run = read_mapped, .end = errand_drop }, .pid = pid, .address = address };
	strcpy(mapped->path, path);
	if (!errands_do(session->errands, &mapped->errand))
		return;
	strcpy(path, mapped->path);
	free(mapped);
}

static void apply_module(struct session *session, struct stream *s)
{
	struct {
		struct shiny_module module;
		char path[SHINY_PATH_MAX + 1];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in.module) + SHINY_PATH_MAX),
	       path_bytes = in.module.path_bytes;
	struct mapping mapping;

	if (path_bytes > bytes - sizeof(in.module) ||
	    in.module.build_id_bytes > SHINY_BUILD_ID_MAX || in.module.start >= in.module.end) {
		s->process->noticed.bad_records++;
		return;
	}
	in.path[path_bytes] = '\0';
	if (in.module.flags & SHINY_MODULE_GUESSED && s->process->pid && !s->process->gone)
		ask_path(session, s->process->pid, in.module.start, in.path);
	mapping = (struct mapping){ .start = in.module.start,
				    .end = in.module.end,
				    .bias = in.module.bias,
				    .loaded = s->head.time,
				    .module = ids_module(&session->ids, in.path, in.module.build_id,
							 in.module.build_id_bytes) };
	space_add(&s->process->space, &mapping);
}

/* Whether the call took away what was in its range. */
static bool releases(const struct shiny_map *map, unsigned call)
{
	switch (call) {
	case SHINY_MAP_MUNMAP:
		return true;
	case SHINY_MAP_MADVISE:
		return map->prot == MADV_DONTNEED || map->prot == MADV_FREE ||
		       map->prot == MADV_REMOVE;
	case SHINY_MAP_MMAP:
		return map->flags & MAP_FIXED;
	default:
		return false;
	}
}

static void apply_map(struct session *session, struct stream *s)
{
	struct shiny_map map;
	struct event *e;

	decode_payload(&s->head, &map, sizeof(map));
	e = apply_emit(session, s, apply_ns(session, s), EVENT_MAP);
	e->address = map.address;
	e->size = map.bytes;
	e->old_address = map.old_address;
	e->stack = s->process->stats.sites.at[apply_site(s, s->head.stack)].stack;
	memory_call(session, s->process, &map, s->head.api, e->stack, s->head.time);
	if (releases(&map, s->head.api))
		apply_released(session, s, map.address, map.address + map.bytes);
}

static void forget_stacks(struct stream *s)
{
	if (s->stacks)
		for (size_t i = 0; i < STACK_PAGES; i++) {
			free(s->stacks[i]);
			s->stacks[i] = NULL;
		}
}

void apply_record(struct session *session, struct stream *s)
{
	struct process *p = s->process;

	total_until(&session->total, s->head.time);
	if (p->stats.left)
		total_returns(&session->total, &p->stats);
	if (s->head.time > session->next_fork || p->pending)
		process_take_over(session,
				  s->head.time > p->fork_at ? s->head.time : p->fork_at + 1);
	if (s->head.time < session->applied_until)
		p->noticed.late++;
	p->events++;
	session->total_events++;
	if (s->head.time > p->last)
		p->last = s->head.time;
	switch (s->head.kind) {
	case SHINY_REC_ALLOC:
		apply_alloc(session, s);
		break;
	case SHINY_REC_FREE:
		apply_free(session, s);
		break;
	case SHINY_REC_REALLOC_BEGIN:
		apply_realloc_begin(s);
		break;
	case SHINY_REC_REALLOC_DONE:
		apply_realloc_done(session, s);
		break;
	case SHINY_REC_REALLOC_FAILED:
		if (!s->realloc_address)
			p->noticed.broken_reallocs++;
		put_back(s);
		break;
	case SHINY_REC_VPTR:
		apply_vptr(session, s);
		break;
	case SHINY_REC_NAMED:
		apply_named(session, s);
		break;
	case SHINY_REC_STACK:
	case SHINY_REC_STACK_LIKE:
		apply_stack(session, s);
		break;
	case SHINY_REC_MODULE:
		apply_module(session, s);
		break;
	case SHINY_REC_MODULE_GONE: /* decoded like a wide event, but for its name */
		space_remove(&p->space, s->head.address, s->head.size, s->head.time);
		break;
	case SHINY_REC_MAP:
		apply_map(session, s);
		break;
	case SHINY_REC_OBJECT:
		apply_object(session, s);
		break;
	case SHINY_REC_FINALIZED:
		apply_finalized(session, s);
		break;
	case SHINY_REC_SWEPT:
		apply_swept(session, s);
		break;
	case SHINY_REC_MOVED: /* decoded like a wide event: where it was, where it is */
		apply_moved(session, s, s->head.address, s->head.size);
		break;
	case SHINY_REC_RESIZED:
		apply_resized(session, s);
		break;
	case SHINY_REC_OBJECT_KINDS:
		apply_object_kinds(s);
		break;
	case SHINY_REC_CLASS:
		apply_class(session, s);
		break;
	case SHINY_REC_CONSTRUCTED:
		apply_constructor(session, s, EVENT_CONSTRUCT);
		break;
	case SHINY_REC_DESTROYED:
		apply_constructor(session, s, EVENT_DESTROY);
		break;
	case SHINY_REC_TAG:
		apply_tag(s);
		break;
	case SHINY_REC_TAG_NAME:
		apply_tag_name(session, s);
		break;
	case SHINY_REC_MARK:
		apply_mark(session, s);
		break;
	case SHINY_REC_LOSS:
		forget_stacks(s);
		break;
	default:
		break;
	}
}

void apply_stream_end(struct session *session, struct stream *s)
{
	if (s->realloc_address)
		put_back(s);
}
