/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_log.c: see phase_log.h.
 *
 * Blocks that began and ended in one interval are counted in tables; when a block of another
 * interval comes, the tables are written to the log. Rows are written as numbers of seven bits a
 * byte.
 */
#include "phase_log.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../replay/change_queue.h"

enum { CHUNK = 1 << 20, ROW_MOST = 60 };
/* The first number of a row is its interval of birth times ROW_KINDS, plus its kind. */
enum row_kind { ROW_TYPE, ROW_SITE, ROW_ENDS, ROW_STAYS, ROW_KINDS };

size_t phase_log_most = (size_t)128 << 20;

struct phase_end { /* an ended block */
	uint64_t birth, end;
	uint64_t bytes : 63, stays : 1;
	uint32_t groups[2];
};
/* Distance, in blocks, of the prefetch of sums, which are mostly in no cache. */
enum { AHEAD = 12 };

struct phase_sum {
	uint64_t blocks, bytes;
};
struct phase_chunk {
	uint8_t *at;
	size_t used;
};
struct phase_log {
	uint64_t interval;
	size_t intervals;
	uint64_t begin, end;       /* interval `now` is (begin, end] */
	size_t now;
	struct phase_sum *sums[2]; /* of types and sites, in interval `now` */
	VEC(uint32_t) used[2];     /* groups whose sums are not 0 */
	VEC(struct phase_chunk) chunks;
	bool full;
	struct change_queue *queue; /* queue of struct phase_end */
};

static void go_to_interval(struct phase_log *log, size_t interval)
{
	log->now = interval;
	log->begin = interval * log->interval;
	log->end = interval + 1 < log->intervals ? log->begin + log->interval : UINT64_MAX;
}

static void free_chunks(struct phase_log *log)
{
	for (size_t i = 0; i < log->chunks.count; i++)
		free(log->chunks.at[i].at);
	free(log->chunks.at);
	log->chunks.at = NULL;
	log->chunks.count = log->chunks.room = 0;
}

void phase_log_destroy(struct phase_log *log)
{
	if (!log)
		return;
	change_queue_destroy(log->queue);
	for (unsigned i = 0; i < 2; i++) {
		free(log->sums[i]);
		free(log->used[i].at);
	}
	free_chunks(log);
	free(log);
}

/* ---- writing ---- */

static void write_row(struct phase_log *log, const uint64_t *numbers, size_t count)
{
	struct phase_chunk *chunk =
		log->chunks.count ? &log->chunks.at[log->chunks.count - 1] : NULL;
	uint8_t *to;

	if (!chunk || chunk->used + ROW_MOST > CHUNK) {
		log->full |= (log->chunks.count + 1) * CHUNK > phase_log_most;
		if (log->full) {
			free_chunks(log);
			return;
		}
		chunk = vec_push(&log->chunks);
		*chunk = (struct phase_chunk){ mem_alloc(CHUNK), 0 };
	}
	to = chunk->at + chunk->used;
	for (size_t i = 0; i < count; i++) {
		uint64_t number = numbers[i];

		for (; number >= 0x80; number >>= 7)
			*to++ = (uint8_t)(number | 0x80);
		*to++ = (uint8_t)number;
	}
	chunk->used = (size_t)(to - chunk->at);
}

static void write_sums(struct phase_log *log)
{
	for (unsigned i = 0; i < 2; i++) {
		for (size_t k = 0; k < log->used[i].count && !log->full; k++) {
			uint32_t group = log->used[i].at[k];
			struct phase_sum *sum = &log->sums[i][group];
			uint64_t first = log->now * ROW_KINDS + (i ? ROW_SITE : ROW_TYPE);

			write_row(log,
				  (const uint64_t[]){ first, group, sum->blocks, sum->bytes }, 4);
			*sum = (struct phase_sum){ 0 };
		}
		log->used[i].count = 0;
	}
}

static size_t interval_of(const struct phase_log *log, uint64_t time)
{
	size_t interval = time ? (time - 1) / log->interval : 0;

	return interval < log->intervals ? interval : log->intervals - 1;
}

