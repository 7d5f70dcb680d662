/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "browser.h"

#include <inttypes.h>
#include <shiny/wire/wire.h>
#include <stdlib.h>
#include <string.h>

#include "../../../symbolizer/dwarf/die_normalize.h"
#include "../../../symbolizer/elf/symbol_names.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../store/contents.h"
#include "../attribute/groups.h"

enum { HEADER_BYTES = 8, LARGE_BYTES = 65536 };

/* Rows of the session, and the same rows of the browser. */
static const char malloc_name[] = "malloc", oilpan_name[] = "Oilpan";

/* ---- the browser's side ---- */

static struct shiny_err *load_sample_list(struct store *store, const struct filter *filter,
					  uint64_t until, struct browser *b)
{
	struct query *query;
	struct shiny_err *err = NULL;

	SHINY_TRY(query_format(store, &query,
			       "SELECT s.id, s.snapshot, s.process, s.pid, s.ns, s.title, "
			       "COALESCE(NULLIF(p.role, ''), p.name, ''), s.ns = "
			       "(SELECT MAX(x.ns) FROM browser_sample x WHERE x.snapshot = "
			       "s.snapshot AND x.process = s.process AND x.pid = s.pid AND "
			       "(NOT x.snapshot OR x.title = s.title) AND x.ns <= %" PRIu64
			       ") FROM browser_sample s LEFT JOIN process p ON p.id = "
			       "s.process WHERE %s ORDER BY s.snapshot, s.process, s.ns",
			       until > INT64_MAX ? (uint64_t)INT64_MAX : until, filter->where));
	QUERY_EACH (query, err) {
		struct browser_sample *sample;
		bool snapshot = query_number(query, 1) != 0;

		b->snapshots += snapshot;
		b->dumps += !snapshot;
		if (!query_number(query, 7))
			continue;
		sample = rows_push(&b->samples, &b->count, &b->room, sizeof(*sample));
		sample->id = (uint32_t)query_number(query, 0);
		sample->snapshot = snapshot;
		sample->process = (uint32_t)query_number(query, 2);
		sample->pid = (uint32_t)query_number(query, 3);
		sample->time = (uint64_t)query_number(query, 4);
		sample->title = mem_text(query_text(query, 5));
		sample->process_name = mem_text(query_text(query, 6));
	}
	query_end(query);
	return err;
}

static struct browser_row *add_row(struct browser_sample *sample, const char *kind,
				   const char *name)
{
	struct browser_row *row =
		rows_push(&sample->rows, &sample->count, &sample->room, sizeof(*row));

	row->name = mem_text(name);
	row->kind = mem_text(kind);
	return row;
}

/* malloc: the bytes in use; free slots that wait in threads' caches have a row of their own.
 * Oilpan: its live bytes. Other allocators: their outermost names. */
static const char allocators_sql[] =
	", c AS (SELECT SUM(bytes) AS bytes FROM a WHERE name GLOB "
	"'malloc/partitions/*/thread_cache') "
	"SELECT 0, 'malloc', COALESCE((SELECT SUM(bytes) FROM a WHERE name = "
	"'malloc/allocated_objects/partitions') - (SELECT COALESCE(bytes, 0) FROM c), "
	"(SELECT SUM(bytes) FROM a WHERE name = 'malloc/allocated_objects')), (SELECT SUM(objects) "
	"FROM a WHERE name = 'malloc/allocated_objects') UNION ALL "
	"SELECT 1, 'malloc: cached by threads', (SELECT bytes FROM c), 0 UNION ALL "
	"SELECT 2, 'Oilpan', (SELECT SUM(bytes) FROM a WHERE name = "
	"'blink_gc/main/allocated_objects'), "
	"(SELECT SUM(objects) FROM a WHERE name GLOB 'blink_objects/blink_gc/*') UNION ALL "
	"SELECT 3, name, bytes, objects FROM a WHERE name NOT GLOB '*/*' AND name NOT IN "
	"('malloc', 'blink_gc', 'blink_objects', 'global') AND "
	"bytes > 0 ORDER BY 1, 3 DESC";

static struct shiny_err *load_dump(struct store *store, struct browser_sample *sample)
{
	struct query *query;
	struct shiny_err *err = NULL;

