/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"

#include <stdio.h>
#include <string.h>

#include "../answer/estimated.h"
#include "../base/mem.h"
#include "store.h"

void sums_read(struct sums *sums, const struct query *query, int first)
{
#define READ(name, ...) sums->name = (uint64_t)query_number(query, first++);
	SUMS_EACH(READ, READ)
#undef READ
}

void sums_add(struct sums *to, const struct sums *more)
{
#define ADD(name, ...) to->name += more->name;
	SUMS_EACH(ADD, ADD)
#undef ADD
}

/* Returns the bounds of a part of the row's blocks, or of all. */
static struct estimate_bounds of_count(const struct sums *s, uint64_t part, uint64_t variance)
{
	return estimate_bounds(part, (double)variance,
			       s->allocs ? (double)s->allocs_variance / (double)s->allocs : 0);
}

static struct estimate_bounds of_bytes(const struct sums *s, uint64_t part, uint64_t variance)
{
	double unit = ESTIMATE_BYTES_UNIT;

	return estimate_bounds(part, (double)variance * unit,
			       s->bytes ? (double)s->bytes_variance * unit / (double)s->bytes : 0);
}

/* Returns the variance of the error of `frees`: they and what is left are parts of one sample. */
static uint64_t frees_variance(const struct sums *s)
{
	uint64_t rest = s->live_variance + s->abandoned_variance;

	return s->allocs_variance > rest ? s->allocs_variance - rest : 0;
}

static void get_margin(const void *row, struct field_value *out)
{
	const struct sums *r = row;
	char *text =
		estimated_margin(ESTIMATED_MARGIN_BUF, r->live_bytes, r->live_bytes_variance);

	if (*text)
		field_set_owned(out, mem_text(text + 1));
}

/* Where the sums are exact, they have no bounds. */
#define BOUND(name, end, of, variance)                                         \
	static void get_##name##_##end(const void *row, struct field_value *out) \
	{                                                                      \
		const struct sums *r = row;                                    \
                                                                               \
		field_set_number(out, of(r, r->name, variance).end);              \
		out->absent = !r->allocs_variance;                             \
	}
#define BOUNDS(name, of, variance) BOUND(name, low, of, variance) BOUND(name, high, of, variance)
BOUNDS(allocs, of_count, r->allocs_variance)
BOUNDS(frees, of_count, frees_variance(r))
BOUNDS(bytes, of_bytes, r->bytes_variance)
BOUNDS(live, of_count, r->live_variance)
BOUNDS(live_bytes, of_bytes, r->live_bytes_variance)
BOUNDS(abandoned, of_count, r->abandoned_variance)
BOUNDS(abandoned_bytes, of_bytes, r->abandoned_bytes_variance)
BOUNDS(at_peak, of_count, r->at_peak_variance)
BOUNDS(at_peak_bytes, of_bytes, r->at_peak_bytes_variance)

/* The variances themselves are in no answer. */
#define FIELD_OF_COUNT(name, text)    { FIELD_COUNT(#name, struct sums, name), .help = text },
#define FIELD_OF_BYTES(name, text)    { FIELD_BYTES(#name, struct sums, name), .help = text },
#define FIELD_OF_VARIANCE(name, text)
#define FIELD(name, kind, how, text)  FIELD_OF_##kind(name, text)
#define FIELD_BOUNDS(name, kind) ESTIMATED_BOUNDS(#name, kind, get_##name)
const struct field sums_fields[] = {
	SUMS_EACH(FIELD, FIELD)
	FIELD_BOUNDS(allocs, COUNT), FIELD_BOUNDS(frees, COUNT), FIELD_BOUNDS(bytes, BYTES),
	FIELD_BOUNDS(live, COUNT), FIELD_BOUNDS(live_bytes, BYTES),
	FIELD_BOUNDS(abandoned, COUNT), FIELD_BOUNDS(abandoned_bytes, BYTES),
	{ FIELD_WORKED_OUT("margin", TEXT, get_margin), .title = "", .column_only = true,
	  .sparse = true, .tint = TINT_DIM },
	FIELD_BOUNDS(at_peak, COUNT), FIELD_BOUNDS(at_peak_bytes, BYTES), FIELD_LAST
};
#undef FIELD

enum sums_order sums_order_of(const char *word)
{
	static const char *const words[] = {
		[ORDER_LIVE] = "live",	 [ORDER_BYTES] = "bytes", [ORDER_ALLOCS] = "allocs",
		[ORDER_FREES] = "frees", [ORDER_PEAK] = "peak",	  [ORDER_NAME] = "name"
	};

	for (size_t i = 0; word && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i], word) == 0)
			return (enum sums_order)i;
	return ORDER_LIVE;
}

const char *sums_order_share(enum sums_order order)
{
	static const char *const titles[] = {
		[ORDER_LIVE] = "of live bytes",	   [ORDER_BYTES] = "of bytes",
		[ORDER_ALLOCS] = "of allocations", [ORDER_FREES] = "of frees",
		[ORDER_PEAK] = "of peaks",	   [ORDER_NAME] = "of live bytes"
	};

	return titles[order];
}

uint64_t sums_by(const struct sums *sums, enum sums_order order, uint64_t peak)
{
	switch (order) {
	case ORDER_BYTES:
		return sums->bytes;
	case ORDER_ALLOCS:
		return sums->allocs;
	case ORDER_FREES:
		return sums->frees;
	case ORDER_PEAK:
		return peak;
	default:
		return sums->live_bytes;
	}
}
