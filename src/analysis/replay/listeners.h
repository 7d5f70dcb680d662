/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners.h: the observers of a pass of replay.c, listed by the calls that they have.
 *
 * Runs: CLI. Signals: no. Allocates: 56 bytes an observer. Threads: one a pass.
 *
 * Observers of births and of deaths have lists of their own, 16 bytes each: an observer is three
 * cache lines, and a page has a dozen of them.
 */
#ifndef SHINY_LISTENERS_H
#define SHINY_LISTENERS_H

#include "observer.h"

struct birth_call {
	__typeof__(((struct replay_observer *)NULL)->birth) tell;
	void *context;
};
struct death_call {
	__typeof__(((struct replay_observer *)NULL)->death) tell;
	void *context;
};

struct listeners {
	struct replay_observer *observers;
	size_t observer_count;
	struct birth_call *births; /* calls of the observers that have them */
	struct death_call *deaths;
	const struct replay_rows **by_stack, **by_place;
	size_t birth_count, death_count, by_stack_count, by_place_count;
	bool only_moments; /* no observer has any other call */
	bool untyped;      /* all observers are `untyped` */
};

void listeners_init(struct listeners *listeners, struct replay_observer *observers, size_t count);
void listeners_deinit(struct listeners *listeners);

static inline void listeners_birth(const struct listeners *l, const struct replay_process *p,
				   const struct life *life)
{
	if (!p->wanted || life->outside)
		return;
	for (const struct birth_call *c = l->births; c < l->births + l->birth_count; c++)
		c->tell(c->context, p, life);
}

static inline void listeners_death(const struct listeners *l, const struct replay_process *p,
				   const struct life *life, const struct life_death *death)
{
	if (!p->wanted || life->outside)
		return;
	for (const struct death_call *c = l->deaths; c < l->deaths + l->death_count; c++)
		c->tell(c->context, p, life, death);
}

/* Makes a rarer `call` with these arguments, to those observers that have it. */
#define listeners_each(to, call, ...)                                                      \
	do {                                                                               \
		const struct listeners *l_ = (to);                                         \
		for (size_t i_ = 0; i_ < l_->observer_count; i_++) {                       \
			const struct replay_observer *o_ = &l_->observers[i_];             \
			if (o_->call)                                                      \
				o_->call(o_->context, __VA_ARGS__);                        \
		}                                                                          \
	} while (0)

static inline __attribute__((always_inline)) void listeners_expect_row(
	const struct replay_rows *rows, uint32_t number)
{
	if (number < rows->count)
		__builtin_prefetch((const char *)rows->at + number * rows->each, 1);
}

/* Prefetches the observers' rows of a block of this stack, at this place; 0: no place yet. */
static inline __attribute__((always_inline)) void listeners_expect(const struct listeners *l,
								   uint32_t stack, uint32_t place)
{
	for (size_t i = 0; i < l->by_stack_count; i++)
		listeners_expect_row(l->by_stack[i], stack);
	for (size_t i = 0; i < l->by_place_count; i++)
		listeners_expect_row(l->by_place[i], place);
}

#endif