	SHINY_TRY(query_format(store, &query,
			       "WITH a AS (SELECT n.name AS name, x.bytes AS bytes, x.objects AS "
			       "objects FROM browser_allocator x JOIN "
			       "browser_name n ON n.id = x.name WHERE x.sample = %" PRIu32 ") %s",
			       sample->id, allocators_sql));
	QUERY_EACH (query, err) {
		struct browser_row *row;

		if (query_is_null(query, 2))
			continue;
		row = add_row(sample, "", query_text(query, 1));
		row->is_theirs = true;
		row->theirs = (struct browser_side){ .bytes = (uint64_t)query_number(query, 2),
						     .objects = (uint64_t)query_number(query, 3) };
	}
	query_end(query);
	return err;
}

ORDER_BY(by_kind_and_name, struct browser_row, ORDER_TEXT(kind) ?: ORDER_TEXT(name))

static void row_free(struct browser_row *row)
{
	free(row->name);
	free(row->kind);
}

/* Merges rows of one name: spelling made them alike, or both sides have them. */
static void merge(struct browser_sample *sample)
{
	size_t kept = 0;

	qsort(sample->rows, sample->count, sizeof(*sample->rows), by_kind_and_name);
	for (size_t i = 0; i < sample->count; i++) {
		struct browser_row *to = kept ? &sample->rows[kept - 1] : NULL,
				   *row = &sample->rows[i];

		if (!to || by_kind_and_name(to, row) != 0) {
			sample->rows[kept++] = *row;
			continue;
		}
		to->theirs.objects += row->theirs.objects;
		to->theirs.bytes += row->theirs.bytes;
		to->ours.objects += row->ours.objects;
		to->ours.bytes += row->ours.bytes;
		to->is_theirs |= row->is_theirs;
		to->is_ours |= row->is_ours;
		row_free(row);
	}
	sample->count = kept;
}

static struct shiny_err *load_snapshot(struct store *store, struct browser_sample *sample)
{
	SHINY_CLEANUP(names_deinit) struct names names = { 0 };
	struct query *query;
	struct shiny_err *err = NULL;

	SHINY_TRY(query_format(store, &query,
			       "SELECT k.name, n.name, x.objects, x.bytes FROM browser_object x "
			       "JOIN browser_name k ON k.id = x.kind JOIN "
			       "browser_name n ON n.id = x.name WHERE x.sample = %" PRIu32,
			       sample->id));
	QUERY_EACH (query, err) {
		const char *kind = query_text(query, 0), *name = query_text(query, 1),
			   *spelled = NULL;
		struct browser_row *row;

		/* V8's internal objects, for which it has no better kind */
		if (strcmp(kind, "native") == 0 && strncmp(name, "system / ", 9) == 0)
			kind = "internal";
		else if (strcmp(kind, "native") == 0)
			spelled = die_normalize(&names, names_text(&names, name));
		row = add_row(sample, kind, spelled ? spelled : name);
		row->is_theirs = true;
		row->theirs = (struct browser_side){ .objects = (uint64_t)query_number(query, 2),
						     .bytes = (uint64_t)query_number(query, 3) };
	}
	query_end(query);
	return err;
}

/* ---- the session's side ---- */

struct browser_count {
	struct browser *browser;
	struct groups groups;
	struct browser_side *types; /* one for each group */
};

static uint64_t whole(const struct life *life)
{
	return (life->size + HEADER_BYTES + 7) / 8 * 8;
}

static void count_dump(struct browser_sample *sample, const struct replay_process *p)
{
	struct browser_side heaps[2] = { { 0 } };

	replay_each(p, life)
	{
		bool collected = life->api == SHINY_API_COLLECTED;
		uint64_t blocks = replay_weight(p, life);

		heaps[collected].objects += blocks;
		heaps[collected].bytes += (collected ? whole(life) : life->size) * blocks;
	}
	for (size_t i = 0; i < sample->count; i++) {
		bool collected = strcmp(sample->rows[i].name, oilpan_name) == 0;

		if (!collected && strcmp(sample->rows[i].name, malloc_name) != 0)
			continue;
		sample->rows[i].is_ours = heaps[collected].objects > 0;
		sample->rows[i].ours = heaps[collected];
	}
}

