/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_rows.c: the writing half of store.h: one function a table. The columns of most tables are
 * in store_rows.def; this file binds the others, in the order of their statement.
 */
#include "row_writer.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/row_order.h"
#include "stat_short.h"

enum {
	IMAGE_PAGES = 4096,        /* 64 MiB: two million rows */
	WAITING_STACKS = 64 << 10, /* most stacks in a row, of 28 bytes each */
};

#define PUT(name, NAME)                                                                         \
	struct shiny_err *store_put_##name(struct store *store, const struct store_##name *row) \
	{                                                                                       \
		return row_put(store, STORE_ROW_##NAME, row);                                   \
	}
PUT(process, PROCESS)
PUT(thread, THREAD)
PUT(module, MODULE)
PUT(mapping, MAPPING)
PUT(vtable, VTABLE)
PUT(class, CLASS)
PUT(mark, MARK)
PUT(sample_rate, SAMPLE_RATE)
PUT(unrecorded, UNRECORDED)
PUT(type, TYPE)
PUT(bucket, BUCKET)
PUT(segment, SEGMENT)
PUT(residency, RESIDENCY)
PUT(memory, MEMORY)
PUT(page, PAGE)
PUT(snapshot, SNAPSHOT)
PUT(root, ROOT)
PUT(member, MEMBER)
PUT(access, ACCESS)
PUT(page_use, PAGE_USE)

struct shiny_err *store_put_text(struct store *store, const char *key, const char *value)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION);

	row_put_text(&row, key);
	row_put_text(&row, value);
	return row_end(&row);
}

struct shiny_err *store_put_number(struct store *store, const char *key, uint64_t value)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION);

	row_put_text(&row, key);
	row_put_number(&row, value);
	return row_end(&row);
}

/* Refuses rows that the call sites depend on, once these are found. */
static struct shiny_err *before_sites(const struct store *store)
{
	return store->writer->sites.of_stack
		       ? shiny_err(SHINY_ERR_OTHER, "cannot write the session %s: stacks and lines "
				   "came after statistics", store->path)
		       : NULL;
}

/* Finds the id of `string` in its table (function or source); writes the row the first time. 0:
 * NULL. */
static struct shiny_err *text_row(struct store *store, struct texts *texts, enum statement which,
				  const char *string, uint32_t *id)
{
	size_t known = texts->count;

	*id = string ? texts_put(texts, string) + 1 : 0;
	if (texts->count == known)
		return NULL;
	struct row_writer row = row_begin(store, which);
	row_put_number(&row, *id);
	row_put_text(&row, string);
	return row_end(&row);
}

struct shiny_err *store_put_frame(struct store *store, uint32_t id, uint32_t module, uint64_t vaddr,
				  const struct store_frame_line *lines, size_t line_count)
{
	struct store_frame row = { id, module, vaddr };

	SHINY_TRY(row_put_all(store, STORE_ROW_FRAME, &row, 1));
	return store_put_lines(store, id, lines, line_count);
}

struct shiny_err *store_put_lines(struct store *store, uint32_t frame,
				  const struct store_frame_line *lines, size_t count)
{
	if (count)
		SHINY_TRY(before_sites(store));
	for (size_t i = 0; i < count; i++) {
		uint32_t function, source;

		SHINY_TRY(text_row(store, &store->writer->functions, STATEMENT_FUNCTION,
				   lines[i].function, &function));
		SHINY_TRY(text_row(store, &store->writer->sources, STATEMENT_SOURCE, lines[i].file,
				   &source));
		*vec_push(&store->writer->lines) =
			(struct store_line){ frame,  (uint32_t)i,   function,
					     source, lines[i].line, lines[i].inlined };
	}
	return NULL;
}

struct shiny_err *store_put_boring(struct store *store, const char *pattern)
{
	sqlite3_stmt *insert = NULL;
	int code = sqlite3_prepare_v2(store->db, "INSERT INTO boring VALUES ('function', ?)", -1,
				      &insert, NULL);

	if (code == SQLITE_OK) {
		sqlite3_bind_text(insert, 1, pattern, -1, SQLITE_STATIC);
		code = sqlite3_step(insert);
	}
	sqlite3_finalize(insert);
	return code == SQLITE_DONE ? NULL : db_error(store, code, "create");
}

struct shiny_err *store_put_wrapper(struct store *store, uint32_t frame)
{
	SHINY_TRY(before_sites(store));

	struct row_writer row = row_begin(store, STATEMENT_WRAPPER);
	row_put_number(&row, frame);
	return row_end(&row);
}

struct shiny_err *store_put_called(struct store *store, uint32_t frame, const char *function)
{
	struct frame_call call = { .frame = frame };

