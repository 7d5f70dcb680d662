/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_events.c: replays the events of a session's blocks; see store.h.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "contents.h"
#include "guard.h"
#include "unpack_ahead.h"

/* The densest recordings, of loops that do nothing else, have six events a byte; a malicious block
 * has thousands. */
enum { EVENTS_AT_LEAST = 4 << 20, EVENTS_A_BYTE = 16 };

/* The range of blocks to read, and the receiver of their events. */
struct reading {
	uint32_t process; /* 0: all */
	uint64_t from, to;
	int64_t after, last; /* ids of blocks; last 0: no bound */
	uint64_t left; /* remaining events that a file of this size can hold */
	store_batch_fn *each;
	void *context;
};

/* A block being unpacked, with the values of its row. */
struct block_row {
	int64_t id, count;
};

/* Passes on the events of the earliest block. */
static struct shiny_err *read_block(struct store *store, struct unpack_ahead *ahead,
				    const struct block_row *row, struct reading *reading,
				    bool *stopped)
{
	AUTO_ERR struct shiny_err *err = NULL;
	const struct event *events;
	uint64_t seen = 0;
	size_t count;

	while (!(err = unpack_ahead_take(ahead, &events, &count)) && count) {
		if (reading->left < count)
			return store_too_much(store);
		reading->left -= count;
		seen += count;
		*stopped = !reading->each(reading->context, events, count);
		if (*stopped)
			return NULL;
	}
	if (!err && (int64_t)seen != row->count)
		err = shiny_err(SHINY_ERR_OTHER,
				"it holds another number of events than it should");
	if (!err)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: event block %" PRId64
					  " is damaged: %s",
					  store->path, row->id, err->message),
				"the totals and lists of this session do not need its events and "
				"can still be shown");
}

static struct shiny_err *each_block(struct store *store, struct query *query,
				    struct unpack_ahead *ahead, struct reading *reading)
{
	VEC(struct block_row) given = { 0 }; /* blocks given to `ahead` that have not ended */
	struct shiny_err *err = NULL;
	bool more = true, stopped = false;
	const void *data;
	size_t bytes;

	while (!err && !stopped) {
		while (!err && more && unpack_ahead_has_room(ahead)) {
			err = query_step(query, &more);
			if (err || !more)
				break;
			*vec_push(&given) = (struct block_row){ query_number(query, 0),
								query_number(query, 1) };
			data = query_blob(query, 2, &bytes);
			err = unpack_ahead_give(ahead, data, bytes);
		}
		if (err || !given.count)
			break;
		err = read_block(store, ahead, &given.at[0], reading, &stopped);
		memmove(given.at, given.at + 1, --given.count * sizeof(*given.at));
	}
	free(given.at);
	return err;
}

static uint32_t highest_id(const struct store *store, const char *table)
{
	size_t ids = store_ids(store, table) - 1;

	return ids < UINT32_MAX ? (uint32_t)ids : UINT32_MAX;
}

static struct block_ids ids_of(const struct store *store)
{
	return (struct block_ids){ .process = highest_id(store, "process"),
				   .thread = highest_id(store, "thread"),
				   .stack = highest_id(store, "stack"),
				   .vtable = highest_id(store, "vtable"),
				   .built = highest_id(store, "class"),
				   .tag = highest_id(store, "tag") };
}

static struct shiny_err *read_blocks(struct store *store, struct reading *reading)
{
	const struct block_ids highest = ids_of(store);
	struct unpack_ahead *ahead = NULL;
	uint64_t with_events;
	AUTO_QUERY struct query *query = NULL;
	struct shiny_err *err;

	SHINY_TRY(contents_number(store, "with_events", &with_events));
	if (with_events != 1)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER, "the session %s holds no events", store->path),
			"it was recorded with --no-events: record again without it");

	SHINY_TRY(store_query(store,
			      "SELECT id, count, data FROM events WHERE last_ns >= ?2 AND first_ns "
			      "<= ?3 AND (?1 = 0 OR id IN "
			      "(SELECT block FROM events_process WHERE process = ?1)) "
			      "AND id > ?4 AND (?5 = 0 OR id <= ?5) AND " STORE_EVENTS_READ
			      " ORDER BY id",
			      &query));
	query_bind_number(query, 1, reading->process);
	query_bind_number(query, 2, reading->from > INT64_MAX ? INT64_MAX : (int64_t)reading->from);
	query_bind_number(query, 3, reading->to > INT64_MAX ? INT64_MAX : (int64_t)reading->to);
	query_bind_number(query, 4, reading->after);
	query_bind_number(query, 5, reading->last);
	reading->left = store_bound(store, EVENTS_AT_LEAST, EVENTS_A_BYTE);
	err = unpack_ahead_create(&highest, &ahead);
	if (!err) {
		err = each_block(store, query, ahead, reading);
		guard_met(store, unpack_ahead_astray(ahead));
	}
	unpack_ahead_destroy(ahead);
	return err;
}

struct shiny_err *store_each_batch(struct store *store, store_batch_fn *each, void *context)
{
	return read_blocks(store,
			   &(struct reading){ .to = UINT64_MAX, .each = each, .context = context });
}

struct event_filter {
	struct reading reading;
	store_each_fn *each;
	void *context;
};

static bool each_wanted(void *context, const struct event *events, size_t count)
{
	struct event_filter *f = context;

	for (const struct event *e = events; e < events + count; e++)
		if ((!f->reading.process || e->process == f->reading.process) &&
		    e->time >= f->reading.from && e->time <= f->reading.to &&
		    !f->each(f->context, e))
			return false;
	return true;
}

struct shiny_err *store_each_event(struct store *store, uint32_t process, uint64_t from,
				   uint64_t to, store_each_fn *each, void *context)
{
	struct event_filter filter = { .reading = { .process = process,
						    .from = from,
						    .to = to,
						    .each = each_wanted,
						    .context = &filter },
				       .each = each,
				       .context = context };

	return read_blocks(store, &filter.reading);
}

struct shiny_err *store_each_event_between(struct store *store, uint64_t after, uint64_t last,
					   store_each_fn *each, void *context)
{
	struct event_filter filter = { .reading = { .to = UINT64_MAX,
						    .after = (int64_t)after,
						    .last = (int64_t)last,
						    .each = each_wanted,
						    .context = &filter },
				       .each = each,
				       .context = context };

	return last > after ? read_blocks(store, &filter.reading) : NULL;
}
