/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_unpack.c: reads blocks of events; see block.h, and block.c for the format.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one an unpacker.
 *
 * Every number is checked before it is used as an index, and every column ends where the header
 * says: see block.c. Errors are stored in `wrong` and checked once an event, so that the reading
 * functions stay small. Reads past a column's end are checked once a batch, before the caller gets
 * its events: behind a column is the next one, and behind the last there is as much room as a batch
 * can read.
 *
 * An event has two costs. The first are unpredictable branches: how long a number is, whether a
 * time needs a second byte, whether a kind is spelt out; arithmetic replaces these. The second is
 * waiting for the model's tables, 6 MB that share a core's cache with the reader's own: the next
 * event's guesses are prefetched as soon as this one's stack is known, and the next old block as
 * soon as the column names it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "block.h"
#include "block_format.h"
#include "model.h"

struct unpacker {
	struct model model;
	const uint8_t *at[COLUMN_COUNT], *end[COLUMN_COUNT];
	const char *wrong; /* the first rule that was broken */
	bool beyond;       /* see unpacker_is_beyond */
	bool astray;       /* the block has an id, other than a stack's, that is too high */
	struct block_ids highest;
	uint64_t nulled;   /* see unpacker_astray */
	uint32_t left;     /* remaining events */
	uint8_t *raw;
	size_t raw_room;
	ZSTD_DCtx *zstd;
};

enum { SLACK = BLOCK_BATCH * 32 + 8 }; /* more than a batch of any column_most, and the bytes that
                                        * get() reads ahead */
enum { TARGET_AHEAD = 1 };

static inline unsigned get_byte(struct unpacker *u, int column)
{
	return *u->at[column]++;
}

/* Reads a number of nine or ten bytes. */
static __attribute__((noinline, cold)) uint64_t get_long(struct unpacker *u, int column)
{
	const uint8_t *at = u->at[column];
	uint64_t value = *at & 0x7f;

	for (unsigned shift = 7; *at++ >= 0x80; shift += 7) {
		if (shift >= 64) {
			u->wrong = "a number is too long";
			return 0;
		}
		value |= (uint64_t)(*at & 0x7f) << shift;
	}
	u->at[column] = at;
	return value;
}

