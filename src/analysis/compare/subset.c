/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "subset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/cleanup.h"
#include "../../base/estimate.h"
#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../replay/live_peak.h"
#include "../replay/replay.h"
#include "../query/range_map.h"

/* ---- sums by two numbers ---- */

struct tallies {
	uint64_t *rows; /* each: KEYS numbers of the key, then `width` sums */
	size_t width, count, room;
	struct hash_table index;
};
enum { KEYS = 2 };

static uint64_t *row_at(const struct tallies *t, size_t place)
{
	return t->rows + place * (KEYS + t->width);
}

/* Returns the sums of a key, a new one's all 0. Valid until the next call. */
static uint64_t *tally(struct tallies *t, uint64_t a, uint64_t b)
{
	uint64_t hash = hash_keys(a, b);
	uint32_t at =
		hash_table_find(&t->index, hash, i, row_at(t, i)[0] == a && row_at(t, i)[1] == b);

	if (at == HASH_NONE) {
		at = (uint32_t)t->count++;
		t->rows = mem_reach(t->rows, &t->room, t->count * (KEYS + t->width),
				    sizeof(*t->rows), 1024);
		row_at(t, at)[0] = a;
		row_at(t, at)[1] = b;
		hash_table_add(&t->index, hash, at);
	}
	return row_at(t, at) + KEYS;
}

static void tallies_deinit(struct tallies *t)
{
	free(t->rows);
	hash_table_deinit(&t->index);
}

/* ---- from the events ---- */

#define STAT(name, ...) STAT_##name,
enum {
	SUMS_EACH(STAT, STAT)
	STAT_reused,
	STAT_released,
	STAT_max_size,
	STAT_min_size,
	STAT_api,
	STAT_type,
	STAT_round, /* bytes of the peak at which the row's blocks are counted */
	STAT_SUMS
};
#undef STAT
enum { AGE_COUNT, AGE_BYTES, AGE_SUMS };
enum { PAGE_BLOCKS, PAGE_LIVE_BYTES, PAGE_SUMS };
enum { PAGES_AT_LEAST = 1 << 20, PAGES_A_BYTE = 1 }; /* a row of the whole session takes six bytes
						      * of its file, unless it is unfinished */
/* BUCKET_LIVE*: changes */
enum {
	BUCKET_ALLOCS,
	BUCKET_FREES,
	BUCKET_ALLOC_BYTES,
	BUCKET_FREE_BYTES,
	BUCKET_LIVE,
	BUCKET_LIVE_BYTES,
	BUCKET_MOST_BYTES,
	BUCKET_SUMS
};

struct subset_count {
	struct tallies stats;   /* key: process and stack, vtable and tag */
	struct tallies ages;    /* key: process and site, type, bin and whether censored */
	struct tallies pages;   /* key: process, page */
	struct tallies buckets; /* key: process, bucket */
	uint32_t *site_of;      /* stack id → site */
	size_t stack_count;
	uint64_t bucket_ns;     /* 0 until the first bucket */
	uint64_t now; /* time of the last event */
	uint64_t *live; /* process id - 1 → live bytes */
	struct live_peak peak;
	uint64_t most_pages; /* most rows that a file of this size can have */
	bool all;
};

static uint64_t *stat_of(struct subset_count *c, const struct replay_process *process,
			 const struct life *life)
{
	return tally(&c->stats, (uint64_t)process->id << 32 | life->stack,
		     (uint64_t)life->vtable << 32 | life->tag);
}

static uint64_t *bucket_of(struct subset_count *c, const struct replay_process *process,
			   uint64_t time)
{
	if (!c->bucket_ns)
		c->bucket_ns = process->replay->duration / SUBSET_BUCKETS + 1;
	return tally(&c->buckets, process->id, time / c->bucket_ns);
}

static void note_size(uint64_t *stat, uint64_t size)
{
	if (stat[STAT_allocs] + stat[STAT_inherited] <= 1 || size < stat[STAT_min_size])
		stat[STAT_min_size] = size;
	if (size > stat[STAT_max_size])
		stat[STAT_max_size] = size;
}

