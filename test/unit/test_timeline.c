/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline.c: a process's timeline through gaps and several doublings of its intervals: each
 * holds what began in it, counted here by the times themselves. */
#include "../../src/sidecar/state/stats.h"
#include "check.h"

enum { BLOCKS = 20000, SIZE = 24 };

/* Every 9 ms, with a gap of a minute in the middle: longer than the intervals that fit at first. */
static uint64_t time_of(uint64_t block)
{
	return 5000000000 + block * 9000000 + (block >= BLOCKS / 2 ? 60000000000 : 0);
}

static uint64_t begun_between(uint64_t from, uint64_t to)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < BLOCKS; i++)
		count += time_of(i) >= from && time_of(i) < to;
	return count;
}

int main(void)
{
	uint64_t wrong = 0, touched = 0, before = 0;
	struct total total;
	struct stats stats;
	struct entry entry = { .size = SIZE };

	total_init(&total);
	stats_init(&stats, &total, 0);
	entry.site = stats_site(&stats, 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		entry.address = 16 * (i + 1);
		stats_begin(&stats, &entry, time_of(i));
	}
	for (size_t i = 0; i < stats.bucket_count; i++) {
		const struct bucket *b = &stats.buckets[i];
		uint64_t from = (stats.bucket_first + i) * stats.bucket_ns,
			 begun = begun_between(from, from + stats.bucket_ns);

		before += begun;
		wrong += b->allocs != begun || b->alloc_bytes != begun * SIZE || b->frees ||
			 b->touched != (begun > 0) || (begun && b->live_blocks != before);
		touched += b->touched;
	}
	check("few enough", stats.bucket_count <= BUCKETS_MAX, "there are too many intervals");
	check("some are empty", touched < stats.bucket_count, "the gap is not there");
	number("all of them", before, BLOCKS);
	number("wrong intervals", wrong, 0);
	stats_deinit(&stats);
	total_deinit(&total);
	return failures != 0;
}
