/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_block.c: what is packed comes back exactly, and what was damaged is an error or the same,
 * never anything else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../src/store/block.h"
#include "../lib/random.h"
#include "check.h"

/* A number that is as likely to be small as large. */
static uint64_t any_number(void)
{
	return next_random() >> (next_random() & 63);
}

/* Events without any sense: every field takes every value, kinds beyond the known ones included. */
static void make_wild(struct event *e, size_t count)
{
	for (size_t i = 0; i < count; i++)
		e[i] = (struct event){ .time = any_number(),
				       .address = any_number(),
				       .size = any_number(),
				       .old_address = any_number(),
				       .process = (uint32_t)any_number(),
				       .thread = (uint32_t)any_number(),
				       .stack = (uint32_t)any_number(),
				       .vtable = (uint32_t)any_number(),
				       .tag = next_random() & 3
						      ? 0
						      : (uint32_t)any_number() >>
								(32 - EVENT_TAG_BITS),
				       .level = next_random() & 3 ? 0 : next_random() & 7,
				       .kind = (uint8_t)(next_random() %
							 (next_random() & 7 ? 8 : 256)),
				       .api = (uint8_t)next_random() };
}

/* Something like a program: a few processes and threads, live blocks, frees, reallocs in place and
 * moving, vptrs, mappings. */
static void make_tame(struct event *e, size_t count, bool tagged)
{
	enum { LIVE = 1000 };
	static struct { uint64_t address, size; uint32_t process; } live[LIVE];
	uint64_t time = 0;

	memset(live, 0, sizeof(live));
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = (uint32_t)(next_random() % 6) + 1;
		size_t at = next_random() % LIVE;

		time += next_random() % 300 - (next_random() % 64 == 0 ? 100 : 0);
		if (next_random() % 1000 == 0)
			time += any_number() >> 20;
		e[i] = (struct event){ .time = time,
				       .process = thread / 2 + 1,
				       .thread = thread,
				       .stack = (uint32_t)(next_random() % 40),
				       .tag = thread & 1 && tagged ? (uint32_t)(i / 50 % 7) : 0,
				       .level = thread & 2 && tagged ? i / 90 % 3 : 0 };
		if (next_random() % 500 == 0) {
			e[i].kind = EVENT_MAP;
			e[i].api = (uint8_t)(next_random() % 5);
			e[i].address = any_number();
			e[i].size = any_number();
			e[i].old_address = next_random() & 1 ? any_number() : 0;
		} else if (next_random() % 8 == 0) {
			e[i].kind = next_random() & 1 ? EVENT_CONSTRUCT : EVENT_DESTROY;
			e[i].address = live[at].address + next_random() % 300;
			e[i].vtable = e[i].stack / 3 + (next_random() % 20 == 0);
		} else if (!live[at].address) {
			live[at].address = UINT64_C(0x555555550000) + (next_random() % 5000) * 16;
			live[at].size = e[i].stack * 8 + next_random() % 3;
			live[at].process = e[i].process;
			e[i].kind = EVENT_ALLOC;
			e[i].address = live[at].address;
			e[i].size = live[at].size;
			if (e[i].stack % 4 == 0) {
				e[i].api = SHINY_API_COLLECTED;
				e[i].vtable = e[i].stack + (next_random() % 20 == 0);
			}
		} else {
			uint64_t what = next_random() % 8;

			e[i].process = live[at].process;
			e[i].address = live[at].address;
			if (what == 0) {
				e[i].kind = EVENT_VPTR;
				e[i].stack = 0;
				e[i].vtable = (uint32_t)(next_random() % 30) + 1;
			} else if (what == 1) {
				e[i].kind = EVENT_REALLOC;
				e[i].old_address = live[at].address;
				if (next_random() & 1)
					e[i].address = live[at].address += 4096 + next_random() % 3;
				e[i].size = live[at].size *= 2;
			} else {
				e[i].kind = EVENT_FREE;
				e[i].size = next_random() & 1 ? live[at].size : 0;
				live[at].address = 0;
			}
		}
	}
}

struct compare {
	const struct event *want;
	size_t count, at, stop_at;
	const char *why;
};

static bool same(const struct event *a, const struct event *b)
{
	bool born = b->kind == EVENT_ALLOC || b->kind == EVENT_REALLOC;

	return a->time == b->time && a->address == b->address && a->size == b->size &&
	       a->old_address == b->old_address && a->process == b->process &&
	       a->thread == b->thread && a->stack == b->stack && a->vtable == b->vtable &&
	       a->kind == b->kind && a->api == b->api &&
	       a->tag == (born ? b->tag : 0) && a->level == (born ? b->level : 0);
}

/* The ids that there are, where not all are; how many others came back as 0. */
static const struct block_ids *highest;
static uint64_t astray;

static void cut(uint32_t *id, uint32_t most)
{
	astray += *id > most;
	*id = *id > most ? 0 : *id;
}

static struct event with_ids(struct event e)
{
	bool built = e.kind == EVENT_CONSTRUCT || e.kind == EVENT_DESTROY;

