/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h: finds an event's call stack, by frame pointers or rows (unwind.h), and a small number
 * for it.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   the stream's own.
 */
#ifndef SI_STACK_H
#define SI_STACK_H

#define XXH_INLINE_ALL
#define XXH_NAMESPACE si_
#include <xxhash.h>

#include "../record/chunk.h"
#include "../record/process.h"
#include "bare_code.h"
#include "stack_memo.h"
#include "modules.h"
#include "../core/settings.h"
#include "unwind.h"

/*
 * Defines the stack above `fp` in the stream; returns its id, or 0. `frames`, `count` and `walked`
 * are si_stack_walk's results; `walked` describes the walk by rows afterwards, if there was one.
 */
SI_COLD uint32_t si_stack_define(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
				 uintptr_t *frames, uint32_t count, struct si_walked *walked,
				 uint64_t now);

/*
 * True if the stack above `fp` may be walked: it is this thread's own, so its end is known, and the
 * walk has room. On a coroutine's stack, or a signal's alternate one, which may be small with other
 * data below it, only the immediate caller is recorded.
 */
SI_HOT bool si_stack_has_room(const uintptr_t *fp)
{
	return SI_LIKELY((uintptr_t)fp >= si_tls.walk_low && (uintptr_t)fp < si_tls.stack_high);
}

/* Collects return addresses, innermost first; returns how many, at least one. Every word read lies
 * between fp and the end of this thread's stack; only the first two may lie elsewhere, with a depth
 * of 1. */
SI_HOT uint32_t si_stack_walk(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
			      uintptr_t *frames, struct si_walked *walked)
{
	uintptr_t at = (uintptr_t)fp, high, next;
	uint32_t n = 1;
	uint64_t row;

	frames[0] = si_stack_word(fp + 1);
	si_walked_begin(walked);
	if (depth <= 1)
		return 1;
	if (si_settings.unwind == SI_UNWIND_AUTO && si_is_bare_code(frames[0]))
		return si_unwind_walk(w, fp, depth, frames, walked, true);
	row = si_row_find(frames[0], __atomic_load_n(&si_modules_generation, __ATOMIC_RELAXED));
	if (SI_UNLIKELY(row != SI_ROW_FP)) {
		if (si_settings.unwind != SI_UNWIND_FP)
			return si_unwind_walk(w, fp, depth, frames, walked,
					      si_settings.unwind != SI_UNWIND_ROWS);
		if (row != SI_ROW_NONE)
			return 1; /* the caller is known to keep no frame pointer */
	}
	high = si_tls.stack_high;
	si_walked_note(walked, fp, (uintptr_t)(fp + 1), frames[0]);
	while (n < depth) {
		uintptr_t pc;

		next = si_stack_word((const uintptr_t *)at);
		si_walked_note(walked, fp, at, next);
		/* one comparison for "above this frame, and two words below the end" */
		if (next - at - 1 >= high - at - 2 * sizeof(uintptr_t) || (next & 7) != 0)
			break;
		at = next;
		pc = si_stack_word((const uintptr_t *)at + 1);
		si_walked_note(walked, fp, at + sizeof(uintptr_t), pc);
		if (pc < 4096)
			break;
		frames[n++] = pc;
	}
	return n;
}

/* Returns the id of `key` in the cache, or 0. */
static inline uint32_t si_stack_find(const struct si_writer *w, uint64_t key)
{
	uint32_t set = (uint32_t)(key & w->cache_mask) * SI_CACHE_WAYS;

	for (uint32_t way = 0; way < SI_CACHE_WAYS; way++)
		if (w->cache[set + way] == key)
			return set + way + 1;
	return 0;
}

static inline uint64_t si_stack_key(const struct si_writer *w, const uintptr_t *frames,
				    uint32_t count)
{
	/* most frees have one address; multiplied by an odd number it stays unique */
	if (count == 1)
		return __builtin_bswap64(frames[0] * UINT64_C(0x9e3779b97f4a7c15)) + w->salt;
	return XXH3_64bits(frames, count * sizeof(*frames)) + w->salt;
}

/* Prefetches the cache set of the immediate caller alone, whose id is needed soon. (Always inline:
 * gcc 12 omits calls of functions that do no more than prefetch.) */
SI_HOT void si_stack_fetch(const struct si_writer *w, const uintptr_t *fp)
{
	uintptr_t caller = si_stack_word(fp + 1);

	__builtin_prefetch(
		&w->cache[(si_stack_key(w, &caller, 1) & w->cache_mask) * SI_CACHE_WAYS]);
}

/* Returns the id of the stack above `fp`, after defining it if it is new; 0: none. */
SI_HOT uint32_t si_stack_id(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uint64_t now)
{
	uintptr_t *frames = w->met;
	struct si_walked *walked = &w->walked;
	uint32_t count, id;
	uint64_t epoch;
	bool cut = false;

	if (depth > 1 && SI_UNLIKELY(!si_stack_has_room(fp))) {
		depth = 1;
		cut = true;
	}
	if (depth > 1) {
		id = si_stack_memo_find(w, fp, depth);
		if (id)
			return id;
	} else if (depth == 0) {
		return 0;
	}
	epoch = __atomic_load_n(&si_rows_epoch, __ATOMIC_ACQUIRE);
	count = si_stack_walk(w, fp, depth, frames, walked);
	id = si_stack_find(w, si_stack_key(w, frames, count));
	if (SI_UNLIKELY(!id)) {
		if (cut)
			si_count(SHINY_COUNT_STACKS_TRUNCATED);
		id = si_stack_define(w, fp, depth, frames, count, walked, now);
	}
	if (id && si_walked_fits(walked))
		si_stack_memo_put(w, fp, depth, walked, epoch, id);
	return id;
}

#endif
