/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c: events packed into self-contained compressed blocks; block_unpack.c is the way back.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a packer.
 *
 * The problem: an event is 50 bytes as a struct, there are hundreds of millions, and every field is
 * wanted back exactly, at less than 4 bytes an event and at a speed that is small beside the rest
 * of the sidecar's work.
 *
 * The approach: programs repeat themselves. What an event will be is guessed from what came before
 * (model.h), and only the difference is stored:
 *   who        the (process, thread) of the last event;
 *   stack      what followed the thread's last two stacks, or its last one, the last time; that
 *              also guesses kind, api and size;
 *   address    of an allocation: the addresses that this thread freed last in this size class
 *              (allocators hand out the latest first), or the next one in a row; of a free: the
 *              neighbour in allocation order of the block freed last (lists and trees are torn down
 *              in order), or one of the thread's youngest blocks, or how many allocations ago it
 *              began; of a construction or destruction, the difference to the last one; of a
 *              garbage-collected object, right behind the last one of its space, of which there
 *              are four, by size;
 *   class      of a construction or destruction, and of a garbage-collected object: the last one of
 *              this stack;
 *   size       the last one of this stack; of a free: 0, or the block's;
 *   tag        of an allocation: that of the thread's last one;
 *   time       the difference to the event before: the part that can't be guessed.
 * One control byte an event says which guesses were right; what was not goes to one of the other
 * columns. Each column holds one sort of number, so that zstd (level 1, checksum on) finds a skewed
 * byte distribution in each.
 *
 * Before zstd a block is: struct header, then the columns one behind the other. Everything starts
 * afresh in every block, so any block can be read without the others.
 *
 * The unpacker trusts nothing: every number read is checked before it is an index, every column
 * ends where the header says. The checksum catches accidents, the checks malice.
 *
 * What it costs (`bench/run block`, bench/results/block.txt): recordings of node (1.7 million
 * events) and clang++ (5.2 million) take 0.8 and 2.0 bytes an event, 28 and 45 ns to pack, 18 and
 * 26 ns to unpack, compression included, on one 2.6 GHz core.
 *
 * Allocations and frees are nearly all: pack_event is inlined for each, with its kind a constant.
 * What the next events will look up is prefetched. Not tried: columns of plain differences, where
 * the addresses of frees would be spelt out; naming a freed block by its rank among the live ones,
 * which needs an order-statistics tree.
 */
#define _GNU_SOURCE
#include "block.h"

#include <emmintrin.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/mem.h"
#include "block_format.h"
#include "model.h"

enum { TABLE_BITS = 19, PAIR_TABLE_BITS = 13, CHUNK = 64, AHEAD = 6 };

struct packer {
	struct model model;
	uint32_t count;
	uint64_t first, last;
	uint8_t *columns[COLUMN_COUNT], *at[COLUMN_COUNT];
	uint8_t *memory;               /* all columns; touched only as far as they are filled */
	uint32_t table[1 << TABLE_BITS];      /* address -> node, open addressing; entries of ended
	                                       * blocks stay */
	uint16_t pair_table[1 << PAIR_TABLE_BITS]; /* pair + 1, open addressing */
	uint32_t processes[PAIRS];
	ZSTD_CCtx *zstd;
	void *out;
	size_t out_room;
};

static inline void put_byte(struct packer *p, int column, unsigned byte)
{
	*p->at[column]++ = (uint8_t)byte;
}

static inline void put(struct packer *p, int column, uint64_t value)
{
	uint8_t *at = p->at[column];

	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	p->at[column] = at;
}

static inline uint32_t slot_of(uint32_t process, uint64_t address)
{
	return mix(address ^ (uint64_t)process << 48, TABLE_BITS);
}

/* Begins at `slot`, its slot_of. */
static inline uint32_t *find_address(struct packer *p, uint32_t pair, uint64_t address,
				     uint32_t slot)
{
	const struct model *m = &p->model;
	uint32_t mask = (1u << TABLE_BITS) - 1;

	for (;; slot = (slot + 1) & mask) {
		uint32_t n = p->table[slot];
		const struct node *node = &m->nodes[n];

		if (!n || (node->address == address &&
			   (node->pair == pair ||
			    m->pairs[node->pair].process == m->pairs[pair].process)))
			return &p->table[slot];
	}
}

/* The pair's number; PAIRS when there is no room for it in this block. `*is_new` when it has to be
 * spelt out. */
