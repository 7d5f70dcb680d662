/* SPDX-License-Identifier: Apache-2.0 */
/* stack_memo.c: see stack_memo.h. */
#include "stack_memo.h"

void si_stack_memo_put(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
		       struct si_walked *walked, uint64_t epoch, uint32_t id)
{
	struct si_stack_memo *r = si_stack_memo_slot(w, fp);
	struct si_memo_sum sum = { 0 };
	uint32_t words = walked->words;

	r->id = 0; /* a handler that leaves by longjmp meanwhile leaves an empty entry */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->fp = fp;
	r->depth = (uint16_t)depth;
	r->high = si_tls.stack_high;
	r->epoch = epoch;
	r->salt = w->salt;
	r->version = w->versions[(id - 1) / SI_CACHE_WAYS];
	/* the last lanes are filled with the first word, which is then read once more */
	for (; words % SI_STACK_MEMO_LANES; words++) {
		walked->word[words] = walked->word[0];
		walked->distance[words] = walked->distance[0];
	}
	__builtin_memcpy(r->distance, walked->distance, sizeof(r->distance));
	for (uint32_t i = 0; i < words; i += SI_STACK_MEMO_LANES)
		si_memo_sum_add(&sum, walked->word[i], walked->word[i + 1], walked->word[i + 2],
				walked->word[i + 3]);
	r->words = (uint8_t)words;
	r->sum = si_memo_sum_end(&sum);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->id = id;
}

void si_stack_memo_void(struct si_writer *w, uint32_t set)
{
	/* the version wraps around: a walk cached 256 changes ago must not match again */
	if (w->versions[set] == UINT8_MAX)
		for (uint32_t i = 0; i < UINT32_C(1) << (64 - w->kept_shift); i++)
			w->stack_memos[i].id = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->versions[set]++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
