/* SPDX-License-Identifier: Apache-2.0 */
/* stat_short.c: see stat_short.h. */
#include "stat_short.h"

enum { FOLLOWS = -1, READING_SHIFT = 5, READINGS = 16 };

/* Returns FOLLOWS if `bytes` is count * size, else `bytes`. */
static int64_t unless_product(uint64_t bytes, uint64_t count, uint64_t size)
{
	int64_t product;

	return !__builtin_mul_overflow(count, size, &product) && (uint64_t)product == bytes
		       ? FOLLOWS
		       : (int64_t)bytes;
}

static bool is_plain(const struct store_stat *row)
{
#define IS_0(name, kind, how, ...) SUM_##how(&&!row->name)
	return !row->tag && !row->reused && !row->released SUMS_EACH(IS_0, IS_0);
#undef IS_0
}

/* True if view stat computes the row's values from the short row. */
static bool adds_up(const struct store_stat *row)
{
	uint64_t remaining = row->live + row->abandoned;

	return !(row->live && row->abandoned) && (row->live || !row->live_bytes) &&
	       (row->abandoned || !row->abandoned_bytes) && remaining <= row->allocs &&
	       (row->at_peak || !row->at_peak_bytes) && row->frees == row->allocs - remaining &&
	       row->min_size <= row->max_size;
}

static bool fits(const struct store_stat *row)
{
	return row->api < 1 << READING_SHIFT && row->reading < READINGS &&
	       row->allocs <= INT64_MAX && row->bytes <= INT64_MAX &&
	       row->live_bytes <= INT64_MAX && row->abandoned_bytes <= INT64_MAX &&
	       row->at_peak_bytes <= INT64_MAX && row->max_size <= INT64_MAX;
}

bool stat_short(const struct store_stat *row, struct store_stat_short *out)
{
	uint64_t remaining = row->live + row->abandoned;

	if (!is_plain(row) || !adds_up(row) || !fits(row))
		return false;
	*out = (struct store_stat_short){
		.process = row->process,
		.stack = row->stack,
		.vtable = row->vtable,
		.how = (uint32_t)(row->api | row->reading << READING_SHIFT),
		.allocs = row->allocs,
		.remaining = row->abandoned ? -(int64_t)remaining : (int64_t)remaining,
		.bytes = unless_product(row->bytes, row->allocs, row->max_size),
		.remaining_bytes = unless_product(row->live_bytes + row->abandoned_bytes, remaining,
						  row->max_size),
		.max_size = row->max_size,
		.spread = row->max_size - row->min_size,
		.size_step = row->size_step,
		.type = row->type,
		.at_peak = row->at_peak,
		.at_peak_bytes = unless_product(row->at_peak_bytes, row->at_peak, row->max_size),
	};
	return true;
}
