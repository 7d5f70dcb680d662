/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h: a second, independent reader of a ring, for tests of the writer: it takes the published
 * records of every stream and checks ring.h's invariants I1 (where asked), I2 and I3 on the way. It
 * shares wire.h with the sidecar, and no code.
 *
 * Runs: tests. Allocates: yes. Threads: one, after the writers are gone (or a snapshot of what they
 * have published).
 */
#ifndef TEST_READER_H
#define TEST_READER_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

struct rd_event {
	unsigned kind, api;
	uint32_t process, thread, generation; /* slots */
	uint64_t time, address, size, word; /* word: VPTR's value, LOSS's count */
	uint32_t tag; /* index of the one in force; 0 none */
	uint32_t stack, frames;
	const uint64_t *frame; /* of the stack in force; NULL: none defined */
	const void *payload;
};

struct rd {
	const struct shiny_header *h;
	size_t bytes;
	uint64_t count[SHINY_REC_KINDS];
	uint64_t streams, records, undefined_stacks;
	uint64_t sizes[2]; /* small and large chunks with records */
	char error[256];
};

typedef void rd_fn(void *context, const struct rd_event *e);

static inline bool rd_open(struct rd *r, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	memset(r, 0, sizeof(*r));
	if (fd < 0 || fstat(fd, &st) != 0)
		return false;
	r->bytes = (size_t)st.st_size;
	r->h = mmap(NULL, r->bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return r->h != MAP_FAILED && r->h->magic == SHINY_MAGIC && r->h->layout == shiny_layout();
}

/* The ring of a session directory; false: there is none. */
static inline bool rd_find(const char *directory, char *path, size_t room)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, SHINY_RING_PREFIX, strlen(SHINY_RING_PREFIX)) == 0) {
			snprintf(path, room, "%s/%s", directory, entry->d_name);
			found = true;
		}
	if (dir)
		closedir(dir);
	return found;
}

static inline void rd_close(struct rd *r)
{
	munmap((void *)(uintptr_t)r->h, r->bytes);
}

#define RD_FAIL(r, ...) (snprintf((r)->error, sizeof (r)->error, __VA_ARGS__), false)

struct rd_chunk {
	uint64_t key; /* thread slot, generation, sequence */
	uint32_t index;
};

static inline int rd_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct rd_chunk *)a)->key, y = ((const struct rd_chunk *)b)->key;

	return x < y ? -1 : x > y;
}

enum { RD_IDS = 1 << SHINY_STACK_BITS };

/* A stack as it was defined; kept until the walk is over. */
struct rd_stack {
	struct rd_stack *before;
	uint32_t frames;
	uint64_t frame[SHINY_FRAMES_MAX];
};

static inline bool rd_is_run(unsigned kind)
{
	enum { EVENT, RUN, WORD };
	static const uint8_t layouts[SHINY_REC_KINDS] = {
#define SHINY_RECORD(name, layout, text) [SHINY_REC_##name] = layout,
#include <shiny/wire/record.def>
#undef SHINY_RECORD
	};
	return kind < SHINY_REC_KINDS && layouts[kind] == RUN;
}

/* A definition: of `before` (the one before it in the chunk, or NULL) and its own payload. NULL:
 * against the rules. */
static inline struct rd_stack *rd_define(const struct shiny_record *rec, struct rd_stack *before)
{
	const uint64_t *fresh = (const uint64_t *)(rec + 1);
	uint64_t aux = rec->w0 >> SHINY_ADDRESS_SHIFT,
		 size = rec->w1 >> SHINY_SIZE_SHIFT & (SHINY_SIZE_LIMIT - 1);
	bool like = (rec->w1 & 63) == SHINY_REC_STACK_LIKE;
	uint64_t frames = like ? aux & 0xff : aux, inner = like ? aux >> 8 & 0xff : 0,
		 skip = like ? aux >> 16 & 0xff : 0;
	uint64_t kept = like ? aux >> 24 & 0xff : 0;
	struct rd_stack *s;

	if (frames == 0 || frames > SHINY_FRAMES_MAX || inner + kept > frames ||
	    size != (frames - kept + 1) / 2 ||
	    (like && (!before || !kept || skip + kept > before->frames)))
		return NULL;
	s = malloc(sizeof(*s));
	s->frames = (uint32_t)frames;
	for (uint64_t i = 0; i < frames; i++)
		s->frame[i] =
			i >= inner && i < inner + kept ? before->frame[skip + i - inner] : *fresh++;
	return s;
}

