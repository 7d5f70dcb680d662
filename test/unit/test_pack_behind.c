/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pack_behind.c: events packed by another thread make the very blocks that the packer makes by
 * itself, whatever pieces they come in and wherever blocks are ended; a writer that gives up in the
 * middle; and all of that where no thread is to be had.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/block_format.h"
#include "../../src/store/pack_behind.h"
#include "../lib/random.h"
#include "check.h"

enum { EVENTS = 2 * BLOCK_EVENTS + 12345, ENDS = 3 };

static bool no_threads;
static unsigned threads;
static struct event events[EVENTS];
/* Blocks are ended behind so many events: a few, one block and a bit, all. */
static const size_t ends[ENDS] = { 100, 100 + BLOCK_EVENTS + 3, EVENTS };

/* In the place of libc's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *context)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
			RTLD_NEXT, "pthread_create");

	if (no_threads)
		return EAGAIN;
	threads++;
	return real(thread, attributes, run, context);
}

static void make_events(void)
{
	for (size_t i = 0; i < EVENTS; i++)
		events[i] = (struct event){ .time = i * 70 + next_random() % 50,
					    .address = 4096 + next_random() % 100000 * 16,
					    .size = next_random() % 300,
					    .process = 1 + (uint32_t)(next_random() % 3),
					    .thread = 1,
					    .stack = (uint32_t)(next_random() % 500),
					    .kind = (uint8_t)(EVENT_ALLOC + next_random() % 2) };
}

/* What the packer makes of them, block for block. */
struct want {
	void *data;
	struct block block;
};
static struct want wants[16];
static size_t want_count;

static void want(struct packer *packer)
{
	struct want *w = &wants[want_count++];

	must(packer_finish(packer, &w->block));
	w->data = memcpy(malloc(w->block.bytes), w->block.data, w->block.bytes);
}

static void make_wants(void)
{
	struct packer *packer;
	size_t done = 0;

	must(packer_create(&packer));
	for (unsigned end = 0; end < ENDS; end++) {
		while (done < ends[end]) {
			done += packer_add(packer, events + done, ends[end] - done);
			if (done < ends[end])
				want(packer);
		}
		want(packer);
	}
	packer_destroy(packer);
}

/* Puts some of the events and returns how many. 0: a block is finished. */
static size_t put(struct pack_behind *behind, const struct event *from, size_t count)
{
	size_t room;
	struct event *to = pack_behind_room(behind, &room);

	if (!to)
		return 0;
	room = room < count ? room : count;
	memcpy(to, from, room * sizeof(*to));
	pack_behind_put(behind, room);
	return room;
}

static bool is_wanted(const struct block *block, size_t number)
{
	const struct want *w = &wants[number];

	return number < want_count && block->bytes == w->block.bytes &&
	       memcmp(block->data, w->data, block->bytes) == 0 && block->count == w->block.count &&
	       block->first == w->block.first && block->last == w->block.last &&
	       block->process_count == w->block.process_count;
}

/* Takes what is finished; false: a block is not the one whose turn it is. */
static bool take(struct pack_behind *behind, size_t *taken)
{
	const struct block *block;
	bool good = true;

	for (;;) {
		must(pack_behind_take(behind, &block));
		if (!block)
			return good;
		good = good && is_wanted(block, (*taken)++);
		pack_behind_taken(behind);
	}
}

/* Gives up behind `until` events. What is wrong, or NULL. */
static const char *pack(size_t piece, size_t until)
{
	struct pack_behind *behind;
	size_t done = 0, taken = 0;
	bool good = true;

	must(pack_behind_create(&behind));
	for (unsigned end = 0; end < ENDS && done < until; end++) {
		while (done < ends[end] && done < until) {
			size_t left = ends[end] - done,
			       some = put(behind, events + done, left < piece ? left : piece);

			done += some;
			if (!some)
				good = take(behind, &taken) && good;
		}
		while (done < until && !pack_behind_end(behind))
			good = take(behind, &taken) && good;
		if (done == EVENTS) {
			while (!pack_behind_end(behind))
				good = take(behind, &taken) && good;
		}
	}
	pack_behind_destroy(behind);
	if (!good)
		return "a block is not the one that the packer makes";
	return done == EVENTS && taken != want_count ? "blocks are missing" : NULL;
}

static void test_all(void)
{
	verdict("the packer's own blocks", pack(512, EVENTS));
	verdict("the same from other pieces", pack(777, EVENTS));
	verdict("and from single events", pack(1, EVENTS));
	verdict("a writer gives up at once", pack(512, 0));
	verdict("a writer gives up in the middle", pack(512, BLOCK_EVENTS + 5000));
}

int main(void)
{
	make_events();
	make_wants();
	test_all();
	check("another thread packs", threads > 0, "there was none");
	no_threads = true;
	test_all();
	for (size_t i = 0; i < want_count; i++)
		free(wants[i].data);
	return failures != 0;
}
