/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_ahead.c: see unpack_ahead.h.
 *
 * It has two rings under one lock: incoming blocks, outgoing batches of events. The numbers only
 * grow; a place is its number modulo the ring's size. A waiting thread is woken when the other one
 * is half a ring ahead, not for each batch: a sleep and a wake cost more than a batch.
 */
#define _GNU_SOURCE
#include "unpack_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/worker_thread.h"

enum { BLOCKS = 2, BATCHES = 16 };

struct packed {
	void *data;
	size_t bytes, room;
};

struct batch {
	struct event events[BLOCK_BATCH];
	size_t count; /* 0: the block's end */
	uint64_t astray;
	struct shiny_err *err;
};

struct unpack_ahead {
	struct unpacker *unpacker;
	bool open; /* the unpacker is in the middle of block `blocks_done` */
	struct packed blocks[BLOCKS];
	uint64_t blocks_given, blocks_done; /* done: unpacked */
	uint64_t ends_taken;                /* ends of blocks taken by the reader */
	uint64_t astray;                    /* ids read as 0 in the batches taken by the reader */
	struct batch *batches;
	uint64_t batches_filled, batches_taken;
	bool holds; /* the reader uses batch number `batches_taken` */
	/* the other thread */
	bool threaded, stop, reader_waits, worker_waits;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t to_worker, to_reader;
};

/* Fills a batch. Called by one thread only. */
static void fill(struct unpack_ahead *a, struct batch *batch)
{
	const struct packed *block = &a->blocks[a->blocks_done % BLOCKS];

	batch->count = 0;
	batch->err = NULL;
	if (!a->open)
		batch->err = unpacker_open(a->unpacker, block->data, block->bytes);
	if (!batch->err)
		batch->err = unpacker_next(a->unpacker, batch->events, &batch->count);
	batch->astray = unpacker_astray(a->unpacker);
	if (!batch->err && unpacker_is_beyond(a->unpacker))
		batch->err = shiny_err(SHINY_ERR_OTHER, "a block is larger, or lies further on, "
							"than any address space has room for");
	a->open = batch->count != 0;
}

static bool worker_may_go_on(const struct unpack_ahead *a)
{
	return a->blocks_done < a->blocks_given && a->batches_filled - a->batches_taken < BATCHES;
}

static void *work(void *context)
{
	struct unpack_ahead *a = context;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if (!worker_may_go_on(a)) {
			a->worker_waits = true;
			pthread_cond_wait(&a->to_worker, &a->lock);
			a->worker_waits = false;
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		fill(a, &a->batches[a->batches_filled % BATCHES]);
		pthread_mutex_lock(&a->lock);
		a->blocks_done += !a->open;
		a->batches_filled++;
		if (a->reader_waits && (a->batches_filled - a->batches_taken >= BATCHES / 2 ||
					a->blocks_done == a->blocks_given))
			pthread_cond_signal(&a->to_reader);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct shiny_err *unpack_ahead_create(const struct block_ids *highest, struct unpack_ahead **out)
{
	struct unpack_ahead *a = mem_zero(1, sizeof(*a));
	struct shiny_err *err = unpacker_create(&a->unpacker);

	if (err) {
		free(a);
		return err;
	}
	if (highest)
		unpacker_limit(a->unpacker, highest);
	a->batches = mem_pages(BATCHES * sizeof(*a->batches));
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->to_worker, NULL);
	pthread_cond_init(&a->to_reader, NULL);
	a->threaded = thread_start(&a->thread, work, a);
	*out = a;
	return NULL;
}

void unpack_ahead_destroy(struct unpack_ahead *a)
{
	if (!a)
		return;
	if (a->threaded) {
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_signal(&a->to_worker);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	for (; a->batches_taken < a->batches_filled; a->batches_taken++)
		shiny_err_free(a->batches[a->batches_taken % BATCHES].err);
	pthread_cond_destroy(&a->to_reader);
	pthread_cond_destroy(&a->to_worker);
	pthread_mutex_destroy(&a->lock);
	for (unsigned i = 0; i < BLOCKS; i++)
		free(a->blocks[i].data);
	mem_pages_free(a->batches, BATCHES * sizeof(*a->batches));
	unpacker_destroy(a->unpacker);
	free(a);
}

bool unpack_ahead_has_room(const struct unpack_ahead *a)
{
	return a->blocks_given - a->ends_taken < BLOCKS;
}

struct shiny_err *unpack_ahead_give(struct unpack_ahead *a, const void *data, size_t bytes)
{
	struct packed *block = &a->blocks[a->blocks_given % BLOCKS];

	if (bytes > block->room) {
		free(block->data);
		block->room = 0;
		block->data = malloc(bytes);
		if (!block->data)
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		block->room = bytes;
	}
	if (bytes)
		memcpy(block->data, data, bytes);
	block->bytes = bytes;
	pthread_mutex_lock(&a->lock);
	a->blocks_given++;
	if (a->worker_waits)
		pthread_cond_signal(&a->to_worker);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

uint64_t unpack_ahead_astray(const struct unpack_ahead *a)
{
	return a->astray;
}

/* Fills the one batch that the reader is about to take, if there is no other thread. */
static void fill_one(struct unpack_ahead *a)
{
	fill(a, &a->batches[a->batches_filled % BATCHES]);
	a->blocks_done += !a->open;
	a->batches_filled++;
}

struct shiny_err *unpack_ahead_take(struct unpack_ahead *a, const struct event **events,
				    size_t *count)
{
	struct batch *batch;
	struct shiny_err *err;

	pthread_mutex_lock(&a->lock);
	a->batches_taken += a->holds;
	a->holds = true;
	if (a->worker_waits && a->batches_filled - a->batches_taken <= BATCHES / 2)
		pthread_cond_signal(&a->to_worker);
	if (!a->threaded)
		fill_one(a);
	while (a->batches_filled == a->batches_taken) {
		a->reader_waits = true;
		pthread_cond_wait(&a->to_reader, &a->lock);
		a->reader_waits = false;
	}
	pthread_mutex_unlock(&a->lock);
	batch = &a->batches[a->batches_taken % BATCHES];
	a->ends_taken += !batch->count;
	a->astray += batch->astray;
	*events = batch->events;
	*count = batch->count;
	err = batch->err;
	batch->err = NULL;
	return err;
}
