/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h: the common state of packer and unpacker (block.c) at any event: the predictors, and the
 * live blocks of this block of events. Both sides run the same functions in the same order, so that
 * predictions need not be stored.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing; a model has about 6 MB. Threads: one a
 * model.
 */
#ifndef SHINY_STORE_MODEL_H
#define SHINY_STORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "block_format.h"

enum {
	/* (process, thread) pairs in one block of events; more close it early */
	PAIRS = 4096,
	NODES = PAIRS + BLOCK_EVENTS,     /* the first PAIRS nodes are the list heads */
	NO_NODE = 0,                      /* head of pair 0, which is never a target */
	HISTORY_BITS = 15, SITE_BITS = 14, CLASS_BITS = 11,
	RING = 8,                         /* freed addresses stored for each size class */
	OBJECT_SPACES = 4,
	OBJECT_HEADER = 8,
};

/* A process and thread. */
struct pair {
	uint32_t process, thread;
	uint64_t stacks;          /* stacks of its last two events, the last one in the low half */
	uint32_t newer, older;    /* neighbours, in allocation order, of the block that it freed
	                           * last; NO_NODE: none */
	uint64_t fresh_end;       /* end of the last block at a fresh address, where the next one
	                           * would begin */
	uint64_t fresh, foreign, mapped, built; /* last address of each kind: the bases of
	                                         * differences */
	uint32_t tag;             /* tag of its last allocation */
	uint64_t object_ends[OBJECT_SPACES]; /* by space: where an object behind the last one would
	                                      * begin */
};

/* The event that last followed a pair of stacks. */
struct history {
	uint64_t what; /* its model_what */
	uint64_t size;
};

/* The last facts about a stack. */
struct site {
	uint64_t next; /* model_what of the event that followed it */
	uint64_t size; /* for a free: 1 if the caller named the block's size */
	uint32_t vtable;
	uint16_t mark; /* kind and api: the lowest bytes of its model_what */
};

/* Freed addresses of one size class of one pair, the latest last; and the place of its last block
 * from fresh memory. */
struct size_class {
	uint64_t freed[RING];
	uint64_t last, stride;
	uint32_t top; /* freed[(top - 1) % RING] is the latest */
};

struct node {
	uint64_t address, size;
	uint32_t newer, older; /* neighbours in the ring of its pair's live blocks, which contains
	                        * the head */
	uint32_t stack;
	uint32_t state;        /* its pair's number, and the flags below */
};
enum {
	NODE_PAIR = PAIRS - 1,
	NODE_ALIVE = PAIRS,
	NODE_COLLECTED = NODE_ALIVE << 1,
	NODE_CLASS_SHIFT = 16, /* bits above: number of its size class, of its pair; arbitrary if
	                        * collected */
};
_Static_assert(NODE_COLLECTED < 1 << NODE_CLASS_SHIFT && NODE_CLASS_SHIFT + CLASS_BITS <= 32,
	       "a node's state has room for all");

struct model {
	struct pair pairs[PAIRS];  /* from pair_count on: arbitrary bytes */
	uint32_t pair_count, pair; /* pair: that of the last event */
	uint64_t time;             /* of the last event */
	uint32_t explicit_stack;   /* highest stack id spelt out so far */
	uint32_t node_count;
	struct history history[1 << HISTORY_BITS];
	struct site sites[1 << SITE_BITS];
	struct size_class classes[1 << CLASS_BITS];
	struct node nodes[NODES]; /* from node_count on: unused, arbitrary bytes */
};

