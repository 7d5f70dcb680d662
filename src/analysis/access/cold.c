/* SPDX-License-Identifier: Apache-2.0 */
/* cold.c: see cold.h. */
#include "cold.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "access_sql.h"

#define MS UINT64_C(1000000)

const uint64_t cold_times[COLD_TIMES] = { 100 * MS, 1000 * MS, 10000 * MS };

enum { OF_BLOCKS, OF_BYTES, PICKS };

struct cold_watch {
	uint32_t group;
	uint8_t pick;
	struct use_watch use;
};

struct cold_count {
	const struct groups *groups;
	struct cold_row *rows; /* one for each group */
	VEC(struct cold_watch) watches;
};

static uint32_t group_of(const struct groups *groups, uint32_t type, uint32_t stack)
{
	uint32_t id = groups->by == GROUP_TYPE ? type : stack;

	return id < groups->of_count ? groups->of[id] : 0;
}

/* ---- the tables ---- */

static struct shiny_err *read_live(struct store *store, const struct filter *filter,
				   struct cold_count *c, struct cold *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT s.type, s.stack, SUM(s.live + s.abandoned), "
			     "SUM(s.live_bytes + s.abandoned_bytes) FROM stat s WHERE %s "
			     "GROUP BY s.type, s.stack",
			     filter_blocks(filter));

	QUERY_EACH (q, err) {
		struct cold_row *r = &c->rows[group_of(c->groups, (uint32_t)query_number(q, 0),
						       (uint32_t)query_number(q, 1))];

		r->live += (uint64_t)query_number(q, 2);
		r->live_bytes += (uint64_t)query_number(q, 3);
		out->live_bytes += (uint64_t)query_number(q, 3);
	}
	return err;
}

static struct shiny_err *read_watches(struct store *store, const struct filter *filter,
				      struct cold_count *c, struct cold *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT s.type, s.stack, s.pick, s.weight, s.ending = 'used', s.kind = 'write', "
		"s.until_ns - s.armed_ns, " ACCESS_TIME_SQL
		" FROM access s LEFT JOIN process p ON p.id = s.process WHERE %s",
		filter_blocks(filter));

	QUERY_EACH (q, err) {
		uint32_t group = group_of(c->groups, (uint32_t)query_number(q, 0),
					  (uint32_t)query_number(q, 1));
		int64_t weight = query_number(q, 3), watched = query_number(q, 6);
		int64_t time = query_number(q, 7);
		struct cold_row *r = &c->rows[group];
		struct use_watch use = { (uint64_t)time, (double)weight, query_number(q, 4) };

		if (weight <= 0 || watched < 0 || time < 0)
			continue;
		*vec_push(&c->watches) = (struct cold_watch){
			group, strcmp(query_text(q, 2), "byte") ? OF_BLOCKS : OF_BYTES, use
		};
		out->watched++;
		r->watched++;
		r->writes += use.used && query_number(q, 5);
		r->reads += use.used && !query_number(q, 5);
		if (!use.used && (uint64_t)watched > r->untouched)
			r->untouched = (uint64_t)watched;
	}
	return err;
}

/* ---- the estimates ---- */

ORDER_BY(by_group, struct cold_watch, ORDER_UP(group) ?: ORDER_UP(pick))

static void estimate_rows(struct cold_count *c)
{
	struct use_watch *uses = mem_zero(c->watches.count + 1, sizeof(*uses));
	const struct cold_watch *at = c->watches.at;

	if (c->watches.count)
		qsort(c->watches.at, c->watches.count, sizeof(*at), by_group);
	for (size_t from = 0, to; from < c->watches.count; from = to) {
		struct cold_row *r = &c->rows[at[from].group];
		struct use_share *shares = at[from].pick == OF_BLOCKS ? r->blocks : r->bytes;

		for (to = from; to < c->watches.count && !by_group(&at[from], &at[to]); to++)
			uses[to - from] = at[to].use;
		use_sort(uses, to - from);
		for (unsigned t = 0; t < COLD_TIMES; t++)
			shares[t] = use_share_within(uses, to - from, cold_times[t]);
	}
	free(uses);
}

ORDER_BY(by_pick, struct cold_watch, ORDER_UP(pick))

/* Treats all groups as one. */
static void estimate_total(struct cold_count *c, struct cold *out)
{
	struct use_watch *uses = mem_zero(c->watches.count + 1, sizeof(*uses));
	size_t blocks = 0;

	for (unsigned t = 0; t < COLD_TIMES; t++)
		out->blocks[t].high = out->bytes[t].high = 1;
	if (c->watches.count)
		qsort(c->watches.at, c->watches.count, sizeof(*c->watches.at), by_pick);
	for (size_t i = 0; i < c->watches.count; i++) {
		uses[i] = c->watches.at[i].use;
		blocks += c->watches.at[i].pick == OF_BLOCKS;
	}
	use_sort(uses, blocks);
	use_sort(uses + blocks, c->watches.count - blocks);
	for (unsigned t = 0; t < COLD_TIMES; t++) {
		out->blocks[t] = use_share_within(uses, blocks, cold_times[t]);
		out->bytes[t] =
			use_share_within(uses + blocks, c->watches.count - blocks, cold_times[t]);
	}
	free(uses);
}

