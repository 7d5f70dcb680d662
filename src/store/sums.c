/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"

#include <string.h>

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

#define FIELD(name, kind, how, text) { FIELD_##kind(#name, struct sums, name), .help = text },
const struct field sums_fields[] = { SUMS_EACH(FIELD, FIELD) FIELD_LAST };
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