	if (!highest)
		return e;
	cut(&e.process, highest->process);
	cut(&e.thread, highest->thread);
	cut(&e.stack, highest->stack);
	cut(&e.vtable, built ? highest->built : highest->vtable);
	if (e.kind == EVENT_ALLOC || e.kind == EVENT_REALLOC) /* others' is not kept */
		cut(&e.tag, highest->tag);
	return e;
}

static bool compare_events(void *context, const struct event *events, size_t count)
{
	struct compare *c = context;

	for (size_t i = 0; i < count && !c->why && (!c->at || c->at != c->stop_at); i++, c->at++) {
		struct event want;

		if (c->at == c->count) {
			c->why = "more events came back than were packed";
			continue;
		}
		want = with_ids(c->want[c->at]);
		if (!same(&events[i], &want))
			c->why = "an event came back changed";
	}
	return !c->why && c->at != c->stop_at;
}

/* Gives a block's events to compare_events, until that has enough. */
static struct shiny_err *unpack(struct unpacker *unpacker, const void *data, size_t bytes,
				struct compare *c, bool *stopped)
{
	static struct event events[BLOCK_BATCH];
	struct shiny_err *err = unpacker_open(unpacker, data, bytes);
	size_t count = 1;

	*stopped = false;
	while (!err && count && !*stopped) {
		err = unpacker_next(unpacker, events, &count);
		if (!err && count)
			*stopped = !compare_events(c, events, count);
	}
	return err;
}

/* Packs and unpacks `count` events, in as many blocks as the packer wants; NULL or why it is
 * wrong. */
static const char *roundtrip(struct packer *packer, struct unpacker *unpacker,
			     const struct event *events, size_t count, size_t *bytes)
{
	struct compare c = { .want = events, .count = count };
	struct shiny_err *err = NULL;
	size_t done = 0;

	while (done < count && !err && !c.why) {
		struct block block;
		bool stopped;
		size_t from = done;

		done += packer_add(packer, events + done, count - done);
		if (done == from)
			return "a new block took no event";
		err = packer_finish(packer, &block);
		if (err)
			break;
		*bytes += block.bytes;
		if (block.count != done - from)
			return "the block has another count";
		for (size_t i = from; i < done; i++) {
			size_t j = 0;

			if (events[i].time < block.first || events[i].time > block.last)
				return "an event's time is outside its block's";
			while (j < block.process_count && block.processes[j] != events[i].process)
				j++;
			if (j == block.process_count)
				return "an event's process is not in its block's list";
		}
		err = unpack(unpacker, block.data, block.bytes, &c, &stopped);
	}
	if (err) {
		static char message[200];

		snprintf(message, sizeof(message), "%s", err->message);
		shiny_err_free(err);
		return message;
	}
	if (!c.why && c.at != count)
		c.why = "fewer events came back than were packed";
	return c.why;
}

static void test_roundtrips(struct packer *packer, struct unpacker *unpacker)
{
	enum { MOST = 300000 };
	struct event *events = malloc(MOST * sizeof(*events));
	const char *why = NULL;
	size_t bytes = 0;

	for (size_t count = 1; count < 3000 && !why; count += count / 3 + 1) {
		make_wild(events, count);
		why = roundtrip(packer, unpacker, events, count, &bytes);
		if (!why) {
			make_tame(events, count, count & 1);
			why = roundtrip(packer, unpacker, events, count, &bytes);
		}
	}
	verdict("small blocks", why);
	make_wild(events, MOST);
	verdict("senseless events, many pairs", roundtrip(packer, unpacker, events, MOST, &bytes));
	bytes = 0;
	make_tame(events, MOST, false);
	verdict("events like a program's", roundtrip(packer, unpacker, events, MOST, &bytes));
	printf("# %.2f bytes an event of a random program\n", (double)bytes / MOST);
	bytes = 0;
	make_tame(events, MOST, true);
	verdict("the same with tags", roundtrip(packer, unpacker, events, MOST, &bytes));
	printf("# %.2f bytes an event, half of the threads with another tag every fifty events\n",
	       (double)bytes / MOST);
	memset(events, 0, MOST * sizeof(*events));
	bytes = 0;
	verdict("all zero", roundtrip(packer, unpacker, events, MOST, &bytes));
	verdict("repetition costs nothing",
		bytes < 2000 ? NULL : "300,000 equal events took over 2000 bytes");
	memset(events, 0xff, MOST * sizeof(*events));
	verdict("all ones", roundtrip(packer, unpacker, events, MOST, &bytes));
	free(events);
}