/* Joins the low seven bits of eight bytes, first in pairs; the eighth bits are 0. */
static inline uint64_t squeeze(uint64_t bytes)
{
	bytes = (bytes & UINT64_C(0x007f007f007f007f)) |
		(bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
	bytes = (bytes & UINT64_C(0x00003fff00003fff)) |
		(bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (bytes & UINT64_C(0x000000000fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Reads a number. Its length is unpredictable, so there is no branch on it, up to eight bytes. */
static inline uint64_t get(struct unpacker *u, int column)
{
	uint64_t bytes, last;

	memcpy(&bytes, u->at[column], sizeof(bytes));
	last = ~bytes & UINT64_C(0x8080808080808080);
	if (__builtin_expect(!last, 0))
		return get_long(u, column);
	u->at[column] += (unsigned)__builtin_ctzll(last) / 8 + 1;
	return squeeze(bytes & (last ^ (last - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f));
}

/* Reads a time. Half of the steps take a second byte, which no branch predictor can learn: it is
 * always read, and then used or not. */
static inline uint64_t get_time(struct unpacker *u)
{
	unsigned byte = get_byte(u, COLUMN_TIME), far = byte >= TIME_STEPS;
	unsigned low = *u->at[COLUMN_TIME_LOW];

	if (byte == TIME_ESCAPE)
		return u->model.time += unzigzag(get(u, COLUMN_TIME_FAR));
	u->at[COLUMN_TIME_LOW] += far;
	return u->model.time += byte + ((byte - TIME_STEPS) * 255 + low) * far;
}

/* Prefetches the next block of the column, which is mostly an old one, in no cache. */
static inline __attribute__((always_inline)) void expect_target(const struct unpacker *u)
{
	uint32_t bytes, last, back;

	memcpy(&bytes, u->at[COLUMN_TARGET], sizeof(bytes));
	last = (~bytes & 0x80808080) | 0x80000000;
	bytes &= last ^ (last - 1);
	bytes = (bytes & 0x007f007f) | (bytes & 0x7f007f00) >> 1;
	back = (bytes & 0x3fff) | (bytes & 0x3fff0000) >> 2;
	if (back > TARGET_AHEAD && back < u->model.node_count)
		__builtin_prefetch(&u->model.nodes[u->model.node_count - back + TARGET_AHEAD], 1);
}

static inline uint64_t get_target(struct unpacker *u, uint32_t pair, unsigned code, uint32_t *node)
{
	struct model *m = &u->model;
	uint32_t n = NO_NODE;

	*node = NO_NODE;
	if (code < TARGET_GUESSES) {
		n = model_guess(m, pair, code);
	} else if (code == TARGET_BACK) {
		uint64_t back = get(u, COLUMN_TARGET);

		expect_target(u);
		if (back && back <= m->node_count - PAIRS &&
		    m->nodes[m->node_count - back].state & NODE_ALIVE)
			n = m->node_count - (uint32_t)back;
	} else {
		uint64_t difference = unzigzag(get(u, COLUMN_TARGET));

		return m->pairs[pair].foreign +=
		       code == TARGET_FOREIGN ? difference << 4 : difference;
	}
	if (n == NO_NODE) {
		u->wrong = "an event means a block that is not there";
		return 0;
	}
	*node = n;
	return m->nodes[n].address;
}

static inline uint64_t get_alloc_address(struct unpacker *u, struct pair *pair,
					 struct size_class *c, unsigned code, const struct event *e)
{
	uint64_t address;

	if (code < AT_STRIDE)
		return model_take_freed(c, code - AT_FREED);
	if (code == AT_MORE) {
		unsigned position = get_byte(u, COLUMN_ADDRESS);

		if (position == SAME_PLACE)
			return e->old_address;
		return model_take_freed(c, position % RING);
	}
	if (code == AT_END)
		address = pair->fresh_end;
	else if (code == AT_STRIDE)
		address = c->last + c->stride;
	else if (code == AT_NEAR)
		address = pair->fresh + (unzigzag(get(u, COLUMN_ADDRESS)) << 4);
	else
		address = pair->fresh + unzigzag(get(u, COLUMN_ADDRESS));
	model_fresh(pair, c, address, e->size);
	return address;
}

static inline uint64_t get_object_address(struct unpacker *u, struct pair *pair, unsigned code,
					  uint64_t size)
{
	uint64_t *end = model_object_end(pair, size), address = *end;

	if (code == AT_NEAR)
		address += unzigzag(get(u, COLUMN_ADDRESS)) << 3;
	else if (code != AT_END)
		address += unzigzag(get(u, COLUMN_ADDRESS));
	*end = address + model_object_step(size);
	return address;
}

static inline bool get_pair(struct unpacker *u, bool same)
{
	struct model *m = &u->model;

	if (!same) {
		uint64_t number = get(u, COLUMN_PAIR);

		if (number == m->pair_count && number < PAIRS) {
			uint32_t process = (uint32_t)get(u, COLUMN_PAIR);

			model_add_pair(m, process, (uint32_t)get(u, COLUMN_PAIR));
			u->astray |= process > u->highest.process ||
				     m->pairs[number].thread > u->highest.thread;
		}
		m->pair = number < PAIRS ? (uint32_t)number : PAIRS;
	}
	if (m->pair >= m->pair_count)
		u->wrong = "an event is of an unknown thread";
	return !u->wrong;
}

static inline uint32_t get_stack(struct unpacker *u)
{
	struct model *m = &u->model;
	uint32_t stack =
		(uint32_t)((uint64_t)m->explicit_stack + 1 - unzigzag(get(u, COLUMN_STACK)));

	if (stack > m->explicit_stack)
		m->explicit_stack = stack;
	return stack;
}

static inline uint32_t get_vtable(struct unpacker *u, struct site *site, uint32_t highest)
{
	uint64_t difference = get(u, COLUMN_VTABLE);

	if (difference)
		site->vtable = (uint32_t)(site->vtable + unzigzag(difference - 1));
	u->astray |= site->vtable > highest;
	return site->vtable;
}

/* Reads one event; false: the block breaks a rule, and u->wrong is set. Longer than 80 lines: it is
 * inlined as one; the essay above has the costs. */
static inline bool unpack_event(struct unpacker *u, struct event *e)
{
	struct model *m = &u->model;
	unsigned control = get_byte(u, COLUMN_CONTROL), code = control >> ADDRESS_SHIFT;
	unsigned lead = 0;
	uint32_t node;

	*e = (struct event){ 0 };
	if (!get_pair(u, control & PAIR_HIT))
		return false;
	struct pair *pair = &m->pairs[m->pair];
	e->process = pair->process;
	e->thread = pair->thread;
	e->time = get_time(u);
	struct history *history = model_history(m, pair->stacks);
	struct site *before = model_site(m, (uint32_t)pair->stacks);
	const uint64_t *guess = (control & STACK_MASK) == STACK_HISTORY  ? &history->what
				: (control & STACK_MASK) == STACK_RECENT ? &before->next
									 : NULL;
	e->stack = guess ? model_stack(*guess) : get_stack(u);
	/* the next event's guesses; here, as all that follows waits for an unpredictable branch */
	__builtin_prefetch(model_history(m, pair->stacks << 32 | e->stack), 1);
	struct site *site = model_site(m, e->stack);
	/* spelt out or guessed: both are readable, so no branch chooses */
	const uint8_t *spelt = u->at[COLUMN_TAG];
	const uint8_t *tag = guess ? (const uint8_t *)guess : (const uint8_t *)&site->mark;

	tag = control & TAG_HIT ? tag : spelt + 1;
	lead = control & TAG_HIT ? 0 : *spelt;
	u->at[COLUMN_TAG] = spelt + (control & TAG_HIT ? 0 : 3);
	e->kind = tag[0];
	e->api = tag[1];
	if (lead & LEAD_TAG) {
		pair->tag = (uint32_t)get(u, COLUMN_VTABLE);
		u->astray |= (pair->tag & TAG_MASK) > u->highest.tag;
	}
	if (lead & LEAD_EXTRA) {
		e->vtable = (uint32_t)get(u, COLUMN_VTABLE);
		u->astray |= e->vtable > u->highest.vtable;
		e->old_address = get(u, COLUMN_OLD);
	}

	uint64_t guessed = 0, learnt;
	if (has_target(e->kind)) {
		e->address = get_target(u, m->pair, code, &node);
		if (e->kind == EVENT_FREE)
			guessed = site->size && node != NO_NODE ? m->nodes[node].size : 0;
		e->size = control & SIZE_HIT ? guessed : get(u, COLUMN_SIZE);
		learnt = e->size && node != NO_NODE && e->size == m->nodes[node].size;
		if (u->wrong)
			return false;
		if (e->kind == EVENT_FREE) {
			model_end(m, m->pair, node, e->address, e->size);
		} else {
			e->vtable = get_vtable(
				u, model_site(m, node != NO_NODE ? m->nodes[node].stack : 0),
				u->highest.vtable);
		}
	} else if (has_address_of_alloc(e->kind)) {
		e->size = control & SIZE_HIT ? model_size(history, site, e->stack)
					     : get(u, COLUMN_SIZE);
		e->tag = pair->tag & TAG_MASK;
		e->level = (uint8_t)(pair->tag >> EVENT_TAG_BITS);
		learnt = e->size;
		if (e->kind == EVENT_REALLOC) {
			unsigned target = get_byte(u, COLUMN_OLD);

			e->old_address = get_target(u, m->pair, target, &node);
			if (u->wrong)
				return false;
			model_end(m, m->pair, node, e->old_address, 0);
		}
		uint32_t class = model_class(m->pair, e->size);
		if (has_kind(e)) {
			e->address = get_object_address(u, pair, code, e->size);
			e->vtable = get_vtable(u, site, u->highest.vtable);
		} else {
			e->address = get_alloc_address(u, pair, &m->classes[class], code, e);
		}
		u->beyond |= !event_block_fits(e->address, e->size);
		model_begin(m, m->pair, e, class, e->api == SHINY_API_COLLECTED);
	} else if (has_class(e->kind)) {
		e->address = pair->built += unzigzag(get(u, COLUMN_TARGET));
		e->vtable = get_vtable(u, site, u->highest.built);
		e->size = learnt = control & SIZE_HIT ? 0 : get(u, COLUMN_SIZE);
	} else {
		e->address = pair->mapped += unzigzag(get(u, COLUMN_TARGET));
		uint64_t old = unzigzag(get(u, COLUMN_OLD));
		e->old_address += old;
		e->size = learnt = control & SIZE_HIT ? 0 : get(u, COLUMN_SIZE);
	}
	uint64_t what = model_what(e->kind, e->api, e->stack);
	if (e->kind != EVENT_VPTR) {
		pair->stacks = model_learn(pair->stacks, before, history, site, what);
		model_learn_size(history, site, learnt);
	} else if (!(control & TAG_HIT)) {
		site->mark = (uint16_t)what;
	}
	return !u->wrong;
}

static struct shiny_err *bad(const char *why)
{
	return shiny_err(SHINY_ERR_OTHER, "%s", why);
}

/* Decompresses a block and splits it into columns. */
static struct shiny_err *open_block(struct unpacker *u, const void *data, size_t bytes,
				    uint32_t *count)
{
	unsigned long long total =
		data ? ZSTD_getFrameContentSize(data, bytes) : ZSTD_CONTENTSIZE_ERROR;
	struct header header;
	size_t most = 0, used = sizeof(header);

	for (int i = 0; i < COLUMN_COUNT; i++)
		most += column_most[i];
	if (total == ZSTD_CONTENTSIZE_ERROR || total == ZSTD_CONTENTSIZE_UNKNOWN)
		return bad("it is not a zstd frame");
	if (total < sizeof(header) || total > sizeof(header) + most * BLOCK_EVENTS)
		return bad("its size is impossible");
	if (total > u->raw_room) {
		free(u->raw);
		u->raw_room = 0;
		u->raw = malloc(total + SLACK);
		if (!u->raw)
			return bad("out of memory");
		u->raw_room = total;
	}
	memset(u->raw + total, 0, SLACK);
	size_t got = ZSTD_decompressDCtx(u->zstd, u->raw, total, data, bytes);
	if (ZSTD_isError(got))
		return bad(ZSTD_getErrorName(got));
	if (got != total)
		return bad("it is shorter than it says");
	memcpy(&header, u->raw, sizeof(header));
	if (header.magic != BLOCK_MAGIC)
		return bad("it is packed in a way that this shinyctl does not know");
	if (header.count == 0 || header.count > BLOCK_EVENTS)
		return bad("its number of events is impossible");
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (header.bytes[i] > total - used)
			return bad("a column is longer than the block");
		u->at[i] = u->raw + used;
		used += header.bytes[i];
		u->end[i] = u->raw + used;
	}
	if (used != total)
		return bad("there is more in it than its columns");
	*count = header.count;
	return NULL;
}

/* True if no read went past a column's end. */
static bool within_columns(const struct unpacker *u)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (u->at[i] > u->end[i])
			return false;
	return true;
}

struct shiny_err *unpacker_open(struct unpacker *u, const void *data, size_t bytes)
{
	u->wrong = NULL;
	u->beyond = u->astray = false;
	u->left = 0;
	model_reset(&u->model);
	return open_block(u, data, bytes, &u->left);
}

static struct shiny_err *check_end(const struct unpacker *u)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (u->at[i] != u->end[i])
			return bad("a column holds more than its events need");
	return NULL;
}

static void drop_beyond(struct unpacker *u, uint32_t *id, uint32_t highest)
{
	if (*id <= highest)
		return;
	*id = 0;
	u->nulled++;
}

static __attribute__((noinline, cold)) void drop_astray(struct unpacker *u, struct event *events,
							size_t count)
{
	const struct block_ids *highest = &u->highest;

	for (struct event *e = events; e < events + count; e++) {
		drop_beyond(u, &e->process, highest->process);
		drop_beyond(u, &e->thread, highest->thread);
		drop_beyond(u, &e->stack, highest->stack);
		drop_beyond(u, &e->vtable, has_class(e->kind) ? highest->built : highest->vtable);
		drop_beyond(u, &e->tag, highest->tag);
	}
}

struct shiny_err *unpacker_next(struct unpacker *u, struct event *events, size_t *count)
{
	size_t batch = u->left < BLOCK_BATCH ? u->left : BLOCK_BATCH, good = 0;

	*count = 0;
	if (u->wrong)
		return bad(u->wrong);
	if (!batch)
		return check_end(u);
	while (good < batch && unpack_event(u, &events[good]))
		good++;
	u->left -= (uint32_t)batch;
	if (!within_columns(u))
		return bad("a column ends too early");
	if (u->astray || u->model.explicit_stack > u->highest.stack)
		drop_astray(u, events, good);
	*count = good;
	return good ? NULL : bad(u->wrong);
}

void unpacker_limit(struct unpacker *u, const struct block_ids *highest)
{
	u->highest = *highest;
}

uint64_t unpacker_astray(struct unpacker *u)
{
	uint64_t nulled = u->nulled;

	u->nulled = 0;
	return nulled;
}

bool unpacker_is_beyond(const struct unpacker *u)
{
	return u->beyond;
}

struct shiny_err *unpacker_create(struct unpacker **out)
{
	struct unpacker *u = mem_pages(sizeof(*u));

	memset(&u->highest, 0xff, sizeof(u->highest)); /* any id */
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		unpacker_destroy(u);
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	*out = u;
	return NULL;
}

void unpacker_destroy(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->raw);
	mem_pages_free(u, sizeof(*u));
}
