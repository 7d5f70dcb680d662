/* SPDX-License-Identifier: Apache-2.0 */
/* access_times.c: see access_times.h. */
#include "access_times.h"

#include <stdlib.h>

/* Reads "FROM-UNTIL FROM-UNTIL"; stops at text of another form. */
static void read_times(const char *text, uint64_t duration, struct access_times *out)
{
	for (char *end; *text; text = *end == ' ' ? end + 1 : end) {
		uint64_t from = strtoull(text, &end, 10), until;

		if (end == text || *end != '-')
			return;
		text = end + 1;
		until = strtoull(text, &end, 10);
		if (end == text || until < from)
			return;
		out->sum += (until < duration ? until : duration) -
			    (from < duration ? from : duration);
		*vec_push(&out->at) =
			(struct access_time){ from, until < duration ? until : UINT64_MAX };
	}
}

struct shiny_err *access_times_load(struct store *store, const char *key, struct access_times *out)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT CAST(s.value AS TEXT), (SELECT value FROM session WHERE key = "
		"'duration_ns') FROM session s WHERE s.key = '%s'",
		key);

	*out = (struct access_times){ 0 };
	if (!err)
		err = query_step(q, &row);
	if (!err && row)
		read_times(query_text(q, 0), (uint64_t)query_number(q, 1), out);
	return err;
}

void access_times_deinit(struct access_times *times)
{
	free(times->at.at);
	*times = (struct access_times){ 0 };
}

bool access_times_hold(const struct access_times *times, uint64_t from, uint64_t until)
{
	for (size_t i = 0; i < times->at.count; i++)
		if (times->at.at[i].from <= from && until <= times->at.at[i].until)
			return true;
	return false;
}