static void count_age(struct subset_count *c, const struct replay_process *process,
		      const struct life *life, const struct life_death *death)
{
	uint32_t site = life->stack < c->stack_count ? c->site_of[life->stack] : 0;
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0, *row;
	unsigned bin = age ? 63 - (unsigned)__builtin_clzll(age) : 0;

	row = tally(&c->ages, (uint64_t)process->id << 32 | site,
		    (uint64_t)replay_type(process, life) << 8 | bin << 1 |
			    (death->end == LIFE_NEVER));
	row[AGE_COUNT] += replay_weight(process, life);
	row[AGE_BYTES] += life->size * replay_weight(process, life);
}

static void count_pages(struct subset_count *c, const struct replay_process *process,
			const struct life *life)
{
	uint64_t first = life->address >> PAGE_SHIFT,
		 last = block_last(life->address, life->size) >> PAGE_SHIFT,
		 end = life->address + life->size;

	last = last - first < STORE_BLOCK_PAGES ? last : first + STORE_BLOCK_PAGES - 1;
	for (uint64_t page = first; page <= last && c->pages.count <= c->most_pages; page++) {
		uint64_t *row = tally(&c->pages, process->id, page), from = page << PAGE_SHIFT,
			 to = from + PAGE_BYTES;

		row[PAGE_BLOCKS]++;
		row[PAGE_LIVE_BYTES] +=
			(end < to ? end : to) - (life->address > from ? life->address : from);
	}
}

/* The process's live blocks and bytes grow by that much from `time` on. */
static void change_live(struct subset_count *c, const struct replay_process *process, uint64_t time,
			uint64_t blocks, uint64_t bytes)
{
	uint64_t *bucket = bucket_of(c, process, time), *now;

	if (!c->live)
		c->live = mem_zero(process->replay->process_count + 1, sizeof(*c->live));
	now = &c->live[process->id - 1];
	*now += bytes;
	bucket[BUCKET_LIVE] += blocks;
	bucket[BUCKET_LIVE_BYTES] += bytes;
	bucket[BUCKET_MOST_BYTES] =
		*now > bucket[BUCKET_MOST_BYTES] ? *now : bucket[BUCKET_MOST_BYTES];
}

static void on_birth(void *context, const struct replay_process *process, const struct life *life)
{
	struct subset_count *c = context;
	uint64_t *bucket = bucket_of(c, process, life->birth);
	uint64_t blocks = replay_weight(process, life);

	c->now = life->birth;
	bucket[BUCKET_ALLOCS] += blocks;
	bucket[BUCKET_ALLOC_BYTES] += life->size * blocks;
	change_live(c, process, life->birth, blocks, life->size * blocks);
}

/* Counts a block that lived at the peak so far, as stats.h does; `bytes` may be negative. */
static void count_at_peak(const struct subset_count *c, const struct life *life, uint64_t *stat,
			  uint64_t blocks, uint64_t bytes)
{
	if (life->inherited || life->birth > c->peak.time)
		return;
	if (stat[STAT_round] != c->peak.most.bytes)
		stat[STAT_at_peak] = stat[STAT_at_peak_bytes] = stat[STAT_at_peak_variance] =
			stat[STAT_at_peak_bytes_variance] = 0;
	stat[STAT_round] = c->peak.most.bytes;
	stat[STAT_at_peak] += blocks;
	stat[STAT_at_peak_bytes] += bytes;
	if (blocks > 1)
		estimate_vary(&stat[STAT_at_peak_variance], &stat[STAT_at_peak_bytes_variance],
			      life->size, blocks);
}

