/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetimes.h"

FIELD_SKIP(has_none_ended, struct distribution, !r->ended)

static void get_mean(const void *ages, struct field_value *out)
{
	field_set_real(out, distribution_mean(ages));
}

static void get_geometric_mean(const void *ages, struct field_value *out)
{
	field_set_real(out, distribution_geometric_mean(ages));
}

#define QUANTILE(name, q)                                                                   \
	FIELD_GETTER(get_##name, struct distribution, number, distribution_quantile(r, q)) \
	RANGE(name, q, low) RANGE(name, q, high)
/* Where blocks are no sample, quantiles have no range. */
#define RANGE(name, q, end)                                                                      \
	static void get_##name##_##end(const void *row, struct field_value *out)                 \
	{                                                                                        \
		const struct distribution *r = row;                                              \
                                                                                                 \
		field_set_number(out, distribution_quantile_range(r, q).end);                    \
		out->absent = !r->spread.count;                                                   \
	}
QUANTILE(p50, 0.5)
QUANTILE(p90, 0.9)
QUANTILE(p99, 0.99)

static void get_half_life(const void *ages, struct field_value *out)
{
	uint64_t half = distribution_survival_quantile(ages, 0.5);

	if (half != UINT64_MAX)
		field_set_number(out, half);
}

FIELD_SKIP(is_empty, struct distribution_octave, !r->ended && !r->censored)

/* clang-format off */
#define AGES struct distribution
#define FIELD_RANGE(name) FIELD_END(name, low) FIELD_END(name, high)
#define FIELD_END(name, end) \
	{ FIELD_WORKED_OUT(#name "_ns_" #end, TIME, get_##name##_##end), .skip = has_none_ended, \
	  .help = "where blocks are a sample: the end of the 95 % interval of " #name },
static const struct field ages_fields[] = {
	{ FIELD_COUNT("ended", AGES, ended),
	  .help = "blocks that ended; the others were live when last seen" },
	{ FIELD_WORKED_OUT("mean_ns", TIME, get_mean), .skip = has_none_ended,
	  .help = "the mean lifetime of those that ended; null: none did" },
	{ FIELD_WORKED_OUT("geometric_mean_ns", TIME, get_geometric_mean), .title = "geo mean",
	  .skip = has_none_ended, .help = "the geometric mean of their lifetimes" },
	{ FIELD_WORKED_OUT("p50_ns", TIME, get_p50), .title = "p50", .skip = has_none_ended,
	  .help = "the median of their lifetimes, to within an eighth" },
	{ FIELD_WORKED_OUT("p90_ns", TIME, get_p90), .title = "p90", .skip = has_none_ended,
	  .help = "the 90th percentile" },
	{ FIELD_WORKED_OUT("p99_ns", TIME, get_p99), .title = "p99", .skip = has_none_ended,
	  .help = "the 99th percentile" },
	FIELD_RANGE(p50) FIELD_RANGE(p90) FIELD_RANGE(p99)
	{ FIELD_TIME("max_ns", AGES, most), .skip = has_none_ended,
	  .help = "the longest lifetime of those that ended" },
	{ FIELD_WORKED_OUT("half_life_ns", TIME, get_half_life), .title = "half-life",
	  .help = "the age that half of all blocks outlive, to within an eighth; null: more than "
		  "half outlive what was recorded" },
	FIELD_LAST
};
#define ROW struct lifetime_row
#define RESULT struct lifetimes
static const struct field life_fields[] = {
	{ FIELD_SHARE("of_blocks", ROW, began.blocks, RESULT, total.began.blocks) },
	{ FIELD_BAR("bar", ROW, began.blocks, RESULT, total.began.blocks) },
	{ FIELD_COUNT("blocks", ROW, began.blocks), .help = "blocks that began" },
	{ FIELD_BYTES("bytes", ROW, began.bytes), .help = "their bytes" },
	{ FIELD_GROUP(ROW, began, estimated_fields) },
	{ FIELD_COUNT("destroyed", ROW, destroyed),
	  .help = "blocks freed, passed to realloc, or ended by a destructor" },
	{ FIELD_COUNT("reused", ROW, reused),
	  .help = "blocks not ended by a call, whose place another block took" },
	{ FIELD_COUNT("persistent", ROW, persistent),
	  .help = "blocks live when their process or the recording ended" },
	{ FIELD_COUNT("temporary", ROW, temporary),
	  .help = "blocks freed before their process made another allocation" },
	{ FIELD_COUNT("elsewhere", ROW, elsewhere), .help = "blocks freed by another thread" },
	{ FIELD_COUNT("short", ROW, population[POPULATION_SHORT]),
	  .help = "blocks that lived up to 1 % of the session" },
	{ FIELD_COUNT("middle", ROW, population[POPULATION_MIDDLE]),
	  .help = "blocks that lived up to 50 % of it" },
	{ FIELD_COUNT("tail", ROW, population[POPULATION_TAIL]),
	  .help = "blocks that lived longer" },
	{ FIELD_GROUP(ROW, ages, ages_fields) },
	FIELD_LAST
};
const struct field lifetime_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME,
	  .help = "the type, call site, component or tag" },
	{ FIELD_FULL_NAME(ROW), .help = "the same, not shortened" },
	{ FIELD_SAME(life_fields) },
	FIELD_LAST
};
#define OCTAVE struct distribution_octave
static const struct field octave_fields[] = {
	{ FIELD_TIME("from_ns", OCTAVE, from), .title = "lifetime \xe2\x89\xa5",
	  .help = "the shortest lifetime of the octave" },
	{ FIELD_COUNT("ended", OCTAVE, ended), .help = "blocks that ended at that age" },
	{ FIELD_BAR("ended_bar", OCTAVE, ended, RESULT, octaves.most) },
	{ FIELD_COUNT("censored", OCTAVE, censored), .title = "still alive",
	  .help = "blocks live at that age when the recording ended" },
	{ FIELD_OF("censored_bar", FIELD_KIND_BAR, OCTAVE, censored), .title = "",
	  .tint = TINT_WARN, .whole = offsetof(RESULT, octaves.most) },
	{ FIELD_REAL("survival", OCTAVE, survival),
	  .help = "the share of blocks that lives beyond the octave" },
	FIELD_LAST
};
const struct field lifetimes_fields[] = {
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_OBJECT("total", RESULT, total, life_fields), .help = "all blocks" },
	{ FIELD_FIRST("histogram", RESULT, octaves.rows, octaves.count, octave_fields),
	  .skip = is_empty, .help = "an octave of lifetimes" },
	{ FIELD_FIRST("octaves", RESULT, octaves.rows, octaves.count, octave_fields),
	  .column_only = true, .shows = "from_ns ended ended_bar censored censored_bar" },
	FIELD_LAST
};
