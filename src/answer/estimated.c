/* SPDX-License-Identifier: Apache-2.0 */
#include "estimated.h"

#include <stdio.h>

#include "../base/mem.h"

/* Blocks of equal weights from which on an interval is shown as even. */
enum { EVEN_FROM = 30 };

void estimated_merge(struct estimated *to, const struct estimated *from)
{
	to->blocks += from->blocks;
	to->bytes += from->bytes;
	to->blocks_variance += from->blocks_variance;
	to->bytes_variance += from->bytes_variance;
}

char *estimated_margin(char out[ESTIMATED_MARGIN], uint64_t bytes, uint64_t variance)
{
	double squares = (double)variance * ESTIMATE_BYTES_UNIT;
	struct estimate_bounds bounds = estimate_bounds(bytes, squares, 0);

	out[0] = '\0';
	if (!variance)
		return out;
	if ((double)bytes * (double)bytes >= EVEN_FROM * squares)
		snprintf(out, ESTIMATED_MARGIN, " \xc2\xb1 %s",
			 units_bytes(UNITS_BUF, (bounds.high - bounds.low) / 2));
	else
		snprintf(out, ESTIMATED_MARGIN, " (%s to %s)", units_bytes(UNITS_BUF, bounds.low),
			 units_bytes(UNITS_BUF, bounds.high));
	return out;
}

static void get_margin(const void *sum, struct field_value *out)
{
	const struct estimated *r = sum;
	char *text = estimated_margin(ESTIMATED_MARGIN_BUF, r->bytes, r->bytes_variance);

	if (*text)
		field_set_owned(out, mem_text(text + 1));
}

#define BOUND(name, end, unit)                                                   \
	static void get_##name##_##end(const void *sum, struct field_value *out) \
	{                                                                        \
		const struct estimated *r = sum;                                 \
		double variance = (double)r->name##_variance * (unit);           \
                                                                                 \
		field_set_number(out, estimate_bounds(r->name, variance, 0).end);   \
		out->absent = !r->blocks_variance;                               \
	}
BOUND(blocks, low, 1)
BOUND(blocks, high, 1)
BOUND(bytes, low, ESTIMATE_BYTES_UNIT)
BOUND(bytes, high, ESTIMATE_BYTES_UNIT)

#define FIELD_BOUND(name, kind, end)                              \
	{ FIELD_WORKED_OUT(#name "_" #end, kind, get_##name##_##end), \
	  .help = "where blocks are a sample: the end of the 95 % interval of " #name }
/* clang-format off */
const struct field estimated_fields[] = {
	FIELD_BOUND(blocks, COUNT, low), FIELD_BOUND(blocks, COUNT, high),
	FIELD_BOUND(bytes, BYTES, low), FIELD_BOUND(bytes, BYTES, high),
	{ FIELD_WORKED_OUT("margin", TEXT, get_margin), .title = "", .column_only = true,
	  .sparse = true, .tint = TINT_DIM },
	FIELD_LAST
};
