/* SPDX-License-Identifier: Apache-2.0 */
/* stack_memo.c: see stack_memo.h. */
#include "stack_memo.h"

void si_kept_walk_put(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uint32_t pairs,
		      uint64_t epoch, uint32_t id)
{
	const uintptr_t *at = fp;
	struct si_kept_walk *r = si_kept_walk_slot(w, fp);

	r->id = 0; /* a handler that leaves by longjmp on the way leaves nothing behind */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->fp = fp;
	r->pairs = (uint16_t)pairs;
	r->depth = (uint16_t)depth;
	r->high = si_stack_high(fp);
	r->epoch = epoch;
	r->salt = w->salt;
	r->key = w->cache[id - 1];
	for (uint32_t i = 0; i < pairs; i++) {
		r->pair[i].next = si_stack_word(at);
		r->pair[i].pc = si_stack_word(at + 1);
		at = (const uintptr_t *)r->pair[i].next;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->id = id;
}
