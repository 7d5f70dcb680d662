/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_behind.c: see pack_behind.h.
 *
 * It has two rings under one lock, as unpack_ahead.c has: incoming batches of events, outgoing
 * finished blocks. The numbers only grow; a place is its number modulo the ring's size. The lock is
 * taken once a batch. Batch number `filled` belongs to the writer until it is full.
 */
#define _GNU_SOURCE
#include "pack_behind.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/worker_thread.h"

enum { BATCHES = 32, BATCH_EVENTS = 512, FINISHED = 2 };

struct waiting_batch {
	struct event events[BATCH_EVENTS];
	size_t count;
};

struct finished_block {
	struct block block;
	void *data;
	size_t room;
	uint32_t *processes;
	struct shiny_err *err;
};

struct pack_behind {
	struct packer *packer; /* used by the thread that runs advance() */
	size_t begun;          /* packed events of batch number `packed`, likewise */
	struct waiting_batch *batches;
	size_t filling; /* events of batch number `filled`; used by the writer */
	uint64_t filled, packed;
	bool open; /* the packer has events */
	bool ending; /* the writer waits for the block's end */
	struct finished_block finished[FINISHED];
	uint64_t made, taken; /* numbers of blocks */
	/* the other thread */
	bool threaded, refused, stop, writer_waits, worker_waits;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t to_worker, to_writer;
};

static void finish_block(struct pack_behind *b, struct finished_block *out)
{
	struct block *block = &out->block;

	out->err = packer_finish(b->packer, block);
	if (out->err)
		return;
	if (block->bytes > out->room) {
		out->room = block->bytes;
		out->data = mem_resize(out->data, out->room, 1);
	}
	block->data = memcpy(out->data, block->data, block->bytes);
	out->processes =
		mem_resize(out->processes, block->process_count, sizeof(*out->processes));
	block->processes = memcpy(out->processes, block->processes,
				  block->process_count * sizeof(*out->processes));
}

/* Packs a batch, or finishes a block; call with the lock, which is released meanwhile. False: there
 * is nothing to do. */
static bool advance(struct pack_behind *b)
{
	const struct waiting_batch *batch = &b->batches[b->packed % BATCHES];
	struct finished_block *out = &b->finished[b->made % FINISHED];
	bool all = b->packed == b->filled, full = all;

	if (b->made - b->taken == FINISHED || (all && !(b->ending && b->open)))
		return false;
	pthread_mutex_unlock(&b->lock);
	if (!all) {
		b->begun += packer_add(b->packer, batch->events + b->begun,
				       batch->count - b->begun);
		full = b->begun < batch->count;
	}
	if (full)
		finish_block(b, out);
	else
		b->begun = 0;
	pthread_mutex_lock(&b->lock);
	b->made += full;
	b->packed += !full;
	b->open = packer_count(b->packer) != 0;
	return true;
}

/* True if the writer's condition for waiting is over. */
static bool is_worth_waking(const struct pack_behind *b)
{
	return b->made > b->taken ||
	       b->filled - b->packed <= (b->ending ? 0 : (uint64_t)BATCHES / 2);
}

static void *work(void *context)
{
	struct pack_behind *b = context;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		if (!advance(b)) {
			b->worker_waits = true;
			pthread_cond_wait(&b->to_worker, &b->lock);
			b->worker_waits = false;
		} else if (b->writer_waits && is_worth_waking(b)) {
			pthread_cond_signal(&b->to_writer);
		}
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Waits, with the lock, for work of the other thread; without one does it here. */
static void wait_for_work(struct pack_behind *b)
{
	if (!b->threaded) {
		advance(b);
		return;
	}
	if (b->worker_waits)
		pthread_cond_signal(&b->to_worker);
	b->writer_waits = true;
	pthread_cond_wait(&b->to_writer, &b->lock);
	b->writer_waits = false;
}

static void begin_thread(struct pack_behind *b)
{
	b->threaded = thread_start(&b->thread, work, b);
	b->refused = !b->threaded;
}

struct shiny_err *pack_behind_create(struct pack_behind **out)
{
	struct pack_behind *b = mem_zero(1, sizeof(*b));
	struct shiny_err *err = packer_create(&b->packer);

	if (err) {
		free(b);
		return err;
	}
	b->batches = mem_pages(BATCHES * sizeof(*b->batches));
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->to_worker, NULL);
	pthread_cond_init(&b->to_writer, NULL);
	*out = b;
	return NULL;
}