/* Counts a block that began and ended in interval `now`. */
static void add_up(struct phase_log *log, const uint32_t groups[2], uint64_t bytes)
{
	for (unsigned i = 0; i < 2; i++) {
		struct phase_sum *sum = &log->sums[i][groups[i]];

		if (!sum->blocks++)
			*vec_push(&log->used[i]) = groups[i];
		sum->bytes += bytes;
	}
}

static void write_end(struct phase_log *log, const struct phase_end *e)
{
	size_t born, died;

	if (!e->stays && e->birth > log->begin && e->end <= log->end && e->birth <= e->end) {
		add_up(log, e->groups, e->bytes);
		return;
	}
	born = interval_of(log, e->birth);
	died = e->stays || e->end <= e->birth ? born : interval_of(log, e->end);
	if (e->stays) {
		write_row(log,
			  (const uint64_t[]){ born * ROW_KINDS + ROW_STAYS, e->groups[0],
					      e->groups[1], e->bytes },
			  4);
	} else if (born == died) {
		if (log->now != born) {
			write_sums(log);
			go_to_interval(log, born);
		}
		add_up(log, e->groups, e->bytes);
	} else {
		write_row(log,
			  (const uint64_t[]){ born * ROW_KINDS + ROW_ENDS, died - born,
					      e->groups[0], e->groups[1], e->bytes },
			  5);
	}
}

static void write_ends(void *context, const void *changes, size_t count)
{
	const struct phase_end *ends = changes;
	struct phase_log *log = context;

	for (size_t i = 0; i < count && !log->full; i++) {
		for (unsigned k = 0; i + AHEAD < count && k < 2; k++)
			__builtin_prefetch(&log->sums[k][ends[i + AHEAD].groups[k]], 1);
		write_end(log, &ends[i]);
	}
}

void phase_log_add(struct phase_log *log, uint64_t birth, uint64_t end, bool stays, uint32_t type,
		   uint32_t site, uint64_t bytes)
{
	change_queue_give(log->queue, (struct phase_end){ .birth = birth,
							   .end = end,
							   .bytes = bytes,
							   .stays = stays,
							   .groups = { type, site } });
}

struct phase_log *phase_log_create(uint64_t interval, size_t intervals, const size_t groups[2])
{
	struct phase_log *log = mem_zero(1, sizeof(*log));

	log->interval = interval;
	log->intervals = intervals;
	go_to_interval(log, 0);
	for (unsigned i = 0; i < 2; i++)
		log->sums[i] = mem_zero(groups[i], sizeof(*log->sums[i]));
	log->queue = change_queue_create(sizeof(struct phase_end), write_ends, log);
	return log;
}

/* ---- reading ---- */

static uint64_t read_number(const uint8_t **at)
{
	uint64_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
}

static struct phase_log_row read_row(const uint8_t **at)
{
	uint64_t first = read_number(at);
	enum row_kind kind = first % ROW_KINDS;
	struct phase_log_row row = { .born = first / ROW_KINDS,
				     .died = first / ROW_KINDS,
				     .stays = kind == ROW_STAYS,
				     .has = { kind != ROW_SITE, kind != ROW_TYPE },
				     .sum.blocks = 1 };

	if (kind == ROW_ENDS)
		row.died += read_number(at);
	for (unsigned i = 0; i < 2; i++)
		if (row.has[i])
			row.groups[i] = (uint32_t)read_number(at);
	if (kind == ROW_TYPE || kind == ROW_SITE)
		row.sum.blocks = read_number(at);
	row.sum.bytes = read_number(at);
	return row;
}

bool phase_log_read(struct phase_log *log,
		    void (*row)(void *context, const struct phase_log_row *row), void *context)
{
	change_queue_settle(log->queue);
	write_sums(log);
	for (size_t i = 0; i < log->chunks.count; i++) {
		const uint8_t *at = log->chunks.at[i].at, *end = at + log->chunks.at[i].used;

		while (at < end) {
			struct phase_log_row one = read_row(&at);

			row(context, &one);
		}
	}
	return !log->full;
}