static unsigned longest_known(const struct cold_count *c)
{
	unsigned within = COLD_TIMES;

	while (--within > 0) {
		size_t known = 0;

		for (size_t i = 0; i < c->watches.count; i++)
			known += c->watches.at[i].use.time >= cold_times[within] &&
				 c->watches.at[i].pick == OF_BYTES;
		if (known >= COLD_WATCHES)
			break;
	}
	return within;
}

ORDER_BY(by_cold, struct cold_row, ORDER_DOWN(cold_low) ?: ORDER_DOWN(cold) ?: ORDER_TEXT(name))

/* Keeps the rows with watched blocks, and names them; the bytes of the others count as unknown. */
static void keep_rows(struct cold_count *c, const char *match, struct cold *out)
{
	const struct groups *groups = c->groups;

	out->rows = mem_zero(groups->count + 1, sizeof(*out->rows));
	for (size_t i = 0; i < groups->count; i++) {
		struct cold_row *r = &c->rows[i];
		const struct use_share *used = &r->bytes[out->within];
		const struct use_share *touched = &r->blocks[out->within];
		double bytes = (double)r->live_bytes, blocks = (double)r->live;

		if (!r->watched)
			out->unknown_bytes += r->live_bytes;
		if (!r->watched || (match && !text_matches(match, groups->names[i])))
			continue;
		r->within = out->within;
		r->known = used->watches > 0;
		r->cold = r->known ? bytes * (1 - used->share) : 0;
		r->cold_low = bytes * (1 - used->high);
		r->cold_high = bytes * (1 - used->low);
		r->zombies = touched->watches > 0 ? blocks * (1 - touched->share) : 0;
		r->zombies_low = blocks * (1 - touched->high);
		r->zombies_high = blocks * (1 - touched->low);
		r->name = mem_text(groups->names[i]);
		if (groups->full_names && groups->full_names[i])
			r->full_name = mem_text(groups->full_names[i]);
		out->rows[out->count++] = *r;
	}
	qsort(out->rows, out->count, sizeof(*out->rows), by_cold);
}

struct shiny_err *cold_watched(struct store *store, bool *watched)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT EXISTS (SELECT 1 FROM access)", &q);

	if (!err && !(err = query_step(q, &row)) && row)
		*watched = query_number(q, 0) != 0;
	return err;
}

struct shiny_err *cold_load(struct store *store, const struct filter *filter, enum group_by by,
			    const char *match, bool full_names, unsigned within, struct cold *out)
{
	struct groups groups;
	struct cold_count c = { .groups = &groups };
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	*out = (struct cold){ 0 };
	SHINY_TRY(groups_load(store, by, full_names, &groups));
	c.rows = mem_zero(groups.count + 1, sizeof(*c.rows));
	for (size_t i = 0; i < groups.count; i++)
		for (unsigned t = 0; t < COLD_TIMES; t++)
			c.rows[i].blocks[t].high = c.rows[i].bytes[t].high = 1;
	err = store_query(store, "SELECT 1 FROM session WHERE key = 'access_watched'", &q);
	if (!err)
		err = query_step(q, &row);
	query_end(q);
	out->recorded = !err && row;
	if (!err)
		err = access_times_load(store, "access_watch_on", &out->on);
	if (!err)
		err = read_live(store, filter, &c, out);
	if (!err)
		err = read_watches(store, filter, &c, out);
	if (!err) {
		out->within = within < COLD_TIMES ? within : longest_known(&c);
		estimate_rows(&c);
		estimate_total(&c, out);
		keep_rows(&c, match, out);
	}
	free(c.rows);
	free(c.watches.at);
	groups_deinit(&groups);
	if (err)
		cold_deinit(out);
	return err;
}

struct cold_zombies cold_zombies(const struct cold *cold)
{
	struct cold_zombies sum = { 0 };

	for (size_t i = 0; i < cold->count; i++) {
		const struct cold_row *r = &cold->rows[i];

		if (!(r->blocks[cold->within].watches > 0))
			continue;
		sum.about += r->zombies;
		sum.low += r->zombies_low;
		sum.high += r->zombies_high;
		sum.known += r->live;
	}
	return sum;
}

ORDER_BY(by_name, struct cold_row, ORDER_TEXT(name))

void cold_sort_by_name(struct cold *cold)
{
	if (cold->count)
		qsort(cold->rows, cold->count, sizeof(*cold->rows), by_name);
}

const struct cold_row *cold_find(const struct cold *cold, const char *name)
{
	size_t from = 0, to = cold->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(name, cold->rows[middle].name);

		if (!order)
			return &cold->rows[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

void cold_deinit(struct cold *cold)
{
	for (size_t i = 0; i < cold->count; i++) {
		free(cold->rows[i].name);
		free(cold->rows[i].full_name);
	}
	free(cold->rows);
	access_times_deinit(&cold->on);
	*cold = (struct cold){ 0 };
}