static void on_resize(void *context, const struct replay_process *process, const struct life *life,
		      uint64_t before)
{
	struct subset_count *c = context;
	uint64_t now = c->now > life->birth ? c->now : life->birth, *bucket;

	if (life->inherited)
		return;
	/* the block's end adds the rest */
	if (before > life->size)
		stat_of(c, process, life)[STAT_bytes] += before - life->size;
	count_at_peak(c, life, stat_of(c, process, life), 0, before - life->size);
	if (!c->all)
		return;
	bucket = bucket_of(c, process, now);
	bucket[BUCKET_ALLOC_BYTES] += life->size > before ? life->size - before : 0;
	bucket[BUCKET_FREE_BYTES] += before > life->size ? before - life->size : 0;
	change_live(c, process, now, 0, life->size - before);
}

/* Adds a block of a sample to the variances of its row's sums; `held`: the one of those that never
 * ended, STAT_SUMS: it ended. Behind each stands that of the bytes. */
static void vary(uint64_t *stat, uint64_t size, uint64_t blocks, unsigned held)
{
	estimate_vary(&stat[STAT_allocs_variance], &stat[STAT_bytes_variance], size, blocks);
	if (held != STAT_SUMS)
		estimate_vary(&stat[held], &stat[held + 1], size, blocks);
}

/* Counts a block at its end, or at the recording's: its type is known by then, and its size is the
 * last, as in the file. */
static void on_death(void *context, const struct replay_process *process, const struct life *life,
		     const struct life_death *death)
{
	struct subset_count *c = context;
	uint64_t *stat = stat_of(c, process, life), *bucket;
	bool never = death->end == LIFE_NEVER;
	uint64_t blocks = replay_weight(process, life), bytes = life->size * blocks;

	stat[life->inherited ? STAT_inherited : STAT_allocs] += blocks;
	stat[life->inherited ? STAT_inherited_bytes : STAT_bytes] += bytes;
	stat[STAT_reallocs] += life->realloced && !life->inherited ? blocks : 0;
	stat[STAT_frees] += never ? 0 : blocks;
	stat[STAT_inherited_frees] += !never && life->inherited ? blocks : 0;
	stat[STAT_reused] += death->end == LIFE_REUSED ? blocks : 0;
	stat[STAT_released] += death->end == LIFE_RELEASED ? blocks : 0;
	if (never && !life->inherited) {
		stat[process->early ? STAT_abandoned : STAT_live] += blocks;
		stat[process->early ? STAT_abandoned_bytes : STAT_live_bytes] += bytes;
	}
	if (blocks != 1 && !life->inherited)
		vary(stat, life->size, blocks, !never	      ? STAT_SUMS
					       : process->early ? STAT_abandoned_variance
								: STAT_live_variance);
	if (!never || !process->early || c->peak.time < process->end)
		count_at_peak(c, life, stat, blocks, bytes);
	note_size(stat, life->size);
	stat[STAT_api] = life->api;
	stat[STAT_type] = replay_type(process, life);
	if (!c->all)
		return;
	if (!life->inherited)
		count_age(c, process, life, death);
	if (never && !process->early)
		count_pages(c, process, life);
	if (never) /* live to its process's end, as readers of buckets know */
		return;
	c->now = death->time;
	bucket = bucket_of(c, process, death->time);
	bucket[BUCKET_FREES] += blocks;
	if (life->inherited)
		return;
	bucket[BUCKET_FREE_BYTES] += bytes;
	change_live(c, process, death->time, -blocks, -bytes);
}

/* ---- into tables ---- */

static struct shiny_err *execute(struct store *store, const char *sql)
{
	AUTO_QUERY struct query *q = NULL;
	bool row;

	SHINY_TRY(store_query(store, sql, &q));
	return query_step(q, &row);
}

/* Writes a key's two numbers as columns, those in `halves` as two of 32 bits each, such as process,
 * stack, vtable and tag. */
static void put_key(FILE *out, const uint64_t key[KEYS], unsigned halves)
{
	for (unsigned k = 0; k < KEYS; k++)
		if (halves & 1u << k)
			fprintf(out, "%s%" PRIu64 ",%" PRIu64, k ? "," : "", key[k] >> 32,
				key[k] & UINT32_MAX);
		else
			fprintf(out, "%s%" PRIu64, k ? "," : "", key[k]);
}