static uint32_t find_pair(struct packer *p, uint32_t process, uint32_t thread, bool *is_new)
{
	struct model *m = &p->model;
	uint32_t mask = (1u << PAIR_TABLE_BITS) - 1,
		 at = mix((uint64_t)process << 32 | thread, PAIR_TABLE_BITS);

	*is_new = false;
	for (; p->pair_table[at]; at = (at + 1) & mask) {
		const struct pair *pair = &m->pairs[p->pair_table[at] - 1];

		if (pair->process == process && pair->thread == thread)
			return p->pair_table[at] - 1u;
	}
	if (!model_add_pair(m, process, thread))
		return PAIRS;
	p->pair_table[at] = (uint16_t)m->pair_count;
	*is_new = true;
	return m->pair_count - 1;
}

static void start_block(struct packer *p)
{
	model_reset(&p->model);
	memset(p->table, 0, sizeof(p->table));
	memset(p->pair_table, 0, sizeof(p->pair_table));
	for (int i = 0; i < COLUMN_COUNT; i++)
		p->at[i] = p->columns[i];
	p->count = 0;
	p->first = UINT64_MAX;
	p->last = 0;
}

static void note_time(struct packer *p, uint64_t time)
{
	if (time < p->first)
		p->first = time;
	if (time > p->last)
		p->last = time;
}

/* Times shrink only here: so the first and the last one are noted here, at the block's first event
 * and at its end. */
static __attribute__((noinline)) void put_far_time(struct packer *p, uint64_t time)
{
	if (p->count)
		note_time(p, p->model.time);
	note_time(p, time);
	put_byte(p, COLUMN_TIME, TIME_ESCAPE);
	put(p, COLUMN_TIME_FAR, zigzag(time - p->model.time));
}

/* Half of the steps take a second byte, and no branch predictor learns which: it is always written,
 * and then kept or not. */
static inline void put_time(struct packer *p, uint64_t time)
{
	uint64_t dt = time - p->model.time, more = dt - TIME_STEPS;
	bool far = dt >= TIME_STEPS;

	if (dt < TIME_NEAR && time >= p->model.time) {
		put_byte(p, COLUMN_TIME, (unsigned)(far ? TIME_STEPS + (more >> 8) : dt));
		*p->at[COLUMN_TIME_LOW] = (uint8_t)more;
		p->at[COLUMN_TIME_LOW] += far;
	} else {
		put_far_time(p, time);
	}
	p->model.time = time;
}

/* The first code whose model_guess is `n`, which is alive; TARGET_GUESSES when none is. */
static inline unsigned guess_of(const struct model *m, uint32_t pair, uint32_t n)
{
	uint32_t node = m->nodes[pair].older;

	if (m->pairs[pair].newer == n)
		return TARGET_NEWER;
	if (m->pairs[pair].older == n)
		return TARGET_OLDER;
#pragma GCC unroll 3
	for (unsigned code = TARGET_HEAD; code < TARGET_GUESSES; code++) {
		if (node == n)
			return code;
		node = m->nodes[node].older;
	}
	return TARGET_GUESSES;
}

/* The block that the event means; its code is returned, what the code does not say is written. */
static inline unsigned put_target(struct packer *p, uint32_t pair, uint64_t address, uint32_t slot,
				  uint32_t *node)
{
	struct model *m = &p->model;
	uint32_t n = *find_address(p, pair, address, slot);
	unsigned code;

	*node = NO_NODE;
	if (n && m->nodes[n].alive) {
		*node = n;
		code = guess_of(m, pair, n);
		if (code < TARGET_GUESSES)
			return code;
		put(p, COLUMN_TARGET, m->node_count - n);
		return TARGET_BACK;
	}
	uint64_t difference = address - m->pairs[pair].foreign;
	m->pairs[pair].foreign = address;
	if ((difference & 15) == 0) {
		put(p, COLUMN_TARGET, zigzag((uint64_t)((int64_t)difference >> 4)));
		return TARGET_FOREIGN;
	}
	put(p, COLUMN_TARGET, zigzag(difference));
	return TARGET_FOREIGN_ODD;
}

/* How many steps from the latest the address lies in the ring; RING when it doesn't. Each of eight
 * comparisons would be a branch of its own. */
