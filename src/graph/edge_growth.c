/* SPDX-License-Identifier: Apache-2.0 */
/* edge_growth.c: see edge_growth.h. */
#include "edge_growth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/row_order.h"

ORDER_BY(by_gain, struct edge_growth_row,
	 ORDER_DOWN(bytes_gained) ?: ORDER_DOWN(blocks_gained) ?: ORDER_TEXT(name))

/* Both lists are sorted by name, each name once. */
static void merge(const struct holders holders[2], struct edge_growth *out)
{
	const struct holder_row none = { 0 };
	size_t at[2] = { 0, 0 };

	out->rows = mem_zero(holders[0].count + holders[1].count + 1, sizeof(*out->rows));
	while (at[0] < holders[0].count || at[1] < holders[1].count) {
		struct edge_growth_row *row = &out->rows[out->count];
		const struct holder_row *before, *after;
		int order = at[0] == holders[0].count	? 1
			    : at[1] == holders[1].count ? -1
							: strcmp(holders[0].rows[at[0]].name,
								 holders[1].rows[at[1]].name);

		before = order <= 0 ? &holders[0].rows[at[0]++] : &none;
		after = order >= 0 ? &holders[1].rows[at[1]++] : &none;
		*row = (struct edge_growth_row){
			.blocks = after->blocks,
			.bytes = after->bytes,
			.blocks_gained = (int64_t)(after->blocks - before->blocks),
			.bytes_gained = (int64_t)(after->bytes - before->bytes),
		};
		if (row->blocks_gained || row->bytes_gained) {
			row->name = mem_text(order <= 0 ? before->name : after->name);
			out->count++;
		} else {
			out->unchanged++;
		}
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_gain);
}

struct shiny_err *edge_growth_load(struct store *store, const struct filter *filter,
				   const uint32_t snapshots[2], bool full_names,
				   struct edge_growth *out)
{
	struct holders holders[2] = { 0 };
	struct shiny_err *err = NULL;

	for (unsigned s = 0; s < 2 && !err; s++)
		err = holders_load(store, filter, snapshots[s], full_names, &holders[s]);
	if (!err &&
	    (holders[0].facts.process != holders[1].facts.process || snapshots[0] == snapshots[1]))
		err = shiny_err(SHINY_ERR_USAGE,
				"snapshots %" PRIu32 " and %" PRIu32 " are not two of one process",
				snapshots[0], snapshots[1]);
	if (!err) {
		*out = (struct edge_growth){ .facts = { holders[0].facts, holders[1].facts } };
		merge(holders, out);
	}
	for (unsigned s = 0; s < 2; s++)
		holders_deinit(&holders[s]);
	return err;
}

void edge_growth_deinit(struct edge_growth *growth)
{
	rows_free(growth->rows, growth->count, name);
	*growth = (struct edge_growth){ 0 };
}
