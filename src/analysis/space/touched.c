/* SPDX-License-Identifier: Apache-2.0 */
/* touched.c: see touched.h. */
#include "touched.h"

#include <stdlib.h>

#include "../../base/lower_bound.h"

static struct shiny_err *read_rows(struct store *store, const struct filter *filter,
				   struct touched *out)
{
	struct touched_reading *last = NULL;
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT s.process, s.from_ns, s.until_ns, s.start, s.end, s.pages, "
			     "s.touched FROM page_use s WHERE %s AND s.until_ns > s.from_ns "
			     "ORDER BY s.process, s.from_ns, s.until_ns, s.start",
			     filter->where);

	QUERY_EACH (q, err) {
		uint32_t process = (uint32_t)query_number(q, 0);
		uint64_t from = (uint64_t)query_number(q, 1), until = (uint64_t)query_number(q, 2);

		if (!last || last->process != process || last->from != from ||
		    last->until != until) {
			last = vec_push(&out->readings);
			*last = (struct touched_reading){ process, from, until, out->mappings.count,
							  0 };
		}
		last->count++;
		*vec_push(&out->mappings) = (struct touched_mapping){
			(uint64_t)query_number(q, 3), (uint64_t)query_number(q, 4),
			(uint64_t)query_number(q, 5), (uint64_t)query_number(q, 6)
		};
	}
	return err;
}

struct shiny_err *touched_load(struct store *store, const struct filter *filter,
			       struct touched *out)
{
	AUTO_QUERY struct query *q = NULL;
	SHINY_CLEANUP(touched_deinit) struct touched touched = { 0 };

	*out = (struct touched){ 0 };
	SHINY_TRY(store_query(store, "SELECT 1 FROM session WHERE key = 'access_pages'", &q));
	SHINY_TRY(query_step(q, &touched.recorded));
	SHINY_TRY(access_times_load(store, "access_pages_on", &touched.on));
	SHINY_TRY(read_rows(store, filter, &touched));
	*out = shiny_steal(touched);
	return NULL;
}

void touched_deinit(struct touched *touched)
{
	free(touched->mappings.at);
	free(touched->readings.at);
	access_times_deinit(&touched->on);
	*touched = (struct touched){ 0 };
}

const struct touched_reading *touched_at(const struct touched *t, uint32_t process, uint64_t time)
{
	const struct touched_reading *r;
	size_t at = lower_bound(t->readings.count, i,
				t->readings.at[i].process < process ||
					(t->readings.at[i].process == process &&
					 t->readings.at[i].from <= time));

	while (at-- > 0 && (r = &t->readings.at[at])->process == process)
		if (r->until - r->from >= TOUCHED_LEAST)
			return access_times_hold(&t->on, r->from, time) ? r : NULL;
	return NULL;
}

bool touched_never(const struct touched *t, const struct touched_reading *r, uint64_t address,
		   uint64_t size, uint64_t birth)
{
	const struct touched_mapping *m;
	size_t at;

	if (!r || birth > r->until)
		return false;
	m = t->mappings.at + r->first;
	at = lower_bound(r->count, i, m[i].end <= address);
	return at < r->count && m[at].start <= address && size <= m[at].end - address &&
	       !m[at].touched;
}

void touched_sum(const struct touched *t, uint64_t time, struct touched_sums *out)
{
	*out = (struct touched_sums){ 0 };
	for (size_t i = 0; i < t->readings.count; i++) {
		const struct touched_reading *r = &t->readings.at[i];
		uint64_t length = r->until - r->from;

		if (r != touched_at(t, r->process, time))
			continue;
		out->least = !out->processes || length < out->least ? length : out->least;
		out->most = length > out->most ? length : out->most;
		out->processes++;
		for (size_t k = r->first; k < r->first + r->count; k++) {
			const struct touched_mapping *m = &t->mappings.at[k];

			out->pages += m->pages;
			out->touched += m->touched;
			out->idle_pages += m->touched ? 0 : m->pages;
		}
	}
}