	SHINY_TRY(before_sites(store));
	SHINY_TRY(text_row(store, &store->writer->functions, STATEMENT_FUNCTION, function,
			   &call.function));
	*vec_push(&store->writer->calls) = call;
	return NULL;
}

struct shiny_err *store_put_stack(struct store *store, uint32_t id, const uint32_t *frames,
				  size_t count)
{
	struct store_writer *w = store->writer;
	struct stack_part head = stack_tails_split(&w->tails, frames, count);
	const uint32_t *of = head.frames;

	SHINY_TRY(before_sites(store));
	*vec_push(&w->stacks) = (struct store_stack){ id,    0,	    of[0], of[1],    of[2],
						      of[3], of[4], of[5], head.tail };
	while (w->tails_written < w->tails.count) {
		const struct stack_part *tail = &w->tails.at[w->tails_written++];

		of = tail->frames;
		SHINY_TRY(row_put_all(store, STORE_ROW_STACK_TAIL,
				      &(struct store_stack_tail){ w->tails_written, of[0], of[1],
								  of[2], of[3], of[4], of[5],
								  tail->tail },
				      1));
	}
	return NULL;
}

struct shiny_err *store_put_tag(struct store *store, uint32_t id, const char *name)
{
	struct row_writer row = row_begin(store, STATEMENT_TAG);

	row_put_number(&row, id);
	row_put_text(&row, name);
	return row_end(&row);
}

/* ---- statistics, which need the sites ---- */

ORDER_BY(by_line_key, struct store_line, ORDER_UP(frame) ?: ORDER_UP(depth))

/* Writes the pending lines, sorted, as finish.c puts them by address. */
static struct shiny_err *put_lines(struct store *store)
{
	struct store_writer *w = store->writer;
	size_t count = w->lines.count;

	w->lines.count = 0;
	if (count)
		qsort(w->lines.at, count, sizeof(*w->lines.at), by_line_key);
	return row_put_all(store, STORE_ROW_LINE, w->lines.at, count);
}

/* Writes pending stacks with consecutive ids, in one row. */
static struct shiny_err *put_waiting_stacks(struct store *store)
{
	struct store_writer *w = store->writer;
	VEC(struct stack_part) parts = { 0 };
	uint32_t first = w->stacks.at[w->stacks_put].id;
	struct row_writer row = row_begin(store, STATEMENT_STACK_WAITING);
	struct shiny_err *err;

	for (; w->stacks_put < w->stacks.count; w->stacks_put++) {
		const struct store_stack *s = &w->stacks.at[w->stacks_put];

		if (s->id != first + parts.count || parts.count == WAITING_STACKS)
			break;
		*vec_push(&parts) = (struct stack_part){ { s->frame0, s->frame1, s->frame2,
							   s->frame3, s->frame4, s->frame5 },
							 s->tail };
	}
	row_put_number(&row, first);
	row_put_blob(&row, parts.at, parts.count * sizeof(*parts.at));
	err = row_end(&row);
	free(parts.at);
	return err;
}

struct shiny_err *row_put_waiting(struct store *store)
{
	struct store_writer *w = store->writer;

	while (w->stacks_put < w->stacks.count)
		SHINY_TRY(put_waiting_stacks(store));
	return put_lines(store);
}

static struct shiny_err *find_sites(struct store *store)
{
	struct store_writer *w = store->writer;

	if (w->sites.of_stack)
		return NULL;
	SHINY_TRY(put_lines(store));
	SHINY_TRY(row_put_image(store));
	return sites_make(store, &w->tails, &w->sites);
}

static uint32_t site_of_stack(const struct store_writer *w, uint32_t stack)
{
	return stack < w->sites.stack_limit ? w->sites.of_stack[stack] : 0;
}

ORDER_BY(by_stat_key, struct store_stat, ORDER_UP(vtable) ?: ORDER_UP(tag))

/* Writes the rows of one process and stack, to the two tables of view stat. */
static struct shiny_err *put_stats(struct store *store)
{
	struct store_writer *w = store->writer;
	struct store_stat_short narrow;
	size_t count = w->stats.count;

	w->stats.count = 0;
	if (count > 1)
		qsort(w->stats.at, count, sizeof(*w->stats.at), by_stat_key);
	for (size_t i = 0; i < count; i++)
		if (stat_short(&w->stats.at[i], &narrow))
			SHINY_TRY(row_put_all(store, STORE_ROW_STAT_SHORT, &narrow, 1));
		else
			SHINY_TRY(row_put_all(store, STORE_ROW_STAT, &w->stats.at[i], 1));
	/* commit to save memory; SQLite copies later images row by row, as the tables are not empty
	 * then */
	return w->image.count < IMAGE_PAGES ? NULL : store_commit(store);
}

struct shiny_err *store_put_stat(struct store *store, const struct store_stat *row)
{
	struct store_writer *w = store->writer;

