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
 * What the next events will look up is prefetched; the functions that do so are inlined always,
 * because gcc 12 removes calls of functions whose only effect is a prefetch. Not tried: columns of
 * plain differences, where the addresses of frees would be spelt out; naming a freed block by its
 * rank among the live ones, which needs an order-statistics tree.
 */
#define _GNU_SOURCE
#include "block.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/mem.h"
#include "block_format.h"
#include "model.h"

enum { TABLE_BITS = 19, PAIR_TABLE_BITS = 13, AHEAD = 12 };

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

static inline uint32_t *find_address(struct packer *p, uint32_t process, uint64_t address)
{
	uint32_t mask = (1u << TABLE_BITS) - 1, at = slot_of(process, address);

	for (;; at = (at + 1) & mask) {
		uint32_t n = p->table[at];

		if (!n || (p->model.nodes[n].address == address &&
			   p->model.pairs[p->model.nodes[n].pair].process == process))
			return &p->table[at];
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

static inline void put_time(struct packer *p, uint64_t time)
{
	uint64_t dt = time - p->model.time;

	p->model.time = time;
	if (dt < TIME_STEPS) {
		put_byte(p, COLUMN_TIME, (unsigned)dt);
	} else if (dt < TIME_NEAR) {
		put_byte(p, COLUMN_TIME, TIME_STEPS + (unsigned)((dt - TIME_STEPS) >> 8));
		put_byte(p, COLUMN_TIME_LOW, (unsigned)(dt - TIME_STEPS) & 0xff);
	} else {
		put_byte(p, COLUMN_TIME, TIME_ESCAPE);
		put(p, COLUMN_TIME_FAR, zigzag(dt));
	}
}

/* The first code whose model_guess is `n`, which is alive; TARGET_GUESSES when none is. */
static inline unsigned guess_of(const struct model *m, uint32_t pair, uint32_t n)
{
	uint32_t node = m->nodes[pair].older;

	if (m->pairs[pair].newer == n)
		return TARGET_NEWER;
	if (m->pairs[pair].older == n)
		return TARGET_OLDER;
	for (unsigned code = TARGET_HEAD; code < TARGET_GUESSES && node >= PAIRS;
	     code++, node = m->nodes[node].older)
		if (node == n)
			return code;
	return TARGET_GUESSES;
}

/* The block that the event means; its code is returned, what the code does not say is written. */
static inline unsigned put_target(struct packer *p, uint32_t pair, uint64_t address, uint32_t *node)
{
	struct model *m = &p->model;
	uint32_t n = *find_address(p, m->pairs[pair].process, address);
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

static inline unsigned put_alloc_address(struct packer *p, struct pair *pair, struct size_class *c,
					 const struct event *e)
{
	uint64_t address = e->address, difference;

	for (unsigned position = 0; position < RING; position++)
		if (c->freed[(c->top - 1 - position) % RING] == address && address) {
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

static inline unsigned put_stack(struct packer *p, const struct event *e,
				 const struct token *history, const struct token *recent,
				 const struct token **guess)
{
	struct model *m = &p->model;

	*guess = NULL;
	if (history->stack == e->stack && (history->kind == e->kind || recent->stack != e->stack)) {
		*guess = history;
		return STACK_HISTORY;
	}
	if (recent->stack == e->stack) {
		*guess = recent;
		return STACK_RECENT;
	}
	put(p, COLUMN_STACK, zigzag((uint64_t)m->explicit_stack + 1 - e->stack));
	if (e->stack > m->explicit_stack)
		m->explicit_stack = e->stack;
	return STACK_SPELT;
}

/* The site's stack says which one is expected. */
static inline void put_vtable(struct packer *p, struct site *site, uint32_t vtable)
{
	put(p, COLUMN_VTABLE,
	    vtable == site->vtable ? 0 : zigzag((uint64_t)vtable - site->vtable) + 1);
	site->vtable = vtable;
}

/* One event; false when it needs a new block.
 * Longer than 80 lines: it is inlined as one; this file's head says what an event costs. */
static inline bool pack_event(struct packer *p, const struct event *e)
{
	struct model *m = &p->model;
	uint32_t number = m->pair, node;
	unsigned control = 0, code = 0;
	const struct token *guess;
	bool extra = has_extra(e), retag;

	if (p->count && m->pairs[number].process == e->process &&
	    m->pairs[number].thread == e->thread) {
		control |= PAIR_HIT;
	} else {
		bool is_new;

		number = find_pair(p, e->process, e->thread, &is_new);
		if (number == PAIRS)
			return false;
		put(p, COLUMN_PAIR, number);
		if (is_new) {
			put(p, COLUMN_PAIR, e->process);
			put(p, COLUMN_PAIR, e->thread);
		}
		m->pair = number;
	}
	struct pair *pair = &m->pairs[number];

	struct token *history = model_history(m, pair), *recent = model_recent(m, pair);
	struct site *site = model_site(m, e->stack);

	put_time(p, e->time);
	control |= put_stack(p, e, history, recent, &guess);
	retag = e->tag != pair->tag && has_address_of_alloc(e->kind);
	if (!extra && !retag && e->kind == (guess ? guess->kind : site->kind) &&
	    e->api == (guess ? guess->api : site->api)) {
		control |= TAG_HIT;
	} else {
		put_byte(p, COLUMN_TAG, (extra ? LEAD_EXTRA : 0) | (retag ? LEAD_TAG : 0));
		put_byte(p, COLUMN_TAG, e->kind);
		put_byte(p, COLUMN_TAG, e->api);
	}
	if (retag)
		put(p, COLUMN_VTABLE, pair->tag = e->tag);
	if (extra) {
		put(p, COLUMN_VTABLE, e->vtable);
		put(p, COLUMN_OLD, e->old_address);
	}

	uint64_t guessed = 0, learnt = e->size;
	if (has_target(e->kind)) {
		code = put_target(p, number, e->address, &node);
		if (e->kind == EVENT_FREE) {
			guessed = site->size && node != NO_NODE ? m->nodes[node].size : 0;
			learnt = e->size && node != NO_NODE && e->size == m->nodes[node].size;
			model_end(m, number, node, e->address, e->size);
		} else {
			put_vtable(p, model_site(m, node != NO_NODE ? m->nodes[node].stack : 0),
				   e->vtable);
		}
	} else if (has_address_of_alloc(e->kind)) {
		guessed = model_size(history, site, e->stack);
		if (e->kind == EVENT_REALLOC) {
			put_byte(p, COLUMN_OLD, put_target(p, number, e->old_address, &node));
			model_end(m, number, node, e->old_address, 0);
		}
		if (has_kind(e)) {
			code = put_object_address(p, pair, e);
			put_vtable(p, site, e->vtable);
		} else {
			code = put_alloc_address(p, pair, model_class(m, number, e->size), e);
		}
		*find_address(p, e->process, e->address) = model_begin(m, number, e);
	} else if (has_class(e->kind)) {
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
	if (e->kind != EVENT_VPTR)
		model_learn(pair, history, recent, site, e, learnt);
	else if (!(control & TAG_HIT))
		*site = (struct site){ .size = site->size,
				       .vtable = site->vtable,
				       .kind = e->kind,
				       .api = e->api };
	put_byte(p, COLUMN_CONTROL, control | code << ADDRESS_SHIFT);
	return true;
}

/* What an event will look up, in two steps: the slot of its block, then the block and what followed
 * the two stacks before it. */
static inline __attribute__((always_inline)) void fetch_slot(const struct packer *p,
							     const struct event *e)
{
	__builtin_prefetch(&p->table[slot_of(e->process, e->address)], 1);
}

static inline __attribute__((always_inline)) void fetch_rest(struct packer *p,
							     const struct event *e)
{
	struct pair before = { .stack1 = e[-1].stack, .stack2 = e[-2].stack };

	if (has_target(e->kind))
		__builtin_prefetch(&p->model.nodes[p->table[slot_of(e->process, e->address)]], 1);
	__builtin_prefetch(model_history(&p->model, &before), 1);
}

size_t packer_add(struct packer *p, const struct event *events, size_t count)
{
	size_t i;

	for (i = 0; i < count && p->count < BLOCK_EVENTS; i++) {
		const struct event *e = &events[i];

		if (i + AHEAD < count)
			fetch_slot(p, e + AHEAD);
		if (i + AHEAD / 2 < count)
			fetch_rest(p, e + AHEAD / 2);

		if (!pack_event(p, e))
			break;
		p->count++;
		if (e->time < p->first)
			p->first = e->time;
		if (e->time > p->last)
			p->last = e->time;
	}
	return i;
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
