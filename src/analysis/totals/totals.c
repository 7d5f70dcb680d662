/* SPDX-License-Identifier: Apache-2.0 */
#include "totals.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../store/contents.h"
#include "../replay/live_peak.h"

/* Runs a query of one row made of `before` and `where`; puts its columns into `out`. */
static struct shiny_err *numbers(struct store *store, const char *where, const char *before,
				 uint64_t *out, int count)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(store, &q, "%s%s", before, where);

	if (!err)
		err = query_step(q, &row);
	for (int i = 0; !err && row && i < count; i++)
		out[i] = (uint64_t)query_number(q, i);
	return err;
}

static struct shiny_err *load_what_ran(struct store *store, struct totals *out)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		store_query(store, "SELECT name, command FROM process ORDER BY id LIMIT 1", &q);

	if (!err)
		err = query_step(q, &row);
	if (!err) {
		out->program = mem_text(row ? query_text(q, 0) : "");
		out->command = mem_text(row ? query_text(q, 1) : "");
	}
	return err;
}

/* Raises out->times[] for the time `from` to `to` (ns), with `live` bytes. */
static void note_live(struct totals *out, uint64_t from, uint64_t to, int64_t live)
{
	double part = (double)out->duration / TOTALS_TIMES;

	for (size_t i = (size_t)((double)from / (part + 1));
	     live > 0 && i < TOTALS_TIMES && (double)i * part < (double)to; i++)
		if ((double)(i + 1) * part > (double)from && (uint64_t)live > out->times[i])
			out->times[i] = (uint64_t)live;
}

/*
 * Loads the course of the sum over the processes. A process has a bucket only for times with
 * events, so its last value holds until its next bucket: adds up the changes from bucket to bucket.
 * Buckets take 10 ms and more: shorter maxima are in most_bytes only.
 */
static struct shiny_err *load_course(struct store *store, const struct filter *filter,
				     struct totals *out)
{
	AUTO_QUERY struct query *q = NULL;
	int64_t now = 0;
	uint64_t since = 0;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT at, SUM(change) FROM (SELECT s.start_ns + s.length_ns AS at, s.live_bytes "
		"- LAG(s.live_bytes, 1, 0) OVER "
		"(PARTITION BY s.process ORDER BY s.start_ns) AS change FROM bucket s WHERE %s "
		"UNION ALL SELECT p.end_ns, -(SELECT b.live_bytes FROM bucket b WHERE b.process = "
		"p.id ORDER BY b.start_ns DESC LIMIT 1) "
		"FROM process p JOIN (SELECT p.id AS process FROM process p) s ON s.process = p.id "
		"WHERE p.early AND %s) "
		"GROUP BY at ORDER BY at",
		filter->where, filter->where);

	QUERY_EACH (q, err) {
		note_live(out, since, (uint64_t)query_number(q, 0), now);
		since = (uint64_t)query_number(q, 0);
		now += query_number(q, 1);
		if (now > 0 && (uint64_t)now > out->peak_bytes) {
			out->peak_bytes = (uint64_t)now;
			out->peak_at = (uint64_t)query_number(q, 0);
		}
	}
	note_live(out, since, out->duration, now);
	return err;
}

/* Finds the peak of some processes, which no table has, in the events. Without events, only the
 * buckets' peaks of single processes are known. */
static struct shiny_err *load_peak_of_some(struct store *store, const struct filter *filter,
					   uint64_t out[2])
{
	bool with_events;

	SHINY_TRY(contents_has_events(store, &with_events));
	return with_events ? live_peak_load(store, filter, "looking for the peak", &out[0], &out[1])
			   : numbers(store, filter->where,
				     "SELECT MAX(s.most_bytes), s.start_ns FROM bucket s WHERE ",
				     out, 2);
}

static struct shiny_err *load_peak(struct store *store, const struct filter *filter,
				   struct totals *out)
{
	bool all = filter_is_subset(filter) || filter->whole;
	uint64_t n[3] = { 0 };
	struct shiny_err *err = load_course(store, filter, out);

	if (!err)
		err = numbers(store, filter->level == 2 ? "2" : "1",
			      "SELECT k.bytes, k.ns, k.running_ns FROM session_peak k WHERE "
			      "k.id = ",
			      n, 3);
	out->at_peak_ns = n[2];
	n[0] = all ? n[0] : 0;
	if (!err && !all)
		err = load_peak_of_some(store, filter, n);
	if (err || !n[0])
		return err;
	out->peak_bytes = n[0];
	out->peak_at = n[1] < out->duration ? n[1] : out->duration;
	note_live(out, out->peak_at ? out->peak_at - 1 : 0, out->peak_at + 1, (int64_t)n[0]);
	return NULL;
}

struct shiny_err *totals_load(struct store *store, const struct filter *filter, struct totals *out)
{
	SHINY_CLEANUP(totals_deinit) struct totals s = { .program = NULL };
	AUTO_QUERY struct query *q = NULL;
	uint64_t n[5] = { 0 };
	bool row = false;

	SHINY_TRY(load_what_ran(store, &s));
	SHINY_TRY(numbers(store, "",
			  "SELECT (SELECT value FROM v_session WHERE key = 'started_ns'), "
			  "COALESCE((SELECT value FROM v_session "
			  "WHERE key = 'duration_ns'), (SELECT MAX(MAX(start_ns, end_ns)) FROM "
			  "process)), "
			  "(SELECT user_version FROM pragma_user_version), (SELECT COUNT(id) "
			  "FROM stack)",
			  n, 4));
	s.started = n[0];
	s.duration = n[1];
	s.schema_version = n[2];
	s.stacks = n[3];
	SHINY_TRY(
		numbers(store, filter->where,
			"SELECT COUNT(*), SUM(s.events), SUM(s.threads) FROM v_processes s WHERE ",
			n, 3));
	s.processes = n[0];
	s.events = n[1];
	s.threads = n[2];
	SHINY_TRY(numbers(store, filter_blocks(filter),
			  "SELECT COUNT(DISTINCT CASE WHEN y.confidence <> 'label' THEN y.name "
			  "END), COUNT(DISTINCT NULLIF(s.vtable, 0)), "
			  "SUM(CASE WHEN y.confidence <> 'label' THEN s.allocs ELSE 0 END), "
			  "COUNT(DISTINCT NULLIF(s.site, 0)), "
			  "COUNT(DISTINCT CASE WHEN y.confidence = 'label' THEN y.name END) "
			  "FROM site_stat s LEFT JOIN type y ON y.id = s.type "
			  "WHERE ",
			  n, 5));
	s.types = n[0];
	s.vtables = n[1];
	s.typed_allocs = n[2];
	s.sites = n[3];
	s.labels = n[4];
	SHINY_TRY(query_format(store, &q, "SELECT " SUMS_SQL " FROM site_stat s WHERE %s",
			       filter_blocks(filter)));
	SHINY_TRY(query_step(q, &row));
	if (row)
		sums_read(&s.sums, q, 0);
	SHINY_TRY(load_peak(store, filter, &s));
	*out = shiny_steal(s);
	return NULL;
}

void totals_deinit(struct totals *totals)
{
	free(totals->program);
	free(totals->command);
}