/* Ids that are not there are 0, and counted; all else is as it was. */
static void test_ids(struct packer *packer)
{
	static const struct block_ids some[] = { { 3, 4, 25, 12, 9, 4 },
						 { 4, 6, 40, 40, 30, 7 },
						 { 3, 0xffffffff, 0xffffffff, 50, 50, 7 },
						 { 4, 3, 50, 50, 50, 7 },
						 { 4, 7, 50, 50, 50, 3 },
						 { 4, 7, 50, 5, 50, 7 },
						 { 4, 7, 50, 50, 5, 7 },
						 { 4, 7, 30, 50, 50, 7 } };
	enum { MOST = 300000 };
	struct event *events = malloc(MOST * sizeof(*events));
	const char *why = NULL;
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(some) / sizeof(*some) && !why; i++) {
		struct unpacker *unpacker;

		must(unpacker_create(&unpacker));
		unpacker_limit(unpacker, &some[i]);
		highest = &some[i];
		for (int wild = 0; wild < 2 && !why; wild++) {
			uint64_t told;

			astray = 0;
			if (wild)
				make_wild(events, MOST / 10);
			else
				make_tame(events, MOST, true);
			why = roundtrip(packer, unpacker, events, wild ? MOST / 10 : MOST, &bytes);
			told = unpacker_astray(unpacker);
			if (!why && (told != astray || unpacker_astray(unpacker)))
				why = "another number of ids was told";
			if (!why && !astray != (i == 1 && !wild))
				why = "no ids were to be dropped, or some that are there";
		}
		unpacker_destroy(unpacker);
	}
	highest = NULL;
	verdict("ids that are not there", why);
	free(events);
}

static void test_stop(struct packer *packer, struct unpacker *unpacker)
{
	enum { COUNT = 5 * BLOCK_BATCH, STOP = 2 * BLOCK_BATCH + 17 };
	static struct event events[COUNT];
	struct compare c = { .want = events, .count = COUNT, .stop_at = STOP };
	struct block block;
	bool stopped = false;
	struct shiny_err *err;

	make_tame(events, COUNT, true);
	packer_add(packer, events, COUNT);
	err = packer_finish(packer, &block);
	if (!err)
		err = unpack(unpacker, block.data, block.bytes, &c, &stopped);
	verdict("a reader may stop early", err			      ? err->message
					   : c.why		      ? c.why
					   : !stopped || c.at != STOP ? "it did not stop there"
								      : NULL);
	shiny_err_free(err);
}

/* Any byte of a block changed, or any tail cut off: an error, or (in bytes that mean nothing) the
 * same events. */
static void test_damage(struct packer *packer, struct unpacker *unpacker)
{
	enum { COUNT = 2000 };
	static struct event events[COUNT];
	struct block block;
	struct shiny_err *err;
	const char *why = NULL;
	unsigned refused = 0, tries = 0;

	make_tame(events, COUNT, true);
	packer_add(packer, events, COUNT);
	err = packer_finish(packer, &block);
	if (err) {
		verdict("damage", err->message);
		shiny_err_free(err);
		return;
	}
	uint8_t *copy = malloc(block.bytes);
	for (size_t at = 0; at < 2 * block.bytes && !why; at++) {
		struct compare c = { .want = events, .count = COUNT };
		size_t bytes = at < block.bytes ? block.bytes : at - block.bytes;
		bool stopped;

		memcpy(copy, block.data, block.bytes);
		if (at < block.bytes)
			copy[at] ^= (uint8_t)(1 + next_random() % 255);
		err = unpack(unpacker, copy, bytes, &c, &stopped);
		tries++;
		refused += err != NULL;
		if (!err && (c.why || c.at != COUNT))
			why = "damage was taken for events";
		shiny_err_free(err);
	}
	if (!why && refused < tries / 10 * 9)
		why = "too little damage was noticed";
	verdict("damage is noticed", why);
	free(copy);
}

/* A packer knows the blocks of events before by a stamp, which comes round: what one of them saw
 * begin must not be taken for one of this block's, at the same address. */
static void test_many_blocks(struct unpacker *unpacker)
{
	enum { ROUND = 1 << 13, ADDRESS = 0x5000 };
	struct packer *packer;
	struct shiny_err *err = packer_create(&packer);
	const char *why = err ? err->message : NULL;
	size_t bytes = 0;

	for (int i = 0; i < 2 * ROUND && !why; i++) {
		struct event event = { .kind = EVENT_ALLOC,
				       .process = i % (ROUND - 1) ? 2 : 1,
				       .address = ADDRESS };

		if (i % (ROUND - 1) == 0 && i)
			event.kind = EVENT_FREE;
		why = roundtrip(packer, unpacker, &event, 1, &bytes);
	}
	verdict("blocks whose stamp comes round", why);
	shiny_err_free(err);
	if (!err)
		packer_destroy(packer);
}

int main(void)
{
	struct packer *packer;
	struct unpacker *unpacker;
	struct shiny_err *err = packer_create(&packer);

	if (!err)
		err = unpacker_create(&unpacker);
	if (err) {
		verdict("create", err->message);
		return 1;
	}
	test_roundtrips(packer, unpacker);
	test_ids(packer);
	test_stop(packer, unpacker);
	test_damage(packer, unpacker);
	test_many_blocks(unpacker);
	packer_destroy(packer);
	unpacker_destroy(unpacker);
	return failures != 0;
}
