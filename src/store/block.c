/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c: events packed into self-contained compressed blocks, and back.
 *
 * Runs: sidecar (pack), CLI (unpack). Signals: no. Allocates: yes. Threads: one a packer.
 *
 * The problem: an event is 50 bytes as a struct, there are hundreds of millions, and every field is wanted back exactly, at less
 * than 4 bytes an event and at a speed that is small beside the rest of the sidecar's work.
 *
 * The approach: programs repeat themselves. What an event will be is guessed from what came before (model.h), and only the
 * difference is stored:
 *   who        the (process, thread) of the last event;
 *   stack      what followed the thread's last two stacks, or its last one, the last time; that also guesses kind, api and size;
 *   address    of an allocation: the addresses that this thread freed last in this size class (allocators hand out the latest
 *              first), or the next one in a row; of a free: the neighbour in allocation order of the block freed last (lists and
 *              trees are torn down in order), or one of the thread's youngest blocks, or how many allocations ago it began;
 *   size       the last one of this stack; of a free: 0, or the block's;
 *   time       the difference to the event before: the part that can't be guessed.
 * One control byte an event says which guesses were right; what was not goes to one of the other columns. Each column holds
 * one sort of number, so that zstd (level 1, checksum on) finds a skewed byte distribution in each.
 *
 * Before zstd a block is: struct header, then the columns one behind the other. Everything starts afresh in every block, so any
 * block can be read without the others.
 *
 * The unpacker trusts nothing: every number read is checked before it is an index, every column ends where the header says. The
 * checksum catches accidents, the checks malice.
 *
 * What it costs (`bench/run block`, bench/results/block.txt): recordings of node, clang++ and python3 take 0.85 to 2.25 bytes an
 * event, 28 to 47 ns to pack and 18 to 27 ns to unpack, compression included, on one 2.6 GHz core.
 *
 * Rejected: columns of plain differences (addresses of frees are then most of the bytes); naming a freed block
 * by its rank among the live ones (an order-statistics tree costs more than the bytes it saves); prefetching what the next events
 * will look up (no difference that could be measured).
 */
#define _GNU_SOURCE
#include "block.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/cleanup.h"
#include "model.h"

/*
 * The control byte
 *   1..0  stack: HISTORY and RECENT guesses, or spelt out
 *   2     kind and api as guessed          3  size as guessed
 *   4     same (process, thread) as before 7..5 address: the codes below, or TARGET_*
 */
enum { STACK_HISTORY, STACK_RECENT, STACK_SPELT, STACK_MASK = 3, TAG_HIT = 4, SIZE_HIT = 8, PAIR_HIT = 16, ADDRESS_SHIFT = 5 };

/* How an allocation's address is given. */
enum {
	AT_FREED, /* .. AT_FREED + 2: that many steps from the address freed last */
	AT_STRIDE = 3, /* the class's last fresh address, as far again */
	AT_END,   /* right behind the thread's last fresh block */
	AT_NEAR,  /* a multiple of 16 from it */
	AT_ODD,   /* anything */
	AT_MORE,  /* a byte follows: a position in the ring from 3, or SAME_PLACE */
	SAME_PLACE = 0xff,
};

/* One sort of number each; the number is the most bytes that one event can add. */
#define COLUMNS(X) X(CONTROL, 1) X(TIME, 1) X(TIME_LOW, 1) X(TIME_FAR, 10) X(PAIR, 30) X(STACK, 10) X(TAG, 3) X(SIZE, 10) \
	X(ADDRESS, 10) X(TARGET, 10) X(OLD, 11) X(VTABLE, 10)
enum {
#define X(name, most) COLUMN_##name,
	COLUMNS(X)
#undef X
	COLUMN_COUNT
};
static const size_t column_most[COLUMN_COUNT] = {
#define X(name, most) most,
	COLUMNS(X)
#undef X
};

enum { BLOCK_MAGIC = 0x31426853 /* "ShB1": the packing's version */, LEVEL = 1 };

struct header { /* little endian, like everything else of an x86-64 program */
	uint32_t magic, count;
	uint32_t bytes[COLUMN_COUNT];
};

/* Times: TIME holds t < TIME_STEPS as it is, else TIME_STEPS + high part, with the low byte in TIME_LOW; TIME_ESCAPE: in TIME_FAR. */
enum { TIME_STEPS = 160, TIME_ESCAPE = 255, TIME_NEAR = TIME_STEPS + (TIME_ESCAPE - TIME_STEPS) * 256 };

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static bool has_address_of_alloc(uint8_t kind)
{
	return kind == EVENT_ALLOC || kind == EVENT_REALLOC;
}

