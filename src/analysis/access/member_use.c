/* SPDX-License-Identifier: Apache-2.0 */
/* member_use.c: see member_use.h. */
#include "member_use.h"

#include <stdlib.h>

#include "access_sql.h"

struct shiny_err *member_uses_load(struct store *store, const struct filter *filter,
				   const char *type, uint64_t bytes, struct member_uses *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT s.offset, s.bytes, s.weight, s.ending = 'used', " ACCESS_TIME_SQL
		" FROM access s JOIN type y ON y.id = s.type LEFT JOIN process p ON "
		"p.id = s.process WHERE s.pick = 'byte' AND y.name = ? AND y.form IN ('object', "
		"'buffer') AND y.confidence IN ('exact', 'high') AND NOT y.or_derived AND %s",
		filter_blocks(filter));

	*out = (struct member_uses){ 0 };
	if (!err)
		query_bind_text(q, 1, type);
	QUERY_EACH (q, err) {
		int64_t offset = query_number(q, 0), word = query_number(q, 1);
		int64_t weight = query_number(q, 2), time = query_number(q, 4);

		if (offset < 0 || word <= 0 || weight <= 0 || time < 0)
			continue;
		*vec_push(&out->watches) = (struct member_watch){
			(uint64_t)offset % bytes, (uint64_t)word,
			{ (uint64_t)time, (double)weight, query_number(q, 3) != 0 }
		};
	}
	out->uses = mem_zero(out->watches.count + 1, sizeof(*out->uses));
	if (err)
		member_uses_deinit(out);
	return err;
}

void member_uses_deinit(struct member_uses *u)
{
	free(u->watches.at);
	free(u->uses);
	*u = (struct member_uses){ 0 };
}

struct use_share member_uses_within(struct member_uses *u, uint64_t offset, uint64_t bytes,
				    uint64_t time)
{
	size_t count = 0;

	for (size_t i = 0; i < u->watches.count; i++) {
		const struct member_watch *w = &u->watches.at[i];

		if (w->offset < offset + bytes && offset < w->offset + w->bytes)
			u->uses[count++] = w->use;
	}
	use_sort(u->uses, count);
	return use_share_within(u->uses, count, time);
}