static void count_snapshot(struct browser_count *c, struct browser_sample *sample,
			   const struct replay_process *p)
{
	memset(c->types, 0, c->groups.count * sizeof(*c->types));
	replay_each(p, life)
	{
		struct browser_side *side;

		if (life->api != SHINY_API_COLLECTED)
			continue;
		side = &c->types[groups_find(&c->groups, p, life)];
		side->objects += replay_weight(p, life);
		side->bytes += whole(life) < LARGE_BYTES ? whole(life) * replay_weight(p, life) : 0;
	}
	for (size_t i = 0; i < c->groups.count; i++) {
		const char *name = c->groups.names[i];
		size_t length = strlen(name);
		/* our labels, which are no classes */
		bool label = length > 1 && name[0] == '(' && name[length - 1] == ')';
		char *plain;
		struct browser_row *row;

		if (!c->types[i].objects)
			continue;
		plain = label ? mem_format("%.*s", (int)length - 2, name + 1) : mem_text(name);
		row = add_row(sample, "native", plain);
		if (row) {
			row->is_ours = true;
			row->ours = c->types[i];
		}
		free(plain);
	}
}

static uint64_t next_moment(const struct browser *b, uint64_t after)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < b->count; i++)
		if (b->samples[i].time > after && b->samples[i].time < next)
			next = b->samples[i].time;
	return next;
}

static uint64_t count_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct browser_count *c = context;

	for (size_t i = 0; i < c->browser->count; i++) {
		struct browser_sample *sample = &c->browser->samples[i];

		if (sample->time != moment || !sample->process ||
		    sample->process > replay->process_count)
			continue;
		if (sample->snapshot)
			count_snapshot(c, sample, &replay->processes[sample->process - 1]);
		else
			count_dump(sample, &replay->processes[sample->process - 1]);
	}
	return next_moment(c->browser, moment);
}

static struct shiny_err *compare(struct store *store, const struct filter *filter,
				 struct browser *b)
{
	struct browser_count c = { .browser = b };
	struct replay_observer observer = { .context = &c,
					    .moment = count_moment,
					    .first_moment = next_moment(b, 0) };
	uint64_t with_events;
	struct shiny_err *err;

	SHINY_TRY(contents_number(store, "with_events", &with_events));
	if (with_events != 1 || !b->count)
		return NULL;
	err = groups_load(store, GROUP_TYPE, true, &c.groups);
	if (!err) {
		c.types = mem_zero(c.groups.count, sizeof(*c.types));
		err = replay_run(store, filter, &observer, 1, "counting what was live");
		b->compared = !err;
	}
	free(c.types);
	groups_deinit(&c.groups);
	return err;
}

/* ---- both ---- */

static uint64_t most(const struct browser_row *row)
{
	return row->theirs.bytes > row->ours.bytes ? row->theirs.bytes : row->ours.bytes;
}

ORDER_BY(by_bytes, struct browser_row, ORDER_VALUES(most(b), most(a)) ?: by_kind_and_name(a, b))

static void arrange(struct browser_sample *sample, const char *match)
{
	size_t kept = 0;

	if (!sample->snapshot)
		return;
	merge(sample);
	for (size_t i = 0; i < sample->count; i++)
		if (!match || text_matches(match, sample->rows[i].name))
			sample->rows[kept++] = sample->rows[i];
		else
			row_free(&sample->rows[i]);
	sample->count = kept;
	qsort(sample->rows, sample->count, sizeof(*sample->rows), by_bytes);
}

struct shiny_err *browser_load(struct store *store, const struct filter *filter, uint64_t until,
			       const char *match, struct browser *out)
{
	SHINY_CLEANUP(browser_deinit) struct browser b = { 0 };
	struct shiny_err *err = load_sample_list(store, filter, until, &b);

	for (size_t i = 0; i < b.count && !err; i++)
		err = b.samples[i].snapshot ? load_snapshot(store, &b.samples[i])
					    : load_dump(store, &b.samples[i]);
	if (!err)
		err = compare(store, filter, &b);
	for (size_t i = 0; i < b.count && !err; i++)
		arrange(&b.samples[i], match);
	if (err)
		return err;
	*out = shiny_steal(b);
	return NULL;
}

void browser_deinit(struct browser *browser)
{
	for (size_t i = 0; i < browser->count; i++) {
		struct browser_sample *sample = &browser->samples[i];

		for (size_t k = 0; k < sample->count; k++)
			row_free(&sample->rows[k]);
		free(sample->rows);
		free(sample->title);
		free(sample->process_name);
	}
	free(browser->samples);
}
