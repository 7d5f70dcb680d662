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

char *estimated_margin_of(char out[ESTIMATED_MARGIN], uint64_t sum, double variance,
			  char *(*words)(char out[UNITS_TEXT], uint64_t number))
{
	struct estimate_bounds bounds = estimate_bounds(sum, variance, 0);

	out[0] = '\0';
	if (!(variance > 0))
		return out;
	if ((double)sum * (double)sum >= EVEN_FROM * variance)
		snprintf(out, ESTIMATED_MARGIN, " \xc2\xb1 %s",
			 words(UNITS_BUF, (bounds.high - bounds.low) / 2));
	else
		snprintf(out, ESTIMATED_MARGIN, " (%s to %s)", words(UNITS_BUF, bounds.low),
			 words(UNITS_BUF, bounds.high));
	return out;
}

char *estimated_margin(char out[ESTIMATED_MARGIN], uint64_t bytes, uint64_t variance)
{
	return estimated_margin_of(out, bytes, (double)variance * ESTIMATE_BYTES_UNIT,
				   units_bytes);
}

static void get_margin(const void *sum, struct field_value *out)
{
	const struct estimated *r = sum;
	char *text = estimated_margin(ESTIMATED_MARGIN_BUF, r->bytes, r->bytes_variance);

	if (*text)
		field_set_owned(out, mem_text(text + 1));
}

#define BOUND(name, end, unit)                                                   \
	void estimated_##name##_##end(const void *sum, struct field_value *out)  \
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

/* clang-format off */
const struct field estimated_margin_fields[] = {
	{ FIELD_WORKED_OUT("margin", TEXT, get_margin), .title = "", .column_only = true,
	  .sparse = true, .tint = TINT_DIM },
	FIELD_LAST
};
const struct field estimated_fields[] = {
	ESTIMATED_BOUNDS("blocks", COUNT, estimated_blocks),
	ESTIMATED_BOUNDS("bytes", BYTES, estimated_bytes),
	{ FIELD_SAME(estimated_margin_fields) },
	FIELD_LAST
};
