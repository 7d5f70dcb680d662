/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c: see contents.h. */
#include "contents.h"

#include "../base/cleanup.h"

/* Reads the first column of the only row of `q`, and ends the query; 0: there is no row. */
static struct shiny_err *only_number(struct query *q, uint64_t *value)
{
	bool row = false;
	struct shiny_err *err = query_step(q, &row);

	*value = !err && row ? (uint64_t)query_number(q, 0) : 0;
	query_end(q);
	return err;
}

struct shiny_err *contents_number(struct store *store, const char *key, uint64_t *value)
{
	struct query *q;

	SHINY_TRY(store_query(store, "SELECT value FROM session WHERE key = ?", &q));
	query_bind_text(q, 1, key);
	return only_number(q, value);
}

struct shiny_err *contents_event_count(struct store *store, uint64_t *events)
{
	struct query *q;

	SHINY_TRY(store_query(store, "SELECT COALESCE(SUM(count), 0) FROM events", &q));
	return only_number(q, events);
}

struct shiny_err *contents_has_events(struct store *store, bool *any)
{
	uint64_t one = 0;
	struct query *q;

	SHINY_TRY(store_query(store, "SELECT EXISTS (SELECT 1 FROM events)", &q));
	SHINY_TRY(only_number(q, &one));
	*any = one != 0;
	return NULL;
}

struct shiny_err *contents_kept(struct store *store, uint64_t *from, uint64_t *duration)
{
	struct query *q;

	*duration = 0;
	SHINY_TRY(contents_number(store, "kept_from_ns", from));
	if (!*from)
		return NULL;
	SHINY_TRY(store_query(store,
			      "SELECT COALESCE((SELECT value FROM session WHERE key = "
			      "'duration_ns'), (SELECT MAX(last_ns) FROM events), 0)", &q));
	SHINY_TRY(only_number(q, duration));
	if (*duration < *from) /* nothing happened since */
		*duration = *from;
	return NULL;
}

struct shiny_err *contents_sample(struct store *store, uint64_t *mean, uint64_t *changes)
{
	struct query *q;

	SHINY_TRY(store_query(store,
			      "SELECT CASE WHEN MAX(sample) > 0 THEN MAX(MAX(sample), (SELECT "
			      "COALESCE(MAX(mean), 0) FROM sample_rate)) ELSE 0 END FROM process",
			      &q));
	SHINY_TRY(only_number(q, mean));
	if (!changes)
		return NULL;
	SHINY_TRY(store_query(store, "SELECT COUNT(*) FROM sample_rate", &q));
	return only_number(q, changes);
}

struct shiny_err *contents_last_block(struct store *store, uint64_t *block)
{
	struct query *q;

	SHINY_TRY(store_query(store, "SELECT COALESCE(MAX(id), 0) FROM events", &q));
	return only_number(q, block);
}

struct shiny_err *contents_each_running(struct store *store, contents_process_fn *each,
					void *context)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = NULL;

	SHINY_TRY(store_query(
		store, "SELECT pid FROM process WHERE ending = 'running' AND NOT within", &q));
	QUERY_EACH (q, err)
		if (!each(context, query_number(q, 0)))
			break;
	return err;
}
