/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_pack.c: puts events into the columns of a block; see block.c for the format and block.h.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one a packer.
 *
 * Nearly all events are allocations, frees and vptrs: pack_event is inlined for each of these
 * kinds, as a constant. Tables of later events are prefetched.
 */
#include <emmintrin.h>
#include <stddef.h>
#include <string.h>

#include "block.h"
#include "packer.h"

enum { CHUNK = 64, AHEAD = 8 };

/*
 * The state of consecutive events of one pair, held in registers: a byte that is put into a column
 * may alias anything, so the compiler would reload all other state after each.
 */
struct pair_run {
	uint64_t who;        /* the pair, as from event_who */
	uint64_t stacks;     /* the pair's; stored in it by run_close */
	uint32_t number;     /* the pair's */
	struct pair *pair;
	struct site *before; /* site of the pair's last event */
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

/* Returns the place of an address's node in the table; if there is none, a free place. The search
 * begins at `slot`, the address's slot_of. */
static __attribute__((noinline)) uint32_t *
search_place(struct packer *p, const struct pair *pair, uint64_t address, uint32_t slot)
{
	const struct model *m = &p->model;

	for (;; slot = (slot + 1) & ((1u << TABLE_BITS) - 1)) {
		uint32_t n = p->table[slot] ^ p->stamp;

		if (n >> NODE_BITS ||
		    (m->nodes[n].address == address &&
		     m->pairs[m->nodes[n].state & NODE_PAIR].process == pair->process))
			return &p->table[slot];
	}
}

/* Returns the live block at an address; NO_NODE: none of this block of events. */
static inline uint32_t find_block(struct packer *p, const struct pair_run *run, uint64_t address,
				  uint32_t slot)
{
	uint32_t n = p->table[slot] ^ p->stamp;
	const struct node *nodes = p->model.nodes;

	if (__builtin_expect(n < 1u << NODE_BITS && nodes[n].address == address &&
			     (nodes[n].state & (NODE_PAIR | NODE_ALIVE)) ==
				     (run->number | NODE_ALIVE), 1))
		return n;
	if (n >> NODE_BITS)
		return NO_NODE;
	n = *search_place(p, run->pair, address, slot) ^ p->stamp;
	return n >> NODE_BITS || !(nodes[n].state & NODE_ALIVE) ? NO_NODE : n;
}

/* Returns the place for the next block at an address. */
static inline uint32_t *place_of(struct packer *p, const struct pair_run *run, uint64_t address,
				 uint32_t slot)
{
	uint32_t n = p->table[slot] ^ p->stamp;
	const struct node *nodes = p->model.nodes;

	if (n >> NODE_BITS || (nodes[n].address == address &&
			       (nodes[n].state & NODE_PAIR) == run->number))
		return &p->table[slot];
	return search_place(p, run->pair, address, slot);
}

/* Returns process and thread as one number. */
static inline uint64_t who_of(uint32_t process, uint32_t thread)
{
	return (uint64_t)thread << 32 | process;
}

static inline uint64_t event_who(const struct event *e)
{
	uint64_t who;

	_Static_assert(offsetof(struct event, thread) == offsetof(struct event, process) + 4,
		       "they are read together");
	memcpy(&who, &e->process, sizeof(who));
	return who;
}

/* Returns model_what() of the event. */
static inline uint64_t event_what(const struct event *e)
{
	uint16_t mark;

	_Static_assert(offsetof(struct event, api) == offsetof(struct event, kind) + 1,
		       "they are read together");
	memcpy(&mark, &e->kind, sizeof(mark));
	return (uint64_t)e->stack << 32 | mark;
}

static inline void run_begin(struct pair_run *run, struct model *m)
{
	struct pair *pair = &m->pairs[m->pair];

	*run = (struct pair_run){ .who = who_of(pair->process, pair->thread),
				  .stacks = pair->stacks,
				  .number = m->pair,
				  .pair = pair,
				  .before = model_site(m, (uint32_t)pair->stacks) };
}

static inline void run_close(const struct pair_run *run)
{
	run->pair->stacks = run->stacks;
}

/* Returns the pair's number; PAIRS: this block has no room for it. *is_new: it must be spelt
 * out. */
static inline uint32_t find_pair(struct packer *p, uint32_t process, uint32_t thread, bool *is_new)
{
	struct model *m = &p->model;
	uint32_t mask = (1u << PAIR_TABLE_BITS) - 1,
		 at = mix(who_of(process, thread), PAIR_TABLE_BITS);

	*is_new = false;
	for (; p->pair_table[at]; at = (at + 1) & mask) {
		uint32_t number = p->pair_table[at] - 1u;
		const struct pair *pair = &m->pairs[number];

		if (who_of(pair->process, pair->thread) == who_of(process, thread))
			return number;
	}
	if (!model_add_pair(m, process, thread))
		return PAIRS;
	p->pair_table[at] = (uint16_t)m->pair_count;
	*is_new = true;
	return m->pair_count - 1;
}

/* Writes a time that is far off. Times decrease only here, so the least and the greatest one are
 * noted here, and at the block's first event and its end. */
static __attribute__((noinline)) void put_far_time(struct packer *p, uint64_t before, uint64_t time,
						   bool is_first)
{
	if (!is_first)
		packer_note_time(p, before);
	packer_note_time(p, time);
	put(p, COLUMN_TIME_FAR, zigzag(time - before));
}

/*
 * Writes the times of packed events, in a separate loop, as nothing else depends on times. Half of
 * the steps take a second byte, which no branch predictor can learn: it is always written, and then
 * kept or not.
 */
static void put_times(struct packer *p, const struct event *events, size_t count)
{
	uint8_t *at = p->columns[COLUMN_TIME] + p->count, *low = p->at[COLUMN_TIME_LOW];
	uint64_t before = p->model.time;

	for (size_t i = 0; i < count; i++) {
		uint64_t time = events[i].time, dt;
		bool shrinks = __builtin_sub_overflow(time, before, &dt), far = dt >= TIME_STEPS;
		uint64_t more = dt - TIME_STEPS;
		unsigned byte = far ? TIME_STEPS + ((unsigned)more >> 8) : (unsigned)dt;

		if (__builtin_expect(shrinks || dt >= TIME_NEAR, 0)) {
			put_far_time(p, before, time, !p->count && !i);
			byte = TIME_ESCAPE;
			far = false;
		}
		at[i] = (uint8_t)byte;
		*low = (uint8_t)more;
		low += far;
		before = time;
	}
	p->model.time = before;
	p->at[COLUMN_TIME_LOW] = low;
}

/* Returns the first code whose model_guess is `n`, a live node; TARGET_GUESSES: none is. */
static inline unsigned guess_of(const struct model *m, const struct pair_run *run, uint32_t n)
{
	uint32_t node = m->nodes[run->number].older;

	if (run->pair->newer == n)
		return TARGET_NEWER;
	if (run->pair->older == n)
		return TARGET_OLDER;
#pragma GCC unroll 3
	for (unsigned code = TARGET_HEAD; code < TARGET_GUESSES; code++) {
		if (node == n)
			return code;
		node = m->nodes[node].older;
	}
	return TARGET_GUESSES;
}

/* Writes the address of a block that did not begin in this block of events. */
static __attribute__((noinline)) unsigned put_foreign(struct packer *p, struct pair *pair,
						      uint64_t address)
{
	uint64_t difference = address - pair->foreign;

	pair->foreign = address;
	if ((difference & 15) == 0) {
		put(p, COLUMN_TARGET, zigzag((uint64_t)((int64_t)difference >> 4)));
		return TARGET_FOREIGN;
	}
	put(p, COLUMN_TARGET, zigzag(difference));
	return TARGET_FOREIGN_ODD;
}

/* Finds the event's block; returns its code, and writes the rest. */
static inline __attribute__((always_inline)) unsigned
put_target(struct packer *p, const struct pair_run *run, uint64_t address, uint32_t slot,
	   uint32_t *node)
{
	struct model *m = &p->model;
	uint32_t n = find_block(p, run, address, slot);
	unsigned code;

	*node = n;
	if (__builtin_expect(n == NO_NODE, 0))
		return put_foreign(p, run->pair, address);
	code = guess_of(m, run, n);
	if (code == TARGET_GUESSES)
		put(p, COLUMN_TARGET, m->node_count - n);
	return code;
}

/* Returns how many steps the address is behind the latest one of the ring; RING: it is not in it.
 * The address is not the latest. Eight separate comparisons would be a branch each. */
static inline unsigned position_of(const struct size_class *c, uint64_t address)
{
	const __m128i *freed = (const __m128i *)c->freed, all = _mm_set1_epi64x((long long)address);
	__m128i halves[RING / 2];

#pragma GCC unroll 4
	for (int i = 0; i < RING / 2; i++)
		halves[i] = _mm_cmpeq_epi32(_mm_loadu_si128(&freed[i]), all);
	/* two bits per address, one per half */
	unsigned equal = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(halves[0], halves[1]),
				_mm_packs_epi32(halves[2], halves[3])));
	equal &= equal >> 1 & 0x5555;
	if (!equal || !address)
		return RING;
	/* rotate the latest to the top */
	unsigned turn = c->top % RING * 2;
	equal = equal >> turn | equal << (2 * RING - turn);
	return (unsigned)__builtin_clz(equal << 16) / 2;
}

