/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_writer.h: a ring made by hand, in a file, with ring.h's own writer functions: what the tests
 * of the sidecar read.
 *
 * Runs: tests. Allocates: yes. Threads: one.
 */
#ifndef SHINY_RING_WRITER_H
#define SHINY_RING_WRITER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <shiny/wire/ring.h>

struct writer { /* one stream */
	struct shiny_header *header;
	struct shiny_chunks chunks;
	uint32_t slot, sequence, position;
	int32_t chunk;
	uint64_t base;
};

static inline void read_boot_id_bytes(uint8_t *out)
{
	char text[64] = "";
	unsigned n = 0;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file && fgets(text, sizeof(text), file))
		for (char *at = text; at[0] && at[1] && n < 16; at += *at == '-' ? 1 : 2) {
			unsigned byte;

			if (*at != '-' && sscanf(at, "%2x", &byte) == 1)
				out[n++] = (uint8_t)byte;
		}
	if (file)
		fclose(file);
}

enum {
	WRITER_PROCESSES = 256,
	WRITER_THREADS = 4096,
	WRITER_SMALL_FIRST = 2 /* small chunks of each stream */
};

/* Times are start_ticks + n; start_ticks lies a second in the past, so that small n are honest. */
static inline struct shiny_header *ring_make(const char *path, uint32_t smalls, uint32_t larges)
{
	uint64_t notices_at = 4096,
		 processes_at = notices_at + SHINY_NOTICES * sizeof(struct shiny_notice),
		 threads_at = processes_at + WRITER_PROCESSES * sizeof(struct shiny_process);
	uint64_t states_at = threads_at + WRITER_THREADS * sizeof(struct shiny_thread);
	uint64_t smalls_at = (states_at + (smalls + larges) * 8 + 4095) / 4096 * 4096;
	uint64_t chunks_at = smalls_at + (uint64_t)smalls * SHINY_SMALL_BYTES,
		 bytes = chunks_at + (uint64_t)larges * SHINY_CHUNK_BYTES;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct shiny_header *h;
	struct timespec now;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return NULL;
	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	clock_gettime(CLOCK_BOOTTIME, &now);
	*h = (struct shiny_header){ .magic = SHINY_MAGIC,
				    .version = SHINY_VERSION,
				    .header_bytes = sizeof(*h),
				    .layout = shiny_layout(),
				    .ring_bytes = bytes,
				    .notices_at = notices_at,
				    .processes_at = processes_at,
				    .threads_at = threads_at,
				    .states_at = states_at,
				    .smalls_at = smalls_at,
				    .chunks_at = chunks_at,
				    .processes = WRITER_PROCESSES,
				    .threads = WRITER_THREADS,
				    .processes_ready = WRITER_PROCESSES,
				    .threads_ready = WRITER_THREADS,
				    .smalls = smalls,
				    .chunks = smalls + larges,
				    .small_bytes = SHINY_SMALL_BYTES,
				    .chunk_bytes = SHINY_CHUNK_BYTES,
				    .clock = SHINY_CLOCK_TSC,
				    .attach = SHINY_ATTACH_SYMBOLS,
				    .recording = 1,
				    .depth = 16,
				    .ticks_per_second = 1000000000,
				    .executable = "/nowhere/synthetic",
				    .pid = 4000000 };
	h->start_ticks = __rdtsc() - 2000000000;
	h->start_boottime = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - 1000000000;
	h->start_realtime = 1700000000000000000;
	read_boot_id_bytes(h->boot_id);
	__atomic_store_n(&h->ready, 1, __ATOMIC_RELEASE); /* [ready] */
	return h;
}