static bool has_target(uint8_t kind)
{
	return kind == EVENT_FREE || kind == EVENT_VPTR;
}

/* Events with fields that their kind should not have are kept too, with the "extra" flag. */
static bool has_extra(const struct event *e)
{
	return (e->vtable && e->kind != EVENT_VPTR) || (e->old_address && (has_target(e->kind) || e->kind == EVENT_ALLOC));
}

/* ---- packing ---- */

enum { TABLE_BITS = 19, PAIR_TABLE_BITS = 13 };

struct packer {
	struct model model;
	uint32_t count;
	uint64_t first, last;
	uint8_t *columns[COLUMN_COUNT], *at[COLUMN_COUNT];
	uint8_t *memory;               /* all columns; touched only as far as they are filled */
	uint32_t table[1 << TABLE_BITS];      /* address -> node, open addressing; entries of ended blocks stay */
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

static inline uint32_t *find_address(struct packer *p, uint32_t process, uint64_t address)
{
	uint32_t mask = (1u << TABLE_BITS) - 1, at = mix(address ^ (uint64_t)process << 48, TABLE_BITS);

	for (;; at = (at + 1) & mask) {
		uint32_t n = p->table[at];

		if (!n || (p->model.nodes[n].address == address && p->model.pairs[p->model.nodes[n].pair].process == process))
			return &p->table[at];
	}
}

/* The pair's number; PAIRS when there is no room for it in this block. `*is_new` when it has to be spelt out. */
static uint32_t find_pair(struct packer *p, uint32_t process, uint32_t thread, bool *is_new)
{
	struct model *m = &p->model;
	uint32_t mask = (1u << PAIR_TABLE_BITS) - 1, at = mix((uint64_t)process << 32 | thread, PAIR_TABLE_BITS);

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

/* The block that the event means; its code is returned, what the code does not say is written. */
static inline unsigned put_target(struct packer *p, uint32_t pair, uint64_t address, uint32_t *node)
{
	struct model *m = &p->model;
	uint32_t n = *find_address(p, m->pairs[pair].process, address);

	*node = NO_NODE;
	if (n && m->nodes[n].alive) {
		*node = n;
		for (unsigned code = 0; code < TARGET_GUESSES; code++)
			if (model_guess(m, pair, code) == n)
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

static inline unsigned put_alloc_address(struct packer *p, struct pair *pair, struct size_class *c, const struct event *e)
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

static inline unsigned put_stack(struct packer *p, struct pair *pair, const struct event *e, const struct token **guess)
{
	struct model *m = &p->model;
	const struct token *history = model_history(m, pair), *recent = model_recent(m, pair);

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

/* One event; false when it needs a new block. */
static inline bool pack_event(struct packer *p, const struct event *e)
{
	struct model *m = &p->model;
	uint32_t number = m->pair, node;
	unsigned control = 0, code = 0;
	const struct token *guess;
	bool extra = has_extra(e);

	if (p->count && m->pairs[number].process == e->process && m->pairs[number].thread == e->thread) {
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

	put_time(p, e->time);
	control |= put_stack(p, pair, e, &guess);
	const struct site *site = model_site(m, e->stack);
	if (!extra && e->kind == (guess ? guess->kind : site->kind) && e->api == (guess ? guess->api : site->api)) {
		control |= TAG_HIT;
	} else {
		put_byte(p, COLUMN_TAG, extra);
		put_byte(p, COLUMN_TAG, e->kind);
		put_byte(p, COLUMN_TAG, e->api);
	}
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
			struct site *born = model_site(m, node != NO_NODE ? m->nodes[node].stack : 0);

			put(p, COLUMN_VTABLE, e->vtable == born->vtable ? 0 : zigzag((uint64_t)e->vtable - born->vtable) + 1);
			born->vtable = e->vtable;
		}
	} else if (has_address_of_alloc(e->kind)) {
		guessed = model_size(m, pair, e->stack);
		if (e->kind == EVENT_REALLOC) {
			put_byte(p, COLUMN_OLD, put_target(p, number, e->old_address, &node));
			model_end(m, number, node, e->old_address, 0);
		}
		code = put_alloc_address(p, pair, model_class(m, number, e->size), e);
		*find_address(p, e->process, e->address) = model_begin(m, number, e->address, e->size, e->stack);
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
		model_learn(m, pair, e, learnt);
	else if (!(control & TAG_HIT))
		*model_site(m, e->stack) = (struct site){ .size = site->size, .vtable = site->vtable, .kind = e->kind, .api = e->api };
	put_byte(p, COLUMN_CONTROL, control | code << ADDRESS_SHIFT);
	return true;
}

size_t packer_add(struct packer *p, const struct event *events, size_t count)
{
	size_t i;

	for (i = 0; i < count && p->count < BLOCK_EVENTS; i++) {
		const struct event *e = &events[i];

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
	size_t room = ZSTD_compressBound(total) + COLUMN_COUNT * 16; /* each flush may add a few bytes */
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
		ZSTD_inBuffer from = { i < 0 ? (void *)&header : p->columns[i], i < 0 ? sizeof(header) : header.bytes[i], 0 };

		/* flush: each column gets entropy tables of its own */
		code = ZSTD_compressStream2(p->zstd, &to, &from, i == COLUMN_COUNT - 1 ? ZSTD_e_end : ZSTD_e_flush);
		if (code && !ZSTD_isError(code))
			return shiny_err(SHINY_ERR_OTHER, "cannot compress a block of events: its buffer is too small");
	}
	if (ZSTD_isError(code))
		return shiny_err(SHINY_ERR_OTHER, "cannot compress a block of events: %s", ZSTD_getErrorName(code));
	*out = (struct block){ .data = p->out, .bytes = to.pos, .count = p->count, .first = p->first, .last = p->last,
			       .processes = p->processes, .process_count = list_processes(p) };
	start_block(p);
	return NULL;
}

struct shiny_err *packer_create(struct packer **out)
{
	struct packer *p = calloc(1, sizeof(*p));
	size_t most = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		most += column_most[i];
	if (p) {
		p->zstd = ZSTD_createCCtx();
		p->memory = malloc(most * BLOCK_EVENTS);
	}
	if (!p || !p->zstd || !p->memory) {
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
	free(p);
}

/* ---- unpacking ---- */

struct unpacker {
	struct model model;
	const uint8_t *at[COLUMN_COUNT], *end[COLUMN_COUNT];
	const char *wrong; /* the first rule that was broken */
	uint8_t *raw;
	size_t raw_room;
	ZSTD_DCtx *zstd;
};

static inline unsigned get_byte(struct unpacker *u, int column)
{
	if (u->at[column] == u->end[column]) {
		u->wrong = "a column ends too early";
		return 0;
	}
	return *u->at[column]++;
}

static inline uint64_t get(struct unpacker *u, int column)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned byte = get_byte(u, column);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	u->wrong = "a number is too long";
	return 0;
}

static inline uint64_t get_time(struct unpacker *u)
{
	unsigned byte = get_byte(u, COLUMN_TIME);

	if (byte < TIME_STEPS)
		return u->model.time += byte;
	if (byte < TIME_ESCAPE)
		return u->model.time += TIME_STEPS + (uint64_t)(byte - TIME_STEPS) * 256 + get_byte(u, COLUMN_TIME_LOW);
	return u->model.time += unzigzag(get(u, COLUMN_TIME_FAR));
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

		if (back && back <= m->node_count - PAIRS && m->nodes[m->node_count - back].alive)
			n = m->node_count - (uint32_t)back;
	} else {
		uint64_t difference = unzigzag(get(u, COLUMN_TARGET));

		return m->pairs[pair].foreign += code == TARGET_FOREIGN ? difference << 4 : difference;
	}
	if (n == NO_NODE) {
		u->wrong = "an event means a block that is not there";
		return 0;
	}
	*node = n;
	return m->nodes[n].address;
}

static inline uint64_t get_alloc_address(struct unpacker *u, struct pair *pair, struct size_class *c, unsigned code, const struct event *e)
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

static inline bool get_pair(struct unpacker *u, bool same)
{
	struct model *m = &u->model;

	if (!same) {
		uint64_t number = get(u, COLUMN_PAIR);

		if (number == m->pair_count && number < PAIRS) {
			uint32_t process = (uint32_t)get(u, COLUMN_PAIR);

			model_add_pair(m, process, (uint32_t)get(u, COLUMN_PAIR));
		}
		m->pair = number < PAIRS ? (uint32_t)number : PAIRS;
	}
	if (m->pair >= m->pair_count)
		u->wrong = "an event is of an unknown thread";
	return !u->wrong;
}

static inline const struct token *get_stack(struct unpacker *u, struct pair *pair, unsigned control, uint32_t *stack)
{
	struct model *m = &u->model;
	const struct token *guess = NULL;

	switch (control & STACK_MASK) {
	case STACK_HISTORY:
		guess = model_history(m, pair);
		break;
	case STACK_RECENT:
		guess = model_recent(m, pair);
		break;
	default:
		*stack = (uint32_t)((uint64_t)m->explicit_stack + 1 - unzigzag(get(u, COLUMN_STACK)));
		if (*stack > m->explicit_stack)
			m->explicit_stack = *stack;
		return NULL;
	}
	*stack = guess->stack;
	return guess;
}

/* One event; false with u->wrong set when the block breaks a rule. */
static inline bool unpack_event(struct unpacker *u, struct event *e)
{
	struct model *m = &u->model;
	unsigned control = get_byte(u, COLUMN_CONTROL), code = control >> ADDRESS_SHIFT;
	bool extra = false;
	uint32_t node;

	*e = (struct event){ 0 };
	if (!get_pair(u, control & PAIR_HIT))
		return false;
	struct pair *pair = &m->pairs[m->pair];
	e->process = pair->process;
	e->thread = pair->thread;
	e->time = get_time(u);
	const struct token *guess = get_stack(u, pair, control, &e->stack);
	const struct site *site = model_site(m, e->stack);
	if (control & TAG_HIT) {
		e->kind = guess ? guess->kind : site->kind;
		e->api = guess ? guess->api : site->api;
	} else {
		extra = get_byte(u, COLUMN_TAG);
		e->kind = (uint8_t)get_byte(u, COLUMN_TAG);
		e->api = (uint8_t)get_byte(u, COLUMN_TAG);
	}
	if (extra) {
		e->vtable = (uint32_t)get(u, COLUMN_VTABLE);
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
			struct site *born = model_site(m, node != NO_NODE ? m->nodes[node].stack : 0);
			uint64_t difference = get(u, COLUMN_VTABLE);

			e->vtable = difference ? (uint32_t)(born->vtable + unzigzag(difference - 1)) : born->vtable;
			born->vtable = e->vtable;
		}
	} else if (has_address_of_alloc(e->kind)) {
		e->size = control & SIZE_HIT ? model_size(m, pair, e->stack) : get(u, COLUMN_SIZE);
		learnt = e->size;
		if (e->kind == EVENT_REALLOC) {
			unsigned target = get_byte(u, COLUMN_OLD);

			e->old_address = get_target(u, m->pair, target, &node);
			if (u->wrong)
				return false;
			model_end(m, m->pair, node, e->old_address, 0);
		}
		e->address = get_alloc_address(u, pair, model_class(m, m->pair, e->size), code, e);
		model_begin(m, m->pair, e->address, e->size, e->stack);
	} else {
		e->address = pair->mapped += unzigzag(get(u, COLUMN_TARGET));
		uint64_t old = unzigzag(get(u, COLUMN_OLD));
		e->old_address += old;
		e->size = learnt = control & SIZE_HIT ? 0 : get(u, COLUMN_SIZE);
	}
	if (e->kind != EVENT_VPTR)
		model_learn(m, pair, e, learnt);
	else if (!(control & TAG_HIT))
		*model_site(m, e->stack) = (struct site){ .size = site->size, .vtable = site->vtable, .kind = e->kind, .api = e->api };
	return !u->wrong;
}

static struct shiny_err *bad(const char *why)
{
	return shiny_err(SHINY_ERR_OTHER, "%s", why);
}

/* Decompresses and cuts into columns. */
static struct shiny_err *open_block(struct unpacker *u, const void *data, size_t bytes, uint32_t *count)
{
	unsigned long long total = data ? ZSTD_getFrameContentSize(data, bytes) : ZSTD_CONTENTSIZE_ERROR;
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
		u->raw = malloc(total);
		if (!u->raw)
			return bad("out of memory");
		u->raw_room = total;
	}
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

struct shiny_err *unpacker_run(struct unpacker *u, const void *data, size_t bytes, block_each_fn *each, void *context, bool *stopped)
{
	struct event event;
	uint32_t count = 0;

	*stopped = false;
	u->wrong = NULL;
	model_reset(&u->model);
	SHINY_TRY(open_block(u, data, bytes, &count));
	for (uint32_t i = 0; i < count; i++) {
		if (!unpack_event(u, &event))
			return bad(u->wrong);
		if (!each(context, &event)) {
			*stopped = true;
			return NULL;
		}
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (u->at[i] != u->end[i])
			return bad("a column holds more than its events need");
	return NULL;
}

struct shiny_err *unpacker_create(struct unpacker **out)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (u)
		u->zstd = ZSTD_createDCtx();
	if (!u || !u->zstd) {
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
	free(u);
}
