/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum_list.h: the sums of a population of blocks, each once. The members of struct sums, struct
 * store_stat and struct tally_rare, the columns of the tables and views (scripts/sums repeats a
 * line of schema.sql for each) and the keys of --json come from it. `shinyctl help definitions`
 * says what each is: allocs + inherited_frees = frees + live + abandoned. VARIANCE: of the sum's
 * error, where it is an estimate from a sample (SHINY_SAMPLE).
 *
 * Runs: anywhere. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_STORE_SUM_LIST_H
#define SHINY_STORE_SUM_LIST_H

/* FIRST(name, kind, how, help) once, then NEXT for each of the others, as a list needs commas only
 * between its elements. The order is that of a query's columns and of --json. RARE: 0 in most rows
 * of view stat. Table stat_short lacks those, and the sidecar counts them in struct tally_rare. */
#define SUMS_EACH(FIRST, NEXT)                                                                    \
	FIRST(allocs, COUNT, USUAL, "blocks allocated")                                           \
	NEXT(reallocs, COUNT, RARE, "of these, those by a realloc")                               \
	NEXT(frees, COUNT, USUAL, "frees, with those of inherited blocks")                        \
	NEXT(bytes, BYTES, USUAL, "requested bytes of the allocations")                           \
	NEXT(live, COUNT, USUAL, "blocks that are live at the end")                               \
	NEXT(live_bytes, BYTES, USUAL, "their bytes")                                             \
	NEXT(inherited, COUNT, RARE, "blocks that a fork copied")                                 \
	NEXT(inherited_bytes, BYTES, RARE, "their bytes")                                         \
	NEXT(inherited_frees, COUNT, RARE, "inherited blocks that were freed")                    \
	NEXT(abandoned, COUNT, USUAL, "unfreed blocks of processes that ended before the others") \
	NEXT(abandoned_bytes, BYTES, USUAL, "their bytes")                                        \
	NEXT(at_peak, COUNT, USUAL, "blocks that were live at the session's peak")                 \
	NEXT(at_peak_bytes, BYTES, USUAL, "their bytes")                                          \
	NEXT(allocs_variance, VARIANCE, RARE, "variance of allocs; 0: it is exact")               \
	NEXT(bytes_variance, VARIANCE, RARE, "that of bytes, in units of KiB squared")            \
	NEXT(live_variance, VARIANCE, RARE, "that of live")                                       \
	NEXT(live_bytes_variance, VARIANCE, RARE, "that of live_bytes, likewise")                 \
	NEXT(abandoned_variance, VARIANCE, RARE, "that of abandoned")                             \
	NEXT(abandoned_bytes_variance, VARIANCE, RARE, "that of abandoned_bytes, likewise")       \
	NEXT(at_peak_variance, VARIANCE, RARE, "that of at_peak")                                 \
	NEXT(at_peak_bytes_variance, VARIANCE, RARE, "that of at_peak_bytes, likewise")

/* SUM_##how(code) is the code of a RARE sum, and nothing of another. */
#define SUM_RARE(...) __VA_ARGS__
#define SUM_USUAL(...)

#endif