static inline void process_make(struct shiny_header *h, uint32_t slot, int32_t parent,
				uint64_t fork_at)
{
	struct shiny_process *p = &shiny_processes(h)[slot];

	*p = (struct shiny_process){ .generation = 1,
				     .pid = 4000000 + slot,
				     .parent_slot = parent,
				     .parent_generation = 1,
				     .start = h->start_ticks + fork_at,
				     .fork_at = h->start_ticks + fork_at };
	shiny_slot_claimed(&h->process_hint, &h->processes_used, slot);
	__atomic_store_n(&p->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
}

static inline struct writer writer_make(struct shiny_header *h, uint32_t slot, uint32_t process)
{
	struct shiny_thread *t = &shiny_threads(h)[slot];

	*t = (struct shiny_thread){ .generation = 1, .process_slot = process, .tid = 4000000 + slot, .start = h->start_ticks };
	shiny_slot_claimed(&h->thread_hint, &h->threads_used, slot);
	__atomic_store_n(&t->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
	return (struct writer){ .header = h, .chunks = shiny_chunks(h), .slot = slot, .chunk = -1 };
}

static inline void writer_seal(struct writer *w)
{
	if (w->chunk >= 0)
		shiny_chunk_seal(&shiny_chunk_states(w->header)[w->chunk], w->slot, w->sequence++);
	w->chunk = -1;
}

/* Room for `count` records; NULL when the ring is full. */
static inline struct shiny_record *writer_room(struct writer *w, uint64_t time, uint32_t count)
{
	if (w->chunk >= 0 &&
	    (w->position + count > shiny_chunk_room(&w->chunks, (uint32_t)w->chunk) ||
	     time - w->base >= SHINY_DT_LIMIT))
		writer_seal(w);
	if (w->chunk < 0) {
		struct shiny_chunk *c;
		uint32_t process = shiny_threads(w->header)[w->slot].process_slot;

		w->chunk = w->sequence < WRITER_SMALL_FIRST && count <= SHINY_SMALL_RECORDS ?
			shiny_chunk_claim(w->header, &w->chunks, false, w->slot, w->sequence) : -1;
		if (w->chunk < 0)
			w->chunk = shiny_chunk_claim(w->header, &w->chunks, true, w->slot,
						     w->sequence);
		if (w->chunk < 0)
			return NULL;
		c = shiny_chunk_at(&w->chunks, (uint32_t)w->chunk);
		c->base = w->base = time;
		c->thread_slot = w->slot;
		c->thread_generation = 1;
		c->process_slot = process;
		c->process_generation = 1;
		w->position = 0;
	}
	w->position += count;
	return &shiny_chunk_at(&w->chunks, (uint32_t)w->chunk)->records[w->position - count];
}

static inline bool put_event(struct writer *w, uint64_t n, unsigned kind, uint64_t address,
			     uint64_t size, uint32_t stack, unsigned api)
{
	uint64_t time = w->header->start_ticks + n;
	struct shiny_record *r = writer_room(w, time, 1);

	if (r)
		shiny_publish(r, shiny_w0(address >> SHINY_GRANULE_SHIFT, stack),
			      shiny_w1(time - w->base, size, api, kind));
	return r != NULL;
}

static inline bool put_run(struct writer *w, uint64_t n, unsigned kind, uint64_t aux,
			   uint32_t stack, unsigned api, const void *payload, size_t bytes)
{
	uint64_t time = w->header->start_ticks + n;
	uint32_t count = (uint32_t)((bytes + 15) / 16);
	struct shiny_record *r = writer_room(w, time, 1 + count);

	if (!r)
		return false;
	memcpy(r + 1, payload, bytes);
	shiny_publish(r, shiny_w0(aux, stack), shiny_w1(time - w->base, count, api, kind));
	return true;
}

static inline bool put_stack(struct writer *w, uint64_t n, uint32_t id, const uint64_t *frames,
			     uint32_t count)
{
	return put_run(w, n, SHINY_REC_STACK, count, id, 0, frames, count * sizeof(*frames));
}

static inline bool put_module(struct writer *w, uint64_t n, uint64_t start, uint64_t end,
			      const char *path)
{
	struct {
		struct shiny_module module;
		char path[240];
	} m = { .module = { .start = start,
			    .end = end,
			    .bias = start,
			    .path_bytes = (uint16_t)strlen(path) } };

	strcpy(m.path, path);
	return put_run(w, n, SHINY_REC_MODULE, 0, 0, 0, &m,
		       sizeof(m.module) + (strlen(path) + 15) / 16 * 16);
}

static inline bool put_vptr(struct writer *w, uint64_t address, uint64_t word, unsigned reading)
{
	struct shiny_record *r = writer_room(w, w->base, 1);

	if (r)
		shiny_publish(r, shiny_w0(address >> SHINY_GRANULE_SHIFT, 0),
			      word >> SHINY_GRANULE_SHIFT << SHINY_VTABLE_SHIFT |
				      (uint64_t)reading << SHINY_API_SHIFT | SHINY_REC_VPTR);
	return r != NULL;
}

static inline bool put_typed(struct writer *w, uint64_t address, uint64_t key)
{
	struct shiny_record *r = writer_room(w, w->base, 1);

	if (r)
		shiny_publish(r, shiny_w0(address >> SHINY_GRANULE_SHIFT, 0),
			      key << SHINY_NAME_SHIFT | SHINY_REC_TYPED);
	return r != NULL;
}

/* A pool; `name_bytes` may lie. */
static inline bool put_pool(struct writer *w, uint64_t n, const struct shiny_pool *pool,
			    const char *name, uint32_t name_bytes)
{
	struct {
		struct shiny_pool pool;
		char name[16];
	} out = { .pool = *pool };

	out.pool.name_bytes = name_bytes;
	memcpy(out.name, name, strlen(name));
	return put_run(w, n, SHINY_REC_POOL_NAME, 0, 0, SHINY_API_POOL, &out, sizeof(out));
}

/* A garbage-collected object of the kind `index`, in its short form. */
static inline bool put_object(struct writer *w, uint64_t n, uint64_t address, uint64_t size,
			      uint32_t stack, uint32_t index)
{
	uint64_t time = w->header->start_ticks + n;
	struct shiny_record *r = writer_room(w, time, 1);

	if (r)
		shiny_publish(r, shiny_w0(address >> SHINY_GRANULE_SHIFT, stack),
			      shiny_object_w1(time - w->base, index, size));
	return r != NULL;
}

#endif