static inline unsigned position_of(const struct size_class *c, uint64_t address)
{
	const __m128i *freed = (const __m128i *)c->freed, all = _mm_set1_epi64x((long long)address);
	__m128i halves[RING / 2];

#pragma GCC unroll 4
	for (int i = 0; i < RING / 2; i++)
		halves[i] = _mm_cmpeq_epi32(_mm_loadu_si128(&freed[i]), all);
	/* two bits an address, one a half */
	unsigned equal = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(halves[0], halves[1]),
				_mm_packs_epi32(halves[2], halves[3])));
	equal &= equal >> 1 & 0x5555;
	if (!equal || !address)
		return RING;
	/* the latest first: at the top */
	unsigned turn = c->top % RING * 2;
	equal = equal >> turn | equal << (2 * RING - turn);
	return (unsigned)__builtin_clz(equal << 16) / 2;
}

static inline unsigned put_alloc_address(struct packer *p, struct pair *pair, struct size_class *c,
					 const struct event *e)
{
	uint64_t address = e->address, difference;

	unsigned position = position_of(c, address);

	if (position < RING) {
		model_take_freed(c, position);
		if (position < 3)
			return AT_FREED + position;
		put_byte(p, COLUMN_ADDRESS, position);
		return AT_MORE;
	}
	if (e->kind == EVENT_REALLOC && address == e->old_address) {
		put_byte(p, COLUMN_ADDRESS, SAME_PLACE);
		return AT_MORE;
	}
	unsigned code = AT_ODD;
	difference = address - pair->fresh;
	if (address == pair->fresh_end) {
		code = AT_END;
	} else if (address == c->last + c->stride) {
		code = AT_STRIDE;
	} else if ((difference & 15) == 0) {
		code = AT_NEAR;
		put(p, COLUMN_ADDRESS, zigzag((uint64_t)((int64_t)difference >> 4)));
	} else {
		put(p, COLUMN_ADDRESS, zigzag(difference));
	}
	model_fresh(pair, c, address, e->size);
	return code;
}

static inline unsigned put_object_address(struct packer *p, struct pair *pair,
					  const struct event *e)
{
	uint64_t *end = model_object_end(pair, e->size), difference = e->address - *end;

	*end = e->address + model_object_step(e->size);
	if (!difference)
		return AT_END;
	if ((difference & 7) == 0) {
		put(p, COLUMN_ADDRESS, zigzag((uint64_t)((int64_t)difference >> 3)));
		return AT_NEAR;
	}
	put(p, COLUMN_ADDRESS, zigzag(difference));
	return AT_ODD;
}

/* Stack, kind and api; `first` and `second` are the guesses. Any `lead` must be spelt out. */
static inline unsigned put_what(struct packer *p, uint64_t what, uint64_t first, uint64_t second,
				const struct site *site, unsigned lead)
{
	struct model *m = &p->model;
	uint32_t stack = model_stack(what);
	uint16_t mark = site->mark;
	unsigned code = STACK_SPELT;

	if (!lead && first == what)
		return STACK_HISTORY | TAG_HIT;
	if (model_stack(first) == stack &&
	    ((uint8_t)first == (uint8_t)what || model_stack(second) != stack)) {
		code = STACK_HISTORY;
		mark = (uint16_t)first;
	} else if (model_stack(second) == stack) {
		code = STACK_RECENT;
		mark = (uint16_t)second;
	} else {
		put(p, COLUMN_STACK, zigzag((uint64_t)m->explicit_stack + 1 - stack));
		if (stack > m->explicit_stack)
			m->explicit_stack = stack;
	}
	if (!lead && mark == (uint16_t)what)
		return code | TAG_HIT;
	put_byte(p, COLUMN_TAG, lead);
	put_byte(p, COLUMN_TAG, (uint8_t)what);
	put_byte(p, COLUMN_TAG, (uint8_t)(what >> 8));
	return code;
}

/* The site's stack says which one is expected. */
static inline void put_vtable(struct packer *p, struct site *site, uint32_t vtable)
{
	put(p, COLUMN_VTABLE,
	    vtable == site->vtable ? 0 : zigzag((uint64_t)vtable - site->vtable) + 1);
	site->vtable = vtable;
}

