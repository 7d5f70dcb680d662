/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h: selects the processes and blocks of an analysis; helpers for rows and queries.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * An analysis queries the session by SQL and returns rows; it prints nothing. Memory is bounded by
 * the number of rows, never by the number of events.
 */
#ifndef SHINY_FILTER_H
#define SHINY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../base/err.h"
#include "../../store/store.h"
#include "../../store/sums.h"

/* The processes and blocks of a report. Times are for analyses over lives only. */
struct filter {
	char *where; /* SQL condition on column `process` of a table named s: "s.process IN (1,2)";
		      * all: "1" */
	char *blocks; /* the same for tables stat, site_stat and peak, with `tags` as a condition on
		       * `tag`; NULL: `where` */
	size_t processes;
	unsigned level; /* 1: blocks; 2: objects in pools, which lie in blocks. Never both */
	bool whole;	/* it has all processes of its level */
	uint64_t from, to; /* blocks born in [from, to), ns since the session's start; to 0: no
			    * end */
	bool *tags;        /* [tag_count], by id of table tag: born under one of these; NULL: any
			    * tag or none */
	size_t tag_count;
};

static inline const char *filter_blocks(const struct filter *filter)
{
	return filter->blocks ? filter->blocks : filter->where;
}

static inline bool filter_time(const struct filter *filter, uint64_t time)
{
	return time >= filter->from && (!filter->to || time < filter->to);
}

static inline bool filter_birth(const struct filter *filter, uint64_t time, uint32_t tag)
{
	return filter_time(filter, time) &&
	       (!filter->tags || (tag < filter->tag_count && filter->tags[tag]));
}

/* True if the filter has an interval; if it has an interval or tags. */
static inline bool filter_timed(const struct filter *filter)
{
	return filter->from || filter->to;
}
static inline bool filter_is_subset(const struct filter *filter)
{
	return filter->tags || filter_timed(filter);
}
/* Returns the filter's part of a session of that duration, ns. */
static inline uint64_t filter_length(const struct filter *filter, uint64_t duration)
{
	uint64_t end = filter->to && filter->to < duration ? filter->to : duration;

	return end > filter->from ? end - filter->from : 0;
}

/* Selects processes of the first level. `which`: NULL: all; "id:7"; or a pid, role or name, with *
 * and ? as wildcards. No match is a usage error that lists the processes. */
SHINY_MUST_CHECK struct shiny_err *filter_resolve(struct store *store, const char *which,
						  struct filter *out);
void filter_deinit(struct filter *filter);
/* The options that make a filter; NULL: not given. `heap`: the kind of pools whose objects are
 * meant, in place of the first level. */
struct filter_names {
	const char *process, *heap, *tags, *between;
};
/* Loads a filter from its options; on an error `out` needs no deinit. */
SHINY_MUST_CHECK struct shiny_err *filter_load(struct store *store,
					       const struct filter_names *names,
					       struct filter *out);
/* Selects tags. `names`: separated by commas, with * and ? as wildcards; "-": no tag. */
SHINY_MUST_CHECK struct shiny_err *filter_tags(struct store *store, const char *names,
					       struct filter *filter);
/* Refuses a time before the events that were kept (SHINY_KEEP): a usage error of `option`. */
SHINY_MUST_CHECK struct shiny_err *filter_reaches(struct store *store, const char *option,
						  uint64_t time);
/*
 * Selects an interval. `range`: "FROM..TO", each a mark's name or a time since the session's start
 * such as 2.5s; without FROM from the beginning, without TO to the end. Of marks with the same name
 * FROM means the first, TO the first after FROM; NAME#3 is the third.
 */
SHINY_MUST_CHECK struct shiny_err *filter_between(struct store *store, const char *range,
						  struct filter *filter);

/* Returns the session's duration in ns. */
SHINY_MUST_CHECK struct shiny_err *session_duration(struct store *store, uint64_t *ns);

/* Appends an all-zero row of `size` bytes (mem.h). */
void *rows_push(void *rows_pointer, size_t *count, size_t *room, size_t size);
/* Frees rows, and what `member` of each points to. */
#define rows_free(rows, count, member)                     \
	do {                                               \
		for (size_t i_ = 0; i_ < (count); i_++)    \
			free((rows)[i_].member);           \
		free(rows);                                \
	} while (0)

/* Returns a copy of a text column; NULL for SQL's NULL. The caller frees it. */
char *query_copy(const struct query *query, int column);

/* Starts a query whose SQL is formatted as by printf(). */
SHINY_MUST_CHECK struct shiny_err *query_format(struct store *store, struct query **out,
						const char *format, ...) SHINY_PRINTF(3, 4);

#endif
