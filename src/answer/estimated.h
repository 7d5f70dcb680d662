/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimated.h: a sum of blocks and of their bytes that may be an estimate from a sample
 * (SHINY_SAMPLE), and the fields of its 95 % intervals (estimate.h).
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_ESTIMATED_H
#define SHINY_ESTIMATED_H

#include <stdint.h>

#include "../base/estimate.h"
#include "../base/units.h"
#include "field.h"

struct estimated { /* zeroed: none */
	uint64_t blocks, bytes;
	uint64_t blocks_variance, bytes_variance; /* 0: exact; bytes: in ESTIMATE_BYTES_UNIT */
};

/* Adds a block of `size` bytes that counts as `weight`. */
static inline void estimated_add(struct estimated *sum, uint64_t size, uint64_t weight)
{
	sum->blocks += weight;
	sum->bytes += size * weight;
	if (__builtin_expect(weight > 1, 0))
		estimate_vary(&sum->blocks_variance, &sum->bytes_variance, size, weight);
}

void estimated_merge(struct estimated *to, const struct estimated *from);
/* Subtracts blocks that were added. */
static inline void estimated_unmerge(struct estimated *from, const struct estimated *part)
{
	from->blocks -= part->blocks;
	from->bytes -= part->bytes;
	estimate_remove(&from->blocks_variance, part->blocks_variance);
	estimate_remove(&from->bytes_variance, part->bytes_variance);
}

/* Writes the 95 % interval of an estimate of bytes: " ± 1.20 MiB", or " (12.0 KiB to 2.80 MiB)"
 * where it is far from even; "" if it is exact. Returns `out`. */
enum { ESTIMATED_MARGIN = 2 * UNITS_TEXT + 8 };
char *estimated_margin(char out[ESTIMATED_MARGIN], uint64_t bytes, uint64_t variance);
/* The same of any sum, in its own unit; `words` writes a number. */
char *estimated_margin_of(char out[ESTIMATED_MARGIN], uint64_t sum, double variance,
			  char *(*words)(char out[UNITS_TEXT], uint64_t number));
#define ESTIMATED_MARGIN_BUF ((char[ESTIMATED_MARGIN]){ 0 })

/* The two fields of an interval's ends: GET_low and GET_high set them. */
#define ESTIMATED_BOUND(name, which, get, end)                      \
	{ FIELD_WORKED_OUT(name "_" #end, which, get##_##end),       \
	  .help = "where blocks are a sample: the end of the 95 % interval of " name }
#define ESTIMATED_BOUNDS(name, which, get) \
	ESTIMATED_BOUND(name, which, get, low), ESTIMATED_BOUND(name, which, get, high)

/* Those of struct estimated, absent where it is exact. */
field_get_fn estimated_blocks_low, estimated_blocks_high, estimated_bytes_low, estimated_bytes_high;

/* Fields of struct estimated: blocks_low, blocks_high, bytes_low and bytes_high, where it is not
 * exact; and the column `margin`, which estimated_margin_fields has alone. */
extern const struct field estimated_fields[], estimated_margin_fields[];

#endif