static inline bool rd_chunk_records(struct rd *r, const struct shiny_chunk *c, uint32_t room,
				    rd_fn *fn, void *context, struct rd_stack **stacks,
				    struct rd_stack **all)
{
	struct rd_stack *last = NULL;
	uint64_t base = c->base, before = c->base; /* before: the last record's time */
	uint32_t tag = 0;

	for (uint32_t i = 0; i < room;) {
		const struct shiny_record *rec = &c->records[i];
		uint64_t w1 = __atomic_load_n(&rec->w1, __ATOMIC_ACQUIRE), w0 = rec->w0; /* [pub] */
		unsigned kind = (unsigned)(w1 & 63);
		uint64_t size = w1 >> SHINY_SIZE_SHIFT & (SHINY_SIZE_LIMIT - 1);
		uint32_t id = (uint32_t)(w0 & (SHINY_STACK_LIMIT - 1));
		struct rd_event e = { .kind = kind,
				      .api = (unsigned)(w1 >> SHINY_API_SHIFT & 15),
				      .process = c->process_slot,
				      .thread = c->thread_slot,
				      .generation = c->thread_generation,
				      .size = size,
				      .stack = id };

		if (kind == SHINY_REC_NONE)
			break;
		if (kind >= SHINY_REC_KINDS)
			return RD_FAIL(r, "I2: record %u has kind %u", i, kind);
		if (rd_is_run(kind) && i + 1 + size > room)
			return RD_FAIL(r, "I2: run at %u of %llu records leaves its chunk", i,
				       (unsigned long long)size);
		r->count[kind]++;
		r->records++;
		e.time = base + (w1 >> SHINY_DT_SHIFT);
		e.address = w0 >> SHINY_ADDRESS_SHIFT << SHINY_GRANULE_SHIFT;
		if (kind == SHINY_REC_TIME)
			e.time = base = w0;
		if (kind == SHINY_REC_TAG)
			tag = (uint32_t)size;
		e.tag = tag;
		if (kind == SHINY_REC_VPTR) {
			uint64_t high = (UINT64_C(1) << SHINY_WHEN_HIGH_BITS) - 1,
				 when = (size & high) << SHINY_WHEN_LOW_BITS | id;

			e.time = when ? base + when - 1 : before;
			e.word = w1 >> SHINY_VTABLE_SHIFT << SHINY_GRANULE_SHIFT;
			e.size = 0;
		}
		before = e.time;
		if (kind == SHINY_REC_LOSS) {
			e.word = w0 >> SHINY_ADDRESS_SHIFT;
			memset(stacks, 0, RD_IDS * sizeof(*stacks));
		}
		if (rd_is_run(kind))
			e.payload = rec + 1;
		if (kind >= SHINY_REC_ALLOC_WIDE && kind <= SHINY_REC_REALLOC_DONE_WIDE) {
			e.address = rec[1].w0;
			e.size = rec[1].w1;
			e.kind = kind - SHINY_REC_ALLOC_WIDE + SHINY_REC_ALLOC;
		}
		if (kind == SHINY_REC_STACK || kind == SHINY_REC_STACK_LIKE) {
			last = id ? rd_define(rec, last) : NULL;
			if (!last)
				return RD_FAIL(r, "I2: stack %u, aux %llx, in %llu records", id,
					       (unsigned long long)(w0 >> SHINY_ADDRESS_SHIFT),
					       (unsigned long long)size);
			last->before = *all;
			*all = last;
			for (uint32_t f = 0; f < last->frames; f++)
				if (last->frame[f] == 0)
					return RD_FAIL(r, "I2: stack %u has a zero frame", id);
			stacks[id] = last;
			e.frames = last->frames;
			e.frame = last->frame;
		} else if (id && kind != SHINY_REC_LOSS && kind != SHINY_REC_TIME &&
			   kind != SHINY_REC_VPTR) {
			if (stacks[id]) {
				e.frames = stacks[id]->frames;
				e.frame = stacks[id]->frame;
			} else {
				r->undefined_stacks++;
			}
		}
		if (fn)
			fn(context, &e);
		i += 1 + (rd_is_run(kind) ? (uint32_t)size : 0);
	}
	return true;
}