void pack_behind_destroy(struct pack_behind *b)
{
	if (!b)
		return;
	if (b->threaded) {
		pthread_mutex_lock(&b->lock);
		b->stop = true;
		pthread_cond_signal(&b->to_worker);
		pthread_mutex_unlock(&b->lock);
		pthread_join(b->thread, NULL);
	}
	for (; b->taken < b->made; b->taken++)
		shiny_err_free(b->finished[b->taken % FINISHED].err);
	for (unsigned i = 0; i < FINISHED; i++) {
		free(b->finished[i].data);
		free(b->finished[i].processes);
	}
	pthread_cond_destroy(&b->to_writer);
	pthread_cond_destroy(&b->to_worker);
	pthread_mutex_destroy(&b->lock);
	mem_pages_free(b->batches, BATCHES * sizeof(*b->batches));
	packer_destroy(b->packer);
	free(b);
}

/* Passes on the full or last batch. */
static void publish(struct pack_behind *b)
{
	b->batches[b->filled % BATCHES].count = b->filling;
	b->filling = 0;
	pthread_mutex_lock(&b->lock);
	b->filled++;
	if (!b->threaded && !b->refused && b->filled - b->packed == BATCHES / 2)
		begin_thread(b);
	if (b->worker_waits && b->filled - b->packed >= BATCHES / 2)
		pthread_cond_signal(&b->to_worker);
	pthread_mutex_unlock(&b->lock);
}

/* Waits for room for a new batch. False: a block is finished. */
static bool wait_for_room(struct pack_behind *b)
{
	bool room;

	pthread_mutex_lock(&b->lock);
	while (b->made == b->taken && b->filled - b->packed == BATCHES)
		wait_for_work(b);
	room = b->made == b->taken;
	pthread_mutex_unlock(&b->lock);
	return room;
}

struct event *pack_behind_room(struct pack_behind *b, size_t *room)
{
	if (!b->filling && !wait_for_room(b))
		return NULL;
	*room = BATCH_EVENTS - b->filling;
	return b->batches[b->filled % BATCHES].events + b->filling;
}

void pack_behind_put(struct pack_behind *b, size_t count)
{
	b->filling += count;
	if (b->filling == BATCH_EVENTS)
		publish(b);
}

bool pack_behind_end(struct pack_behind *b)
{
	bool done;

	if (b->filling)
		publish(b);
	pthread_mutex_lock(&b->lock);
	b->ending = true;
	while (b->made == b->taken && (b->filled > b->packed || b->open))
		wait_for_work(b);
	b->ending = false;
	done = b->made == b->taken;
	pthread_mutex_unlock(&b->lock);
	return done;
}

struct shiny_err *pack_behind_take(struct pack_behind *b, const struct block **out)
{
	struct finished_block *first = &b->finished[b->taken % FINISHED];
	struct shiny_err *err = NULL;
	bool any;

	pthread_mutex_lock(&b->lock);
	any = b->made > b->taken;
	pthread_mutex_unlock(&b->lock);
	*out = any ? &first->block : NULL;
	if (any) {
		err = first->err;
		first->err = NULL;
	}
	return err;
}

void pack_behind_taken(struct pack_behind *b)
{
	pthread_mutex_lock(&b->lock);
	b->taken++;
	if (b->worker_waits)
		pthread_cond_signal(&b->to_worker);
	pthread_mutex_unlock(&b->lock);
}
