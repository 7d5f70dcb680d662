/* SPDX-License-Identifier: Apache-2.0 */
/* stack_memo.c: see stack_memo.h. */
#include "stack_memo.h"

void si_kept_walk_put(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
		      const struct si_walked *walked, uint64_t epoch, uint32_t id)
{
	struct si_kept_walk *r = si_kept_walk_slot(w, fp);

	r->id = 0; /* a handler that leaves by longjmp on the way leaves nothing behind */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->fp = fp;
	r->words = (uint16_t)walked->words;
	r->depth = (uint16_t)depth;
	r->high = si_stack_high(fp);
	r->epoch = epoch;
	r->salt = w->salt;
	r->key = w->cache[id - 1];
	for (uint32_t i = 0; i < walked->words; i++)
		r->word[i] = walked->word[i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->id = id;
}