/* Inserts the rows, AT_ONCE in one statement. */
static struct shiny_err *put_rows(struct store *store, const char *table, const struct tallies *t,
				  unsigned halves)
{
	enum { AT_ONCE = 500 };

	for (size_t at = 0; at < t->count; at += AT_ONCE) {
		AUTO_FREE char *sql = NULL;
		size_t size, end = at + AT_ONCE < t->count ? at + AT_ONCE : t->count;
		FILE *out = mem_stream_open(&sql, &size);

		fprintf(out, "INSERT INTO temp.%s VALUES ", table);
		for (size_t i = at; i < end; i++) {
			const uint64_t *row = row_at(t, i);

			putc(i > at ? ',' : ' ', out);
			putc('(', out);
			put_key(out, row, halves);
			for (size_t n = 0; n < t->width; n++)
				fprintf(out, ",%" PRId64, (int64_t)row[KEYS + n]);
			putc(')', out);
		}
		mem_stream_close(out);
		SHINY_TRY(execute(store, sql));
	}
	return NULL;
}

/* The columns of a counted row's sums, in the order of the STAT_ enum. */
#define COUNTED SUMS_NAMES ", reused, released, max_size, min_size"

#define SAME_BLOCKS "m.process = n.process AND m.stack = n.stack AND m.vtable = n.vtable"

/* A vtable without a row in the file was no vptr: its blocks count with those without one. */
static struct shiny_err *make_stat(struct store *store, const struct subset_count *c)
{
	AUTO_FREE char *round = mem_format("UPDATE temp.counted_stat SET at_peak = 0, "
					   "at_peak_bytes = 0 WHERE round <> %" PRIu64,
					   c->peak.most.bytes);

	SHINY_TRY(execute(
		store, "CREATE TEMP TABLE counted_stat (process, stack, vtable, tag, " COUNTED
		       ", api, type, round)"));
	SHINY_TRY(put_rows(store, "counted_stat", &c->stats, 3));
	SHINY_TRY(execute(store, round));
	SHINY_TRY(execute(store, "DROP VIEW temp.stat"));
	SHINY_TRY(execute(store,
			  "CREATE TEMP TABLE stat AS SELECT process, stack, CASE WHEN reading IS "
			  "NULL THEN 0 ELSE vtable END AS vtable, tag, " COUNTED
			  ", api, type, COALESCE(reading, 0) AS reading, 0 AS size_step FROM "
			  "(SELECT n.*, COALESCE((SELECT m.how >> 5 FROM stat_short m "
			  "WHERE " SAME_BLOCKS "), (SELECT m.reading FROM stat_long m WHERE "
			  SAME_BLOCKS " LIMIT 1)) AS reading FROM temp.counted_stat n)"));
	return NULL;
}