/* Writes an allocation's address that is not the one freed last; returns its code. */
static __attribute__((noinline)) unsigned put_other_address(struct packer *p, struct pair *pair,
							    struct size_class *c,
							    const struct event *e)
{
	uint64_t address = e->address, difference;
	unsigned position = position_of(c, address), code = AT_ODD;

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

static inline unsigned put_alloc_address(struct packer *p, struct pair *pair, struct size_class *c,
					 const struct event *e)
{
	if (c->freed[(c->top - 1) % RING] != e->address || !e->address)
		return put_other_address(p, pair, c, e);
	model_take_freed(c, 0);
	return AT_FREED;
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

/* Writes stack, kind and api; `first` and `second` are the guesses. With a `lead`, kind and api
 * must be spelt out. */
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

/* Writes a vtable, guessed by the site's last one. */
static inline void put_vtable(struct packer *p, struct site *site, uint32_t vtable)
{
	put(p, COLUMN_VTABLE,
	    vtable == site->vtable ? 0 : zigzag((uint64_t)vtable - site->vtable) + 1);
	site->vtable = vtable;
}

/* Makes the event's pair the current one; false: it needs a new block. */
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

/* Writes a size unless it is guessed; returns its flag in the control byte. */
static inline unsigned put_size(struct packer *p, uint64_t size, uint64_t guessed)
{
	if (size == guessed)
		return SIZE_HIT;
	put(p, COLUMN_SIZE, size);
	return 0;
}

/*
 * Packs one event of the run's pair, of kind `kind`; `collected`: it may be a garbage-collected
 * object; `slot`: slot_of its address. Returns its control byte, without PAIR_HIT. Stacks are
 * handled first, so that registers are free for the blocks.
 */
static inline __attribute__((always_inline)) unsigned
pack_event(struct packer *p, struct pair_run *run, const struct event *e, uint32_t slot,
	   uint8_t kind, bool collected, bool extra)
{
	struct model *m = &p->model;
	struct pair *pair = run->pair;
	struct history *history = model_history(m, run->stacks);
	struct site *site = model_site(m, e->stack);
	uint64_t what = event_what(e), guessed = 0;
	bool retag = has_address_of_alloc(kind) && event_tag_and_level(e) != pair->tag;
	unsigned code = 0;
	uint32_t node;

	if (has_address_of_alloc(kind))
		guessed = model_size(history, site, e->stack);
	unsigned control = put_what(p, what, history->what, run->before->next, site,
				    (extra ? LEAD_EXTRA : 0) | (retag ? LEAD_TAG : 0));
	if (kind != EVENT_VPTR) {
		run->stacks = model_learn(run->stacks, run->before, history, site, what);
		run->before = site;
	} else if (!(control & TAG_HIT)) {
		site->mark = (uint16_t)what;
	}
	if (retag)
		put(p, COLUMN_VTABLE, pair->tag = event_tag_and_level(e));
	if (extra) {
		put(p, COLUMN_VTABLE, e->vtable);
		put(p, COLUMN_OLD, e->old_address);
	}

	if (has_target(kind)) {
		/* the size and stack of NO_NODE are 0 */
		code = put_target(p, run, e->address, slot, &node);
		if (kind == EVENT_FREE) {
			uint64_t size = m->nodes[node].size;

			control |= put_size(p, e->size, site->size ? size : 0);
			model_learn_size(history, site, e->size && e->size == size);
			model_end(m, run->number, node, e->address, e->size);
		} else {
			control |= put_size(p, e->size, 0);
			put_vtable(p, model_site(m, m->nodes[node].stack), e->vtable);
		}
		return control | code << ADDRESS_SHIFT;
	}
	control |= put_size(p, e->size, guessed);
	model_learn_size(history, site, e->size);
	if (has_address_of_alloc(kind)) {
		uint32_t class = model_class(run->number, e->size);

		if (kind == EVENT_REALLOC) {
			put_byte(p, COLUMN_OLD,
				 put_target(p, run, e->old_address,
					    slot_of(e->process, e->old_address), &node));
			model_end(m, run->number, node, e->old_address, 0);
		}
		if (collected && has_kind(e)) {
			code = put_object_address(p, pair, e);
			put_vtable(p, site, e->vtable);
		} else {
			code = put_alloc_address(p, pair, &m->classes[class], e);
		}
		*place_of(p, run, e->address, slot) =
			p->stamp | model_begin(m, run->number, e, class,
					       collected && e->api == SHINY_API_COLLECTED);
	} else if (has_class(kind)) {
		put(p, COLUMN_TARGET, zigzag(e->address - pair->built));
		put_vtable(p, site, e->vtable);
		pair->built = e->address;
	} else {
		put(p, COLUMN_TARGET, zigzag(e->address - pair->mapped));
		put(p, COLUMN_OLD, zigzag(e->old_address - (extra ? e->old_address : 0)));
		pair->mapped = e->address;
	}
	return control | code << ADDRESS_SHIFT;
}

/* Packs an event of a rare kind; the caller has closed its run. */
static __attribute__((noinline)) unsigned pack_other(struct packer *p, const struct event *e,
						     uint32_t slot)
{
	struct pair_run run;

	run_begin(&run, &p->model);
	unsigned control = pack_event(p, &run, e, slot, e->kind, true, has_extra(e));
	run_close(&run);
	return control;
}

static inline __attribute__((always_inline)) void prefetch_place(const struct packer *p,
								 const struct event *e)
{
	__builtin_prefetch(&p->table[slot_of(e->process, e->address)], 1);
}

/* Packs up to CHUNK events, for which the block has room; returns how many. Prefetches the places
 * of addresses AHEAD of time. */
static size_t pack_chunk(struct packer *p, const struct event *events, size_t count)
{
	uint8_t *controls = p->columns[COLUMN_CONTROL] + p->count;
	struct pair_run run;
	size_t i;

	run_begin(&run, &p->model);
	if (!p->count)
		run.who = ~event_who(events); /* at the block's start there is no last pair */
	for (i = 0; i < count; i++) {
		const struct event *e = &events[i];
		unsigned control = PAIR_HIT;
		bool has_more = e->vtable | e->old_address;
		uint32_t slot = slot_of(e->process, e->address);

		if (i + AHEAD < count)
			prefetch_place(p, e + AHEAD);
		if (event_who(e) != run.who) {
			run_close(&run);
			if (!put_pair(p, e))
				break;
			run_begin(&run, &p->model);
			control = 0;
		}
		if (e->kind == EVENT_FREE && !has_more) {
			control |= pack_event(p, &run, e, slot, EVENT_FREE, false, false);
		} else if (e->kind == EVENT_ALLOC && !has_more && e->api != SHINY_API_COLLECTED) {
			control |= pack_event(p, &run, e, slot, EVENT_ALLOC, false, false);
		} else if (e->kind == EVENT_VPTR && !e->old_address) {
			control |= pack_event(p, &run, e, slot, EVENT_VPTR, false, false);
		} else {
			run_close(&run);
			control |= pack_other(p, e, slot);
			run_begin(&run, &p->model);
		}
		*controls++ = (uint8_t)control;
	}
	run_close(&run);
	put_times(p, events, i);
	p->count += (uint32_t)i;
	return i;
}

size_t packer_add(struct packer *p, const struct event *events, size_t count)
{
	size_t room = BLOCK_EVENTS - p->count, most = count < room ? count : room, taken = 0;

	if (most && !p->count)
		packer_note_time(p, events->time);
	while (taken < most) {
		size_t some = most - taken < CHUNK ? most - taken : CHUNK,
		       got = pack_chunk(p, events + taken, some);

		taken += got;
		if (got < some)
			break;
	}
	return taken;
}