/* Makes the event's pair the last one; false when it needs a new block. */
static __attribute__((noinline)) bool put_pair(struct packer *p, const struct event *e)
{
	bool is_new;
	uint32_t number = find_pair(p, e->process, e->thread, &is_new);

	if (number == PAIRS)
		return false;
	put(p, COLUMN_PAIR, number);
	if (is_new) {
		put(p, COLUMN_PAIR, e->process);
		put(p, COLUMN_PAIR, e->thread);
	}
	p->model.pair = number;
	return true;
}

/* One event, of kind `kind`; `slot` is its address's; false when it needs a new block. */
static inline __attribute__((always_inline)) bool
pack_event(struct packer *p, const struct event *e, uint32_t slot, uint8_t kind, bool extra)
{
	struct model *m = &p->model;
	uint32_t node;
	unsigned control = 0, code = 0;

	if (p->count && m->pairs[m->pair].process == e->process &&
	    m->pairs[m->pair].thread == e->thread)
		control |= PAIR_HIT;
	else if (!put_pair(p, e))
		return false;
	uint32_t number = m->pair;
	struct pair *pair = &m->pairs[number];
	struct history *history = model_history(m, pair->stacks);
	struct site *before = model_site(m, (uint32_t)pair->stacks);
	struct site *site = model_site(m, e->stack);
	uint64_t what = model_what(kind, e->api, e->stack);
	bool retag = has_address_of_alloc(kind) && e->tag != pair->tag;

	put_time(p, e->time);
	control |= put_what(p, what, history->what, before->next, site,
			    (extra ? LEAD_EXTRA : 0) | (retag ? LEAD_TAG : 0));
	if (retag)
		put(p, COLUMN_VTABLE, pair->tag = e->tag);
	if (extra) {
		put(p, COLUMN_VTABLE, e->vtable);
		put(p, COLUMN_OLD, e->old_address);
	}

	uint64_t guessed = 0, learnt = e->size;
	if (has_target(kind)) {
		code = put_target(p, number, e->address, slot, &node);
		if (kind == EVENT_FREE) {
			guessed = site->size && node != NO_NODE ? m->nodes[node].size : 0;
			learnt = e->size && node != NO_NODE && e->size == m->nodes[node].size;
			model_end(m, number, node, e->address, e->size);
		} else {
			put_vtable(p, model_site(m, node != NO_NODE ? m->nodes[node].stack : 0),
				   e->vtable);
		}
	} else if (has_address_of_alloc(kind)) {
		guessed = model_size(history, site, e->stack);
		if (kind == EVENT_REALLOC) {
			put_byte(p, COLUMN_OLD,
				 put_target(p, number, e->old_address,
					    slot_of(e->process, e->old_address), &node));
			model_end(m, number, node, e->old_address, 0);
		}
		if (has_kind(e)) {
			code = put_object_address(p, pair, e);
			put_vtable(p, site, e->vtable);
		} else {
			code = put_alloc_address(p, pair, model_class(m, number, e->size), e);
		}
		*find_address(p, number, e->address, slot) = model_begin(m, number, e);
	} else if (has_class(kind)) {
		put(p, COLUMN_TARGET, zigzag(e->address - pair->built));
		put_vtable(p, site, e->vtable);
		pair->built = e->address;
	} else {
		put(p, COLUMN_TARGET, zigzag(e->address - pair->mapped));
		put(p, COLUMN_OLD, zigzag(e->old_address - (extra ? e->old_address : 0)));
		pair->mapped = e->address;
	}
	if (e->size == guessed)
		control |= SIZE_HIT;
	else
		put(p, COLUMN_SIZE, e->size);
	if (kind != EVENT_VPTR)
		model_learn(pair, before, history, site, what, learnt);
	else if (!(control & TAG_HIT))
		site->mark = (uint16_t)what;
	put_byte(p, COLUMN_CONTROL, control | code << ADDRESS_SHIFT);
	p->count++;
	return true;
}

static __attribute__((noinline)) bool pack_other(struct packer *p, const struct event *e,
						 uint32_t slot)
{
	return pack_event(p, e, slot, e->kind, has_extra(e));
}

/* Up to CHUNK events, for which the block has room; returns how many it took. Where their addresses
 * stand is asked for at once, the blocks AHEAD of time. */