	SHINY_TRY(find_sites(store));
	by_site_add_stat(&w->by_site, row, site_of_stack(w, row->stack));
	if (w->stats.count && (w->stats.at->process != row->process ||
			       w->stats.at->stack != row->stack))
		SHINY_TRY(put_stats(store));
	*vec_push(&w->stats) = *row;
	return NULL;
}

struct shiny_err *store_put_lifetime(struct store *store, const struct store_lifetime *row)
{
	struct store_writer *w = store->writer;

	SHINY_TRY(find_sites(store));
	by_site_add_lifetime(&w->by_site, row, site_of_stack(w, row->stack));
	return NULL;
}

struct shiny_err *store_put_peak(struct store *store, const struct store_peak *row)
{
	struct store_writer *w = store->writer;

	SHINY_TRY(find_sites(store));
	by_site_add_peak(&w->by_site, row, site_of_stack(w, row->stack));
	return NULL;
}

struct shiny_err *row_put_statistics(struct store *store)
{
	struct by_site *sums = &store->writer->by_site;

	SHINY_TRY(find_sites(store));
	SHINY_TRY(put_stats(store));
	by_site_sort(sums);
	SHINY_TRY(row_put_all(store, STORE_ROW_SITE_STAT, sums->stats.at, sums->stats.count));
	SHINY_TRY(row_put_all(store, STORE_ROW_LIFETIME, sums->lifetimes.at,
			      sums->lifetimes.count));
	return row_put_all(store, STORE_ROW_PEAK, sums->peaks.at, sums->peaks.count);
}

struct shiny_err *store_put_session_peak(struct store *store, unsigned level, uint64_t blocks,
					 uint64_t bytes, uint64_t time, uint64_t running_time)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION_PEAK);

	row_put_number(&row, level);
	row_put_number(&row, blocks);
	row_put_number(&row, bytes);
	row_put_number(&row, time);
	row_put_number(&row, running_time);
	return row_end(&row);
}

struct shiny_err *store_drop_pages(struct store *store, uint32_t process)
{
	struct row_writer row = row_begin(store, STATEMENT_PAGES_GONE);

	row_put_number(&row, process);
	return row_end(&row);
}

struct shiny_err *store_put_counter(struct store *store, uint32_t process, const char *name,
				    const char *weight, uint64_t count, const char *explanation)
{
	struct row_writer row = row_begin(store, STATEMENT_COUNTER);

	row_put_number(&row, process);
	row_put_text(&row, name);
	row_put_text(&row, weight);
	row_put_number(&row, count);
	row_put_text(&row, explanation);
	return row_end(&row);
}

struct shiny_err *store_put_note(struct store *store, uint32_t process, const char *words)
{
	struct row_writer row = row_begin(store, STATEMENT_NOTE);

	row_put_number(&row, process);
	row_put_text(&row, words);
	return row_end(&row);
}

struct shiny_err *store_put_snapshot_part(struct store *store, uint32_t snapshot, uint32_t part,
					  uint32_t kind, uint32_t rows, const void *data,
					  size_t bytes)
{
	struct row_writer row = row_begin(store, STATEMENT_SNAPSHOT_PART);

	row_put_number(&row, snapshot);
	row_put_number(&row, part);
	row_put_number(&row, kind);
	row_put_number(&row, rows);
	row_put_blob(&row, data, bytes);
	return row_end(&row);
}

struct shiny_err *store_put_browser_name(struct store *store, uint32_t id, const char *name)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_NAME);

	row_put_number(&row, id);
	row_put_text(&row, name);
	return row_end(&row);
}

struct shiny_err *store_put_browser_sample(struct store *store, uint32_t id, bool snapshot,
					   uint32_t pid, uint64_t boottime, const char *title)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_SAMPLE);

	row_put_number(&row, id);
	row_put_number(&row, snapshot);
	row_put_number(&row, pid);
	row_put_number(&row, boottime);
	row_put_text(&row, title);
	return row_end(&row);
}

struct shiny_err *store_put_browser_allocator(struct store *store, uint32_t sample, uint32_t name,
					      uint64_t bytes, uint64_t effective, uint64_t objects)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_ALLOCATOR);

	row_put_number(&row, sample);
	row_put_number(&row, name);
	row_put_number(&row, bytes);
	row_put_number(&row, effective);
	row_put_number(&row, objects);
	return row_end(&row);
}

struct shiny_err *store_put_browser_objects(struct store *store, uint32_t sample, uint32_t kind,
					    uint32_t name, uint64_t objects, uint64_t bytes)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_OBJECT);

	row_put_number(&row, sample);
	row_put_number(&row, kind);
	row_put_number(&row, name);
	row_put_number(&row, objects);
	row_put_number(&row, bytes);
	return row_end(&row);
}
