/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

#include <stdlib.h>

#include "../../base/capped.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../store/contents.h"

static void add_row(struct losses *losses, const struct loss_row *row)
{
	*(struct loss_row *)rows_push(&losses->rows, &losses->count, &losses->room, sizeof(*row)) =
		*row;
	if (!row->loss)
		return;
	losses->lost = capped_sum(losses->lost, row->count);
	loss_add(&losses->sum, row->name, row->count);
}

/* Adds the row of the references that this reader found to lead nowhere: the session itself does
 * not count them. */
static struct shiny_err *add_astray(struct store *store, struct losses *losses)
{
	static const char name[] = "ASTRAY";
	const struct loss_kind *kind = loss_kind(name);
	uint64_t count;

	SHINY_TRY(store_astray(store, false, &count));
	if (count)
		add_row(losses, &(struct loss_row){ mem_text(name), mem_text(kind->text),
						    kind->advice, true, count });
	return NULL;
}

struct shiny_err *losses_load(struct store *store, struct losses *out)
{
	SHINY_CLEANUP(losses_deinit) struct losses losses = { 0 };
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = add_astray(store, &losses);

	if (!err)
		err = store_query(
			store,
			"SELECT name, MAX(text), weight = 'loss', " STORE_SUM(
				"count") " FROM v_counters GROUP BY name, weight "
					 "HAVING total(count) > 0 ORDER BY 3 DESC, 4 DESC",
			&q);
	QUERY_EACH (q, err) {
		struct loss_row loss = { .name = query_copy(q, 0),
					 .text = query_copy(q, 1),
					 .loss = query_number(q, 2) != 0,
					 .count = (uint64_t)query_number(q, 3) };
		const struct loss_kind *kind = loss_kind(loss.name);

		loss.advice = kind ? kind->advice : NULL;
		add_row(&losses, &loss);
	}
	query_end(q);
	q = NULL;
	if (!err)
		err = store_query(
			store,
			"SELECT COUNT(*) FROM v_session WHERE key = 'complete' AND value <> 0", &q);
	if (!err && !(err = query_step(q, &row)))
		losses.incomplete = !row || query_number(q, 0) == 0;
	losses.sum.cut_short = losses.sum.cut_short || losses.incomplete;
	query_end(q);
	if (!err && losses.incomplete)
		err = contents_event_count(store, &losses.events);
	if (!err)
		err = contents_kept(store, &losses.kept_from, &losses.duration);
	if (!err)
		err = contents_sample(store, &losses.sample, &losses.sample_changes);
	if (err)
		return err;
	*out = shiny_steal(losses);
	return NULL;
}

void losses_deinit(struct losses *losses)
{
	for (size_t i = 0; i < losses->count; i++) {
		free(losses->rows[i].name);
		free(losses->rows[i].text);
	}
	free(losses->rows);
}
