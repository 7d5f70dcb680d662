/* SPDX-License-Identifier: Apache-2.0 */
/* type_query.c: see type_query.h. */
#include "type_query.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/text.h"
#include "type_name.h"

/* The ranks of a match between a type's name and a text; smaller is better. */
enum { TYPE_WHOLE, TYPE_SHORT, TYPE_PART, TYPE_RANKS };

static unsigned type_rank(const char *text, const char *name)
{
	char *brief = type_name_short(name);
	unsigned rank = strcmp(name, text) == 0	 ? TYPE_WHOLE
			: strcmp(brief, text) == 0 ? TYPE_SHORT
			: text_matches(text, name) || text_matches(text, brief) ? TYPE_PART
										: TYPE_RANKS;

	free(brief);
	return rank;
}

struct shiny_err *type_query_find(struct store *store, const char *text, type_names_t *out)
{
	unsigned best = TYPE_PART;
	type_names_t names = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT DISTINCT name FROM type WHERE confidence <> 'label' ORDER BY name",
		&q);

	QUERY_EACH (q, err) {
		const char *name = query_text(q, 0);
		unsigned rank = type_rank(text, name);

		if (rank > best)
			continue;
		if (rank < best)
			type_names_deinit(&names);
		best = rank;
		*vec_push(&names) = mem_text(name);
	}
	if (err)
		type_names_deinit(&names);
	else
		*out = names;
	return err;
}

void type_names_deinit(type_names_t *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->at[i]);
	free(names->at);
	*names = (type_names_t){ 0 };
}

struct shiny_err *type_query_objects(struct store *store, const struct filter *filter,
				     const char *name, uint64_t bytes, struct type_objects *out)
{
	struct type_objects objects = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT y.form IN ('array', 'buffer'), y.confidence IN ('exact', "
			     "'high') AND NOT y.or_derived, " SUMS_SQL
			     " FROM site_stat s JOIN type y ON y.id = s.type WHERE y.name = ? AND "
			     "y.confidence <> 'label' AND %s GROUP BY 1, 2",
			     filter_blocks(filter));

	if (!err)
		query_bind_text(q, 1, name);
	QUERY_EACH (q, err) {
		bool many = query_number(q, 0) != 0 && bytes;
		struct sums sums;

		sums_read(&sums, q, 2);
		if (!query_number(q, 1)) {
			objects.guessed += sums.allocs;
			continue;
		}
		objects.live_blocks += sums.live;
		objects.alloc_blocks += sums.allocs;
		objects.live += many ? sums.live_bytes / bytes : sums.live;
		objects.allocs += many ? sums.bytes / bytes : sums.allocs;
	}
	if (!err)
		*out = objects;
	return err;
}
