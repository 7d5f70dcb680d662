/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c: see counts.h. */
#include "counts.h"

#include <stdlib.h>

#include "../base/cleanup.h"
#include "../store/store.h"
#include "json_stream.h"

uint32_t counts_name(struct counts *counts, const char *text, size_t length)
{
	char name[COUNTS_NAME];

	json_stream_copy(name, sizeof(name), text, length);
	return texts_put(&counts->names, name) + 1;
}

struct counts_dump *counts_add(struct counts *counts)
{
	struct counts_dump *dump = mem_zero(1, sizeof(*dump));

	*vec_push(&counts->dumps) = dump;
	return dump;
}

void counts_drop(struct counts *counts, size_t from)
{
	for (size_t i = from; i < counts->dumps.count; i++) {
		free(counts->dumps.at[i]->rows.at);
		free(counts->dumps.at[i]);
	}
	counts->dumps.count = from < counts->dumps.count ? from : counts->dumps.count;
}

void counts_deinit(struct counts *counts)
{
	counts_drop(counts, 0);
	free(counts->dumps.at);
	texts_deinit(&counts->names);
}

static struct shiny_err *put(const struct counts *counts, struct store *store)
{
	for (uint32_t i = 0; i < counts->names.count; i++)
		SHINY_TRY(store_put_browser_name(store, i + 1, counts->names.at[i]));
	for (size_t i = 0; i < counts->dumps.count; i++) {
		const struct counts_dump *dump = counts->dumps.at[i];
		uint32_t id = (uint32_t)i + 1;

		SHINY_TRY(store_put_browser_sample(store, id, dump->snapshot, dump->pid, dump->time,
						   dump->title));
		for (size_t k = 0; k < dump->rows.count; k++) {
			const struct count_row *row = &dump->rows.at[k];

			if (row->kind)
				SHINY_TRY(store_put_browser_objects(store, id, row->kind, row->name,
								    row->count, row->bytes));
			else
				SHINY_TRY(store_put_browser_allocator(store, id, row->name,
								      row->bytes, row->effective,
								      row->count));
		}
	}
	return NULL;
}

struct shiny_err *counts_store(const struct counts *counts, const char *path)
{
	struct store *store;
	struct shiny_err *err = store_append(path, &store);

	if (err)
		return err;
	err = put(counts, store);
	if (!err)
		err = store_commit(store);
	store_abandon(store);
	return err;
}