static size_t pack_chunk(struct packer *p, const struct event *events, size_t count)
{
	uint32_t slots[CHUNK + AHEAD];
	size_t i = 0;

	for (; i < count; i++) {
		slots[i] = slot_of(events[i].process, events[i].address);
		__builtin_prefetch(&p->table[slots[i]], 1);
	}
	for (; i < count + AHEAD; i++)
		slots[i] = slots[count - 1];
	for (i = 0; i < count; i++) {
		const struct event *e = &events[i];
		bool taken;

		__builtin_prefetch(&p->model.nodes[p->table[slots[i + AHEAD]]], 1);
		if (e->vtable | e->old_address)
			taken = pack_other(p, e, slots[i]);
		else if (e->kind == EVENT_FREE)
			taken = pack_event(p, e, slots[i], EVENT_FREE, false);
		else if (e->kind == EVENT_ALLOC)
			taken = pack_event(p, e, slots[i], EVENT_ALLOC, false);
		else
			taken = pack_other(p, e, slots[i]);
		if (!taken)
			break;
	}
	return i;
}

size_t packer_add(struct packer *p, const struct event *events, size_t count)
{
	size_t room = BLOCK_EVENTS - p->count, most = count < room ? count : room, taken = 0;

	if (most && !p->count)
		note_time(p, events->time);
	while (taken < most) {
		size_t some = most - taken < CHUNK ? most - taken : CHUNK,
		       got = pack_chunk(p, events + taken, some);

		taken += got;
		if (got < some)
			break;
	}
	return taken;
}

size_t packer_count(const struct packer *p)
{
	return p->count;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static size_t list_processes(struct packer *p)
{
	size_t count = 0;

	for (uint32_t i = 0; i < p->model.pair_count; i++)
		p->processes[i] = p->model.pairs[i].process;
	qsort(p->processes, p->model.pair_count, sizeof(*p->processes), compare_u32);
	for (uint32_t i = 0; i < p->model.pair_count; i++)
		if (i == 0 || p->processes[i] != p->processes[i - 1])
			p->processes[count++] = p->processes[i];
	return count;
}

struct shiny_err *packer_finish(struct packer *p, struct block *out)
{
	struct header header = { .magic = BLOCK_MAGIC, .count = p->count };
	size_t total = sizeof(header), code = 0;

	note_time(p, p->model.time);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		header.bytes[i] = (uint32_t)(p->at[i] - p->columns[i]);
		total += header.bytes[i];
	}
	/* each flush may add a few bytes */
	size_t room = ZSTD_compressBound(total) + COLUMN_COUNT * 16;
	if (room > p->out_room) {
		void *more = realloc(p->out, room);

		if (!more)
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		p->out = more;
		p->out_room = room;
	}
	ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(p->zstd, total);
	ZSTD_outBuffer to = { p->out, p->out_room, 0 };
	for (int i = -1; i < COLUMN_COUNT && !ZSTD_isError(code); i++) {
		ZSTD_inBuffer from = { i < 0 ? (void *)&header : p->columns[i],
				       i < 0 ? sizeof(header) : header.bytes[i], 0 };

		/* flush: each column gets entropy tables of its own */
		code = ZSTD_compressStream2(p->zstd, &to, &from,
					    i == COLUMN_COUNT - 1 ? ZSTD_e_end : ZSTD_e_flush);
		if (code && !ZSTD_isError(code))
			return shiny_err(
				SHINY_ERR_OTHER,
				"cannot compress a block of events: its buffer is too small");
	}
	if (ZSTD_isError(code))
		return shiny_err(SHINY_ERR_OTHER, "cannot compress a block of events: %s",
				 ZSTD_getErrorName(code));
	*out = (struct block){ .data = p->out,
			       .bytes = to.pos,
			       .count = p->count,
			       .first = p->first,
			       .last = p->last,
			       .processes = p->processes,
			       .process_count = list_processes(p) };
	start_block(p);
	return NULL;
}

struct shiny_err *packer_create(struct packer **out)
{
	struct packer *p = mem_pages(sizeof(*p));
	size_t most = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		most += column_most[i];
	p->zstd = ZSTD_createCCtx();
	p->memory = malloc(most * BLOCK_EVENTS);
	if (!p->zstd || !p->memory) {
		packer_destroy(p);
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	p->columns[0] = p->memory;
	for (int i = 1; i < COLUMN_COUNT; i++)
		p->columns[i] = p->columns[i - 1] + column_most[i - 1] * BLOCK_EVENTS;
	start_block(p);
	*out = p;
	return NULL;
}

void packer_destroy(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->memory);
	free(p->out);
	mem_pages_free(p, sizeof(*p));
}
