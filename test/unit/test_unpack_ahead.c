/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unpack_ahead.c: blocks unpacked by another thread: all events in order, damage told behind
 * the events in front of it, a reader that leaves in the middle; and all of that where no thread is
 * to be had.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/unpack_ahead.h"
#include "check.h"

enum { BLOCKS = 9, EVENTS = 40 * BLOCK_BATCH + 3 };

static bool no_threads;
static unsigned threads;

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

static struct {
	void *data;
	size_t bytes;
} blocks[BLOCKS];

/* Event i of block b has the number that says so. */
static uint64_t size_of(unsigned block, unsigned event)
{
	return (uint64_t)block * EVENTS + event + 1;
}

static void make_blocks(void)
{
	struct packer *packer;

	must(packer_create(&packer));
	for (unsigned b = 0; b < BLOCKS; b++) {
		struct block block;

		for (unsigned i = 0; i < EVENTS; i++) {
			struct event e = { .kind = EVENT_ALLOC, .process = 1, .thread = 1 };

			e.time = i;
			e.address = 4096 + 16 * i;
			e.size = size_of(b, i);
			if (packer_add(packer, &e, 1) != 1)
				check("packing", false, "the packer took no event");
		}
		must(packer_finish(packer, &block));
		blocks[b].data = memcpy(malloc(block.bytes), block.data, block.bytes);
		blocks[b].bytes = block.bytes;
	}
	packer_destroy(packer);
}

/* Reads until block `until`; what is wrong with it, or NULL. */
static const char *read_all(struct unpack_ahead *ahead, unsigned until)
{
	const char *why = NULL;
	unsigned given = 0;

	for (unsigned b = 0; b < until && !why; b++) {
		const struct event *events;
		unsigned at = 0;
		size_t count = 1;

		while (given < BLOCKS && unpack_ahead_has_room(ahead)) {
			must(unpack_ahead_give(ahead, blocks[given].data, blocks[given].bytes));
			given++;
		}
		while (count && !why) {
			must(unpack_ahead_take(ahead, &events, &count));
			for (size_t i = 0; i < count; i++, at++)
				if (events[i].size != size_of(b, at))
					why = "an event is not the one whose turn it is";
		}
		if (!why && at != EVENTS)
			why = "a block has another number of events";
	}
	return why;
}

static void test_order(void)
{
	struct unpack_ahead *ahead;
	const char *why;

	must(unpack_ahead_create(NULL, &ahead));
	why = read_all(ahead, BLOCKS);
	verdict("all events in order", why);
	unpack_ahead_destroy(ahead);
}

/* At each point the other thread is somewhere else. */
static void test_leaving(void)
{
	const char *why = NULL;

	for (unsigned until = 0; until < BLOCKS && !why; until++) {
		struct unpack_ahead *ahead;

		must(unpack_ahead_create(NULL, &ahead));
		why = read_all(ahead, until);
		unpack_ahead_destroy(ahead);
	}
	verdict("a reader may leave", why);
}

static void test_damage(void)
{
	struct unpack_ahead *ahead;
	const struct event *events;
	struct shiny_err *err = NULL;
	unsigned seen = 0;
	size_t count = 1;

	must(unpack_ahead_create(NULL, &ahead));
	must(unpack_ahead_give(ahead, blocks[0].data, blocks[0].bytes));
	must(unpack_ahead_give(ahead, "no block", 8));
	while (!err) {
		err = unpack_ahead_take(ahead, &events, &count);
		if (!err)
			seen += (unsigned)count;
	}
	check("damage behind a block's events", seen == EVENTS, "not all of them came before it");
	check("damage is told", strstr(err->message, "zstd") != NULL, err->message);
	shiny_err_free(err);
	unpack_ahead_destroy(ahead);
}

/* A batch of which one block lies, or ends, where no address space has room is not told. */
static void test_beyond(void)
{
	static const struct event wrong[] = {
		{ .kind = EVENT_ALLOC, .process = 1, .thread = 1, .address = EVENT_SPACE },
		{ .kind = EVENT_REALLOC, .process = 1, .thread = 1, .size = EVENT_BLOCK_MOST + 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct unpack_ahead *ahead;
		const struct event *events;
		struct packer *packer;
		struct block block;
		struct shiny_err *err;
		size_t count;

		must(packer_create(&packer));
		packer_add(packer, &wrong[i], 1);
		must(packer_finish(packer, &block));
		must(unpack_ahead_create(NULL, &ahead));
		must(unpack_ahead_give(ahead, block.data, block.bytes));
		err = unpack_ahead_take(ahead, &events, &count);
		verdict("no address space has room for it",
			err && strstr(err->message, "any address space") ? NULL : "no error");
		shiny_err_free(err);
		unpack_ahead_destroy(ahead);
		packer_destroy(packer);
	}
}

static void test_all(void)
{
	test_order();
	test_leaving();
	test_damage();
	test_beyond();
}

int main(void)
{
	make_blocks();
	test_all();
	check("another thread unpacks", threads > 0, "there was none");
	no_threads = true;
	test_all();
	for (unsigned b = 0; b < BLOCKS; b++)
		free(blocks[b].data);
	return failures != 0;
}
