/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_delta.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/hash_bytes.h"
#include "../base/row_order.h"

struct delta_row {
	struct profile_row row;
	struct profile_sample *sample;
};
ORDER_BY(by_key, struct delta_row, ORDER_UP(row.place) ?: ORDER_UP(row.type))

/* Returns hashes of the names in a table, by id. */
static struct shiny_err *load_hashes(struct store *store, const char *table, const char *column,
				     uint64_t **out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(store, &q, "SELECT id, %s FROM %s", column, table);
	size_t limit = store_ids(store, table);

	*out = mem_zero(limit + 1, sizeof(**out));
	QUERY_EACH (q, err) {
		const char *text = query_text(q, 1);

		(*out)[query_id(q, 0, limit)] = hash_bytes(text, strlen(text));
	}
	return err;
}

static uint64_t place_of(const struct profile *p, const struct profile_sample *sample,
			 const uint64_t *processes, const uint64_t *modules, const uint64_t *tags)
{
	const struct path_stack *stack = &p->code.stacks[sample->stack];
	uint64_t hash = hash_keys(processes[sample->process], sample->tag ? tags[sample->tag] : 0);

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct path_frame *frame =
			&p->code.frames[p->code.path.at[stack->first + i]];

		hash = hash_keys(hash ^ (frame->module ? modules[frame->module] : 0),
				 frame->vaddr + i);
	}
	return hash;
}

static struct shiny_err *make_rows(struct store *store, struct profile *p, struct delta_row *rows)
{
	AUTO_FREE uint64_t *processes = NULL, *modules = NULL, *tags = NULL;

	SHINY_TRY(load_hashes(store, "process", "pid || ' ' || name", &processes));
	SHINY_TRY(load_hashes(store, "module", "path", &modules));
	SHINY_TRY(load_hashes(store, "tag", "name", &tags));
	for (size_t i = 0; i < p->sample_count; i++) {
		struct profile_sample *sample = &p->samples[i];
		const char *type = profile_text(p, p->types[sample->type]);

		rows[i].sample = sample;
		rows[i].row = (struct profile_row){
			.place = place_of(p, sample, processes, modules, tags),
			.type = hash_bytes(type, strlen(type)),
			.allocs = sample->sums.allocs,
			.bytes = sample->sums.bytes,
		};
	}
	if (p->sample_count)
		qsort(rows, p->sample_count, sizeof(*rows), by_key);
	return NULL;
}

/* Takes what `base` has of the rows of one place and type away from them; `left` is of that. */
static uint64_t take(uint64_t value, uint64_t *left)
{
	uint64_t taken = value < *left ? value : *left;

	*left -= taken;
	return value - taken;
}

/* Sets the sums of the rows of one place: `had` are those of the base. */
static void set_place(struct delta_row *rows, size_t count, const struct profile_row *had,
		      size_t had_count)
{
	struct profile_row over = { 0 }; /* what the base has and the types here have no longer */
	size_t h = 0;

	for (size_t i = 0; i < count;) {
		struct profile_row left = { 0 };
		uint64_t type = rows[i].row.type;

		for (; h < had_count && had[h].type <= type; h++) {
			struct profile_row *to = had[h].type == type ? &left : &over;

			to->allocs += had[h].allocs;
			to->bytes += had[h].bytes;
		}
		for (; i < count && rows[i].row.type == type; i++) {
			struct sums *sums = &rows[i].sample->sums;

			sums->allocs = take(sums->allocs, &left.allocs);
			sums->bytes = take(sums->bytes, &left.bytes);
		}
		over.allocs += left.allocs;
		over.bytes += left.bytes;
	}
	for (; h < had_count; h++) {
		over.allocs += had[h].allocs;
		over.bytes += had[h].bytes;
	}
	for (size_t i = 0; i < count; i++) {
		struct sums *sums = &rows[i].sample->sums;

		sums->allocs = take(sums->allocs, &over.allocs);
		sums->bytes = take(sums->bytes, &over.bytes);
	}
}

struct shiny_err *profile_delta(struct store *store, struct profile *profile,
				const struct profile_base *base, struct profile_base *now)
{
	size_t count = profile->sample_count, h = 0;
	AUTO_FREE struct delta_row *rows = mem_zero(count, sizeof(*rows));

	SHINY_TRY(make_rows(store, profile, rows));
	*now = (struct profile_base){ mem_zero(count, sizeof(*now->at)), count };
	for (size_t i = 0; i < count; i++)
		now->at[i] = rows[i].row;
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t place = rows[i].row.place;
		size_t first;

		for (end = i; end < count && rows[end].row.place == place; end++)
			;
		for (; h < base->count && base->at[h].place < place; h++)
			;
		for (first = h; h < base->count && base->at[h].place == place; h++)
			;
		set_place(&rows[i], end - i, &base->at[first], h - first);
	}
	return NULL;
}

void profile_base_deinit(struct profile_base *base)
{
	free(base->at);
	*base = (struct profile_base){ 0 };
}