static inline const struct shiny_chunk *rd_chunk_at(const struct rd *r, uint32_t i)
{
	const char *at = (const char *)r->h;

	at += i < r->h->smalls ? r->h->smalls_at + (uint64_t)i * 4096
			       : r->h->chunks_at + (uint64_t)(i - r->h->smalls) * 65536;
	return (const struct shiny_chunk *)at;
}

static inline uint32_t rd_room(const struct rd *r, uint32_t i)
{
	return i < r->h->smalls ? 252 : 4092;
}

/* Streams one after the other, each in its own order. False: an invariant is broken, r->error says
 * which. */
static inline bool rd_walk(struct rd *r, rd_fn *fn, void *context)
{
	const uint64_t *states = (const uint64_t *)((const char *)r->h + r->h->states_at);
	struct rd_chunk *list = calloc(r->h->chunks, sizeof(*list));
	struct rd_stack **stacks = calloc(RD_IDS, sizeof(*stacks)), *all = NULL;
	uint32_t n = 0;
	bool good = true;

	memset(r->count, 0, sizeof(r->count));
	r->streams = r->records = r->undefined_stacks = r->sizes[0] = r->sizes[1] = 0;
	for (uint32_t i = 0; i < r->h->chunks; i++) {
		uint64_t word = __atomic_load_n(&states[i], __ATOMIC_ACQUIRE); /* [seal] */
		const struct shiny_chunk *c;

		if (SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_OPEN &&
		    SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_FULL)
			continue;
		c = rd_chunk_at(r, i);
		if (c->records[0].w1 == 0)
			continue; /* claimed, nothing published: its header may not be filled in */
		if (c->thread_slot != SHINY_CHUNK_THREAD(word))
			good = RD_FAIL(r, "chunk %u: header says t%u, state t%u", i, c->thread_slot,
				       SHINY_CHUNK_THREAD(word));
		r->sizes[i >= r->h->smalls]++;
		list[n].key = (uint64_t)c->thread_slot << 48 |
			      (uint64_t)(c->thread_generation & 0xffff) << 32 |
			      SHINY_CHUNK_SEQUENCE(word);
		list[n++].index = i;
	}
	qsort(list, n, sizeof(*list), rd_compare);
	for (uint32_t i = 0; i < n && good; i++) {
		bool first = i == 0 || list[i].key >> 32 != list[i - 1].key >> 32;
		uint32_t sequence = (uint32_t)list[i].key,
			 expected = first ? 0 : (uint32_t)list[i - 1].key + 1;

		if (first) {
			r->streams++;
			memset(stacks, 0, RD_IDS * sizeof(*stacks));
		}
		if (sequence != expected)
			good = RD_FAIL(r, "I3: thread slot %u: sequence %u where %u was due",
				       (unsigned)(list[i].key >> 48), sequence, expected);
		good = good &&
		       rd_chunk_records(r, rd_chunk_at(r, list[i].index), rd_room(r, list[i].index),
					fn, context, stacks, &all);
	}
	free(list);
	free(stacks);
	while (all) {
		struct rd_stack *before = all->before;

		free(all);
		all = before;
	}
	return good;
}

#endif