static inline uint32_t mix(uint64_t value, int bits)
{
	return (uint32_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

static inline void model_reset(struct model *m)
{
	memset(&m->pair_count, 0,
	       offsetof(struct model, nodes) - offsetof(struct model, pair_count));
	m->node_count = PAIRS;
}

/* Returns kind, api and stack as one number, so that one comparison checks a guess: the lowest byte
 * is the kind, the next the api. */
static inline uint64_t model_what(uint8_t kind, uint8_t api, uint32_t stack)
{
	return (uint64_t)stack << 32 | (uint32_t)api << 8 | kind;
}

static inline uint32_t model_stack(uint64_t what)
{
	return (uint32_t)(what >> 32);
}

/* Returns the entry of the two stacks in `stacks` (struct pair). */
static inline struct history *model_history(struct model *m, uint64_t stacks)
{
	return &m->history[mix(stacks, HISTORY_BITS)];
}

static inline struct site *model_site(struct model *m, uint32_t stack)
{
	return &m->sites[mix(stack, SITE_BITS)];
}

/* Returns the granules that glibc takes for a request; near enough for other allocators. */
static inline uint64_t model_granules(uint64_t size)
{
	uint64_t granules = (size + 8 + 15) >> 4;

	return granules < 2 ? 2 : granules;
}

/* Returns the end of the last object in the space of this size, as in Oilpan, which has further
 * spaces for special kinds. */
static inline uint64_t *model_object_end(struct pair *p, uint64_t size)
{
	return &p->object_ends[(size >= 24) + (size >= 56) + (size >= 120)];
}

/* Returns the distance from an object to the next one, with padding and header. */
static inline uint64_t model_object_step(uint64_t size)
{
	return (size + OBJECT_HEADER + 7) & ~UINT64_C(7);
}

/* Returns the number of a size class. */
static inline uint32_t model_class(uint32_t pair, uint64_t size)
{
	return mix((uint64_t)pair << 44 ^ model_granules(size), CLASS_BITS);
}

/* Adds a pair; false: there is no room. */
static inline bool model_add_pair(struct model *m, uint32_t process, uint32_t thread)
{
	if (m->pair_count == PAIRS)
		return false;
	m->pairs[m->pair_count] = (struct pair){ .process = process, .thread = thread };
	m->nodes[m->pair_count] = (struct node){ .newer = m->pair_count, .older = m->pair_count };
	m->pair_count++;
	return true;
}

/* Returns the expected size of an allocation by its stack: `history` is that of the two stacks
 * before, `site` its stack's. */
static inline uint64_t model_size(const struct history *history, const struct site *site,
				  uint32_t stack)
{
	return model_stack(history->what) == stack && history->size ? history->size : site->size;
}

/* Call after each event except VPTR, which is unrelated to its neighbours; model_learn_size
 * likewise. `stacks` are the pair's (struct pair), and are returned with this event's; `before` is
 * the site of the pair's last event; the others are this event's. */
static inline uint64_t model_learn(uint64_t stacks, struct site *before, struct history *history,
				   struct site *site, uint64_t what)
{
	history->what = what;
	before->next = what;
	site->mark = (uint16_t)what;
	return stacks << 32 | model_stack(what);
}

static inline void model_learn_size(struct history *history, struct site *site, uint64_t size)
{
	history->size = size;
	site->size = size;
}

/* ---- blocks ---- */

/* Codes for the block of a free, a realloc or a vptr. Up to TARGET_GUESSES they are guesses, which
 * need no further number. */
enum {
	TARGET_NEWER,
	TARGET_OLDER,
	TARGET_HEAD,
	TARGET_GUESSES = TARGET_HEAD + 3,
	TARGET_BACK = TARGET_GUESSES,
	TARGET_FOREIGN,
	TARGET_FOREIGN_ODD
};

static inline uint32_t model_guess(const struct model *m, uint32_t pair, unsigned code)
{
	uint32_t node;

	if (code < TARGET_HEAD) {
		node = code == TARGET_NEWER ? m->pairs[pair].newer : m->pairs[pair].older;
	} else {
		node = m->nodes[pair].older;
		for (; code > TARGET_HEAD && node >= PAIRS; code--)
			node = m->nodes[node].older;
	}
	return node >= PAIRS && m->nodes[node].state & NODE_ALIVE ? node : NO_NODE;
}

/* Adds a block. `class`: by its pair and size; `collected`: a garbage collector's. */
static inline uint32_t model_begin(struct model *m, uint32_t pair, const struct event *e,
				   uint32_t class, bool collected)
{
	uint32_t n = m->node_count++, older = m->nodes[pair].older;

	m->nodes[n] = (struct node){ .address = e->address,
				     .size = e->size,
				     .newer = pair,
				     .older = older,
				     .stack = e->stack,
				     .state = pair | NODE_ALIVE | (collected ? NODE_COLLECTED : 0) |
					      class << NODE_CLASS_SHIFT };
	m->nodes[older].newer = n;
	m->nodes[pair].older = n;
	return n;
}

/* Ends block `n` by an event of `pair`; NO_NODE: a block that did not begin in this block of
 * events. */
static inline void model_end(struct model *m, uint32_t pair, uint32_t n, uint64_t address,
			     uint64_t claimed)
{
	struct pair *p = &m->pairs[pair];
	struct size_class *c;

	if (n != NO_NODE) {
		struct node *node = &m->nodes[n];
		uint32_t state = node->state, newer = node->newer, older = node->older;

		m->nodes[newer].older = older;
		m->nodes[older].newer = newer;
		p->newer = newer;
		p->older = older;
		node->state = state & ~(uint32_t)NODE_ALIVE;
		if (state & NODE_COLLECTED)
			return;
		c = &m->classes[(state & NODE_PAIR) == pair ? state >> NODE_CLASS_SHIFT
							    : model_class(pair, node->size)];
	} else if (claimed) {
		c = &m->classes[model_class(pair, claimed)];
	} else {
		return;
	}
	/* the next block of its size may get its address */
	c->freed[c->top++ % RING] = address;
}

/* Removes the address at `position` from the latest (0) from the ring, and returns it. */
static inline uint64_t model_take_freed(struct size_class *c, unsigned position)
{
	uint64_t address = c->freed[(c->top - 1 - position) % RING];

	for (; position; position--)
		c->freed[(c->top - 1 - position) % RING] = c->freed[(c->top - position) % RING];
	c->freed[--c->top % RING] = 0;
	return address;
}

/* Learns the address of a block that the ring of freed addresses does not have. */
static inline void model_fresh(struct pair *p, struct size_class *c, uint64_t address,
			       uint64_t size)
{
	c->stride = address - c->last;
	c->last = address;
	p->fresh = address;
	p->fresh_end = address + (model_granules(size) << 4);
}

#endif