static struct shiny_err *make_others(struct store *store, const struct filter *filter,
				     const struct subset_count *c)
{
	char *buckets, *peak;
	struct shiny_err *err;

	SHINY_TRY(execute(store, "CREATE TEMP TABLE site_stat AS SELECT process, COALESCE((SELECT "
				 "x.site FROM stack x WHERE x.id = s.stack), 0) AS site, type, "
				 "vtable, reading, tag, " SUMS_SQL
				 ", SUM(s.reused) AS reused, SUM(s.released) AS released, "
				 "MAX(s.max_size) AS max_size, MIN(s.min_size) AS min_size"
				 " FROM temp.stat s GROUP BY 1, 2, 3, 4, 5, 6"));
	SHINY_TRY(execute(
		store, "CREATE TEMP TABLE counted_lifetime (process, site, what, count, bytes)"));
	SHINY_TRY(put_rows(store, "counted_lifetime", &c->ages, 1));
	SHINY_TRY(execute(store, "CREATE TEMP TABLE lifetime AS SELECT process, site, what >> 8 AS "
				 "type, what >> 1 & 127 AS bin, what & 1 AS censored, count, bytes "
				 "FROM temp.counted_lifetime"));
	SHINY_TRY(execute(store, "CREATE TEMP TABLE page (process, page, blocks, live_bytes)"));
	SHINY_TRY(put_rows(store, "page", &c->pages, 0));
	SHINY_TRY(execute(store,
			  "CREATE TEMP TABLE counted_bucket (process, number, allocs, frees, "
			  "alloc_bytes, free_bytes, blocks, bytes, most)"));
	SHINY_TRY(put_rows(store, "counted_bucket", &c->buckets, 0));
	buckets =
		mem_format("CREATE TEMP TABLE bucket AS SELECT process, number * %1$" PRIu64
			   " AS start_ns, %1$" PRIu64 " AS length_ns, allocs, frees, alloc_bytes, "
			   "free_bytes, SUM(blocks) OVER w AS live_blocks, SUM(bytes) OVER w AS "
			   "live_bytes, MAX(most, SUM(bytes) OVER w - bytes) AS most_bytes "
			   "FROM temp.counted_bucket "
			   "WINDOW w AS (PARTITION BY process ORDER BY number)",
			   c->bucket_ns);
	err = execute(store, buckets);
	free(buckets);
	SHINY_TRY(err);
	peak = mem_format("CREATE TEMP TABLE session_peak AS SELECT %4$u AS id, %1$" PRIu64
			  " AS blocks, %2$" PRIu64 " AS bytes, %3$" PRIu64 " AS ns, %3$" PRIu64
			  " AS running_ns",
			  c->peak.most.blocks, c->peak.most.bytes, c->peak.time, filter->level);
	err = execute(store, peak);
	free(peak);
	SHINY_TRY(err);
	if (filter_timed(filter))
		SHINY_TRY(execute(store,
				  "CREATE TEMP TABLE peak AS SELECT * FROM main.peak WHERE 0"));
	return NULL;
}

static struct shiny_err *load_sites(struct store *store, struct subset_count *c)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, "SELECT id, site FROM stack WHERE site > 0", &q);

	c->stack_count = store_ids(store, "stack");
	c->site_of = mem_zero(c->stack_count, sizeof(*c->site_of));
	QUERY_EACH (q, err)
		c->site_of[query_id(q, 0, c->stack_count)] =
			query_id(q, 1, store_ids(store, "site"));
	c->site_of[0] = 0;
	return err;
}

static struct shiny_err *make_store(struct store *store, const struct filter *filter,
				    const struct subset_count *c, struct store **out)
{
	struct store *subset;
	struct shiny_err *err;

	SHINY_TRY(store_open_again(store, &subset));
	err = make_stat(subset, c);
	if (!err && c->all)
		err = make_others(subset, filter, c);
	if (err)
		store_close(subset);
	else
		*out = subset;
	return err;
}

struct shiny_err *subset_open(struct store *store, const struct filter *filter, enum subset what,
			      const char *title, struct store **out)
{
	struct subset_count c = { .stats.width = STAT_SUMS,
				  .ages.width = AGE_SUMS,
				  .pages.width = PAGE_SUMS,
				  .buckets.width = BUCKET_SUMS,
				  .all = what == SUBSET_ALL,
				  .most_pages = store_bound(store, PAGES_AT_LEAST, PAGES_A_BYTE) };
	struct replay_observer observers[] = {
		{ .context = &c, .death = on_death, .resize = on_resize },
		live_peak_observer(&c.peak)
	};
	struct shiny_err *err = NULL;

	if (c.all) {
		observers[0].birth = on_birth;
		err = load_sites(store, &c);
	}
	if (!err)
		err = replay_run(store, filter, observers, 2, title);
	if (!err && c.pages.count > c.most_pages)
		err = store_too_much(store);
	if (!err)
		err = make_store(store, filter, &c, out);
	tallies_deinit(&c.stats);
	tallies_deinit(&c.ages);
	tallies_deinit(&c.pages);
	tallies_deinit(&c.buckets);
	live_peak_deinit(&c.peak);
	free(c.live);
	free(c.site_of);
	return err;
}
