/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

enum { BITS = 64 };

static uint32_t summary_words(uint32_t words)
{
	return (words + BITS - 1) / BITS;
}

static void grow(struct pool *pool)
{
	uint32_t words = pool->words ? 2 * pool->words : 1, before = summary_words(pool->words),
		 after = summary_words(words);

	pool->free = mem_resize(pool->free, words, sizeof(*pool->free));
	memset(pool->free + pool->words, 0, (words - pool->words) * sizeof(*pool->free));
	if (after > before) {
		pool->summary = mem_resize(pool->summary, after, sizeof(*pool->summary));
		memset(pool->summary + before, 0, (after - before) * sizeof(*pool->summary));
	}
	pool->words = words;
}

uint32_t pool_take(struct pool *pool)
{
	uint32_t word, bit;

	if (pool->live++ == pool->high) {
		if (pool->high / BITS == pool->words)
			grow(pool);
		return pool->high++;
	}
	while (!pool->summary[pool->lowest])
		pool->lowest++;
	word = pool->lowest * BITS + (uint32_t)__builtin_ctzll(pool->summary[pool->lowest]);
	bit = (uint32_t)__builtin_ctzll(pool->free[word]);
	pool->free[word] &= pool->free[word] - 1;
	if (!pool->free[word])
		pool->summary[word / BITS] &= ~(UINT64_C(1) << word % BITS);
	return word * BITS + bit;
}

void pool_give(struct pool *pool, uint32_t slot)
{
	uint32_t word = slot / BITS;

	pool->live--;
	pool->free[word] |= UINT64_C(1) << slot % BITS;
	pool->summary[word / BITS] |= UINT64_C(1) << word % BITS;
	if (word / BITS < pool->lowest)
		pool->lowest = word / BITS;
}

void pool_deinit(struct pool *pool)
{
	free(pool->free);
	free(pool->summary);
	*pool = (struct pool){ 0 };
}
